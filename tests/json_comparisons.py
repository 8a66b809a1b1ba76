"""Comparisons of JSON values by `==` or `in`, to which 1 is true: `kubeapi.diff.is_equal` is there for these.

Types are those that annotations say: a value is JSON when it comes from `Any` or a manifest, or is an object with a
field of such. What no annotation says is let be, and so is a field whose name says that it is text.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

_JSON = re.compile(r"\b(Any|Manifest|ReadOnlyManifest|RawObject)\b")
_WORD = re.compile(r"\w+")
_UNKNOWN, _TEXT, _ANY = "", "str", "Any"
_TEXTS = frozenset(
    {
        "addressType",
        "annotations",
        "apiVersion",
        "clusterIP",
        "controller",
        "generation",
        "group",
        "handler",
        "key",
        "kind",
        "labels",
        "loadBalancerClass",
        "name",
        "namespace",
        "observedGeneration",
        "preemptionPolicy",
        "protocol",
        "purgeMode",
        "resourceVersion",
        "schedule",
        "server",
        "signerName",
        "timeZone",
        "type",
        "uid",
        "value",
    }
)
"""Fields that hold text, a mapping of texts, or a number that only a server writes."""
_OF_USERS = ("PlaintextOverrider", "FieldPatchOperation", "WorkloadTemplate", "ManifestStatus", "AggregatedStatusItem")
"""Structs that hold values of users or of members; those that hold such a struct follow."""
_SAME_CONTENT = ("dict", "list", "tuple", "sorted", "next", "iter", "reversed")
_OF_CONTENT = ("get", "pop", "values", "setdefault", "copy", "items")


class Types:
    """Annotations of the fields and functions of a source tree."""

    def __init__(self, trees: Iterable[ast.Module]) -> None:
        self.fields: dict[str, dict[str, str]] = defaultdict(dict)
        self.results: dict[str, set[str]] = defaultdict(set)
        for node in (node for tree in trees for node in ast.walk(tree)):
            if isinstance(node, ast.ClassDef):
                said = (each for each in node.body if isinstance(each, ast.AnnAssign))
                self.fields[node.name] |= {ast.unparse(each.target): ast.unparse(each.annotation) for each in said}
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.returns:
                self.results[node.name].add(ast.unparse(node.returns))
        self._bearing = {
            "PlaintextOverrider",
            "FieldPatchOperation",
            "WorkloadTemplate",
            "ManifestStatus",
            "AggregatedStatusItem",
        }
        while found := {name for name in self.fields if self._bears(name)} - self._bearing:
            self._bearing |= found

    def _bears(self, name: str) -> bool:
        words = {word for said in self.fields[name].values() for word in _WORD.findall(said)}
        return not words.isdisjoint(self._bearing)

    def is_json(self, annotation: str) -> bool:
        if "Callable" in annotation:
            return False
        return bool(_JSON.search(annotation)) or not self._bearing.isdisjoint(_WORD.findall(annotation))

    def field_of(self, annotation: str, field: str) -> str:
        """Annotation of a field of an object; unknown where two classes that it can be of differ."""
        said = {self.fields[word][field] for word in _WORD.findall(annotation) if field in self.fields.get(word, {})}
        return said.pop() if len(said) == 1 else _UNKNOWN

    def result_of(self, function: str) -> str:
        """Annotation of a function of this name; one that is JSON where there are several."""
        return min(self.results.get(function, ()), key=lambda said: (not self.is_json(said), said), default=_UNKNOWN)


def loose_comparisons(sources: Iterable[tuple[Path, str]]) -> list[str]:
    """Comparisons of two JSON values, as `file: comparison`."""
    trees = {path: ast.parse(text) for path, text in sources}
    types = Types(trees.values())
    found: list[str] = []
    for path, tree in trees.items():
        looker = _Looker(types)
        looker.visit(tree)
        found += [f"{path}: {comparison}" for comparison in looker.found]
    return found


class _Looker(ast.NodeVisitor):
    def __init__(self, types: Types) -> None:
        self.types = types
        self.found: list[str] = []
        self._scopes: list[dict[str, str]] = [{}]
        self._class = _UNKNOWN

    def visit(self, node: ast.AST) -> None:
        if isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp):
            self._visit_comprehension(node)
        else:
            super().visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        outer, self._class = self._class, node.name
        self.generic_visit(node)
        self._class = outer

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        scope = {each.arg: ast.unparse(each.annotation) if each.annotation else _UNKNOWN for each in given}
        if "self" in scope:
            scope["self"] = self._class
        self._within(scope, node.body)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self.visit_FunctionDef(node)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._within({each.arg: _UNKNOWN for each in node.args.args}, [node.body])

    def visit_Assign(self, node: ast.Assign) -> None:
        self.visit(node.value)
        for target in node.targets:
            self._bind_value(target, node.value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self.generic_visit(node)
        self._bind(node.target, ast.unparse(node.annotation))

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.visit(node.value)
        self._bind(node.target, self.type_of(node.value))

    def visit_For(self, node: ast.For) -> None:
        self.visit(node.iter)
        self._bind_items(node.target, node.iter)
        for each in [*node.body, *node.orelse]:
            self.visit(each)

    def _visit_comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> None:
        self._scopes.append({})
        for each in node.generators:
            self.visit(each.iter)
            self._bind_items(each.target, each.iter)
            for condition in each.ifs:
                self.visit(condition)
        for part in (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,):
            self.visit(part)
        self._scopes.pop()

    def visit_Compare(self, node: ast.Compare) -> None:
        self.generic_visit(node)
        operands = [node.left, *node.comparators]
        for left, operator, right in zip(operands, node.ops, operands[1:], strict=False):
            equal, member = isinstance(operator, ast.Eq | ast.NotEq), isinstance(operator, ast.In | ast.NotIn)
            if self._may_be_json(left, right) if equal else member and self._is_json(left) and self._is_list(right):
                self.found.append(ast.unparse(node))

    def _is_json(self, node: ast.expr) -> bool:
        return self.types.is_json(self.type_of(node))

    def _is_list(self, node: ast.expr) -> bool:
        said = self.type_of(node)
        return self.types.is_json(said) and bool(re.match(r"(list|Sequence|tuple)\[|Any$", said))

    def _may_be_json(self, left: ast.expr, right: ast.expr) -> bool:
        """Tells whether both are JSON, or one is and the other is a variable of unknown type."""
        sides = [(each, self.type_of(each)) for each in (left, right)]
        known = [each for each, said in sides if self.types.is_json(said)]
        unknown = [each for each, said in sides if not said and isinstance(each, ast.Name) and not each.id.isupper()]
        return bool(known) and len(known) + len(unknown) == 2

    def _within(self, scope: dict[str, str], body: Sequence[ast.AST]) -> None:
        self._scopes.append(scope)
        for each in body:
            self.visit(each)
        self._scopes.pop()

    def _bind(self, target: ast.expr, annotation: str) -> None:
        if isinstance(target, ast.Name):
            self._scopes[-1][target.id] = annotation
        elif isinstance(target, ast.Tuple | ast.List):
            said = _elements(annotation)
            others = _ANY if self.types.is_json(annotation) else _UNKNOWN
            for index, each in enumerate(target.elts):
                self._bind(each, said[index] if len(said) == len(target.elts) else others)

    def _bind_value(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            for each, its in zip(target.elts, value.elts, strict=True):
                self._bind(each, self.type_of(its))
        else:
            self._bind(target, self.type_of(value))

    def _bind_items(self, target: ast.expr, items: ast.expr) -> None:
        """Binds the variables of a loop: of a mapping its keys, which are text; `items` and `enumerate` give a pair."""
        match items:
            case ast.Call(func=ast.Attribute(attr="items") as called) if isinstance(target, ast.Tuple):
                self._bind(target.elts[0], _TEXT)
                self._bind(target.elts[1], self._content(called.value))
            case ast.Call(func=ast.Name("enumerate"), args=[counted, *_]) if isinstance(target, ast.Tuple):
                self._bind(target.elts[0], _TEXT)
                self._bind_items(target.elts[1], counted)
            case _:
                said = self.type_of(items)
                keys = re.match(r"(Manifest|ReadOnlyManifest|dict\[|Mapping\[)", said)
                self._bind(target, _TEXT if keys else self._content(items))

    def _content(self, node: ast.expr) -> str:
        said = self.type_of(node)
        return _ANY if _JSON.search(said) else said

    def type_of(self, node: ast.expr) -> str:
        match node:
            case ast.Constant() | ast.JoinedStr():
                return _TEXT
            case ast.Name():
                return next((scope[node.id] for scope in reversed(self._scopes) if node.id in scope), _UNKNOWN)
            case ast.Await() | ast.Starred():
                return self.type_of(node.value)
            case ast.Attribute():
                return self.types.field_of(self.type_of(node.value), node.attr)
            case ast.Subscript(slice=ast.Constant(value=str() as key)) if key in _TEXTS:
                return _TEXT
            case ast.Subscript():
                return self._content(node.value)
            case ast.Call():
                return self._type_of_call(node)
            case ast.BoolOp(values=parts) | ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts):
                return self._any_of(parts)
            case ast.IfExp():
                return self._any_of([node.body, node.orelse])
            case ast.Dict():
                return self._any_of(node.values)
            case _:
                return _UNKNOWN

    def _type_of_call(self, node: ast.Call) -> str:
        match node.func:
            case ast.Name("cast"):
                return ast.unparse(node.args[0]).strip("'\"")
            case ast.Name(name) if name in _SAME_CONTENT and node.args:
                return self.type_of(node.args[0])
            case ast.Name(name):
                return name if name in self.types.fields else self.types.result_of(name)
            case ast.Attribute(attr="get" | "pop") if _is_text(node.args[:1]):
                return _TEXT
            case ast.Attribute(attr=name) as called if name in _OF_CONTENT:
                return self._content(called.value)
            case ast.Attribute(attr=name):
                return self.types.result_of(name)
            case _:
                return _UNKNOWN

    def _any_of(self, parts: Collection[ast.expr | None]) -> str:
        """Type of the parts together: JSON as soon as one is, text where all are."""
        said = [self.type_of(part) for part in parts if part is not None]
        return next((each for each in said if self.types.is_json(each)), _TEXT if set(said) == {_TEXT} else _UNKNOWN)


def _elements(annotation: str) -> list[str]:
    """Annotations of the elements of a tuple."""
    match ast.parse(annotation or "None", mode="eval").body:
        case ast.Subscript(value=ast.Name("tuple"), slice=ast.Tuple(elts=elements)):
            return [ast.unparse(each) for each in elements]
        case _:
            return []


def _is_text(arguments: Sequence[ast.expr]) -> bool:
    return any(isinstance(each, ast.Constant) and each.value in _TEXTS for each in arguments)
