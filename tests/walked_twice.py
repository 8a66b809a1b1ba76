"""Values that can be walked once and are walked again: the second walk finds nothing, and nobody is told.

Walks are counted along one way through a function: of branches that exclude each other one counts, and a loop counts
twice. Names say what can be walked once: a parameter that is an `Iterator` or `Iterable`, a generator expression, and
the result of a function of which every definition returns an `Iterator`. Whoever needs a value twice asks for a
`Collection`, or makes a tuple of it.
"""

import ast
from collections.abc import Iterable, Iterator, Sequence
from typing import cast

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_ONCE = frozenset({"enumerate", "filter", "map", "reversed", "zip", "list"})
"""Functions, and methods of informers, whose result can be walked once. The function `list` itself makes a list."""
_VIEWS = frozenset({"items", "keys", "values"})
_LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)


def walked_twice(modules: Iterable[tuple[str, str]]) -> list[str]:
    """Findings as `file: function.name` in the modules, which are names with their texts."""
    trees = [(name, ast.parse(text)) for name, text in modules]
    makers = _makers(tree for _, tree in trees)
    return [f"{name}: {found}" for name, tree in trees for found in _found_in(tree, makers)]


def _makers(trees: Iterable[ast.AST]) -> frozenset[str]:
    """Names of functions that return an iterator wherever one of that name is defined."""
    once, others = set[str](), set[str]()
    for node in (node for tree in trees for node in ast.walk(tree)):
        if isinstance(node, _FUNCTIONS):
            (once if _is_iterator(node.returns, "Iterator", "Generator") else others).add(node.name)
    return (frozenset(once - others) | _ONCE) - _VIEWS


def _is_iterator(annotation: ast.expr | None, *names: str) -> bool:
    return annotation is not None and ast.unparse(annotation).strip("'\"").partition("[")[0] in names


def _found_in(tree: ast.AST, makers: frozenset[str]) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, _FUNCTIONS):
            given = node.args
            for each in (*given.posonlyargs, *given.args, *given.kwonlyargs):
                if _is_iterator(each.annotation, "Iterator", "Iterable") and _in_block(node.body, each.arg) > 1:
                    yield f"{node.name}.{each.arg}"
        for statements in (getattr(node, part, None) for part in ("body", "orelse", "finalbody")):
            if isinstance(statements, list):
                yield from _made_in(cast(list[ast.stmt], statements), makers)


def _made_in(statements: Sequence[ast.stmt], makers: frozenset[str]) -> Iterator[str]:
    for index, statement in enumerate(statements):
        match statement:
            case ast.Assign(targets=[target], value=value) | ast.AnnAssign(target=target, value=ast.expr() as value):
                if not _can_be_walked_once(value, makers):
                    continue
                is_kept = isinstance(target, ast.Attribute)
                if is_kept or (isinstance(target, ast.Name) and _in_block(statements[index + 1 :], target.id) > 1):
                    yield ast.unparse(target)
            case _:
                pass


def _can_be_walked_once(value: ast.expr, makers: frozenset[str]) -> bool:
    match value:
        case ast.GeneratorExp():
            return True
        case ast.Call(func=ast.Name(id=name)):
            return name in makers and name != "list"
        case ast.Call(func=ast.Attribute(attr=name)):
            return name in makers
        case _:
            return False


def _in_block(statements: Sequence[ast.stmt], name: str) -> int:
    count = 0
    for index, statement in enumerate(statements):
        match statement:
            case ast.If() if _leaves(statement.body) or _leaves(statement.orelse):
                rest = statements[index + 1 :]
                ways = ([*way, *(() if _leaves(way) else rest)] for way in (statement.body, statement.orelse))
                return count + _in(statement.test, name) + max(_in_block(way, name) for way in ways)
            case ast.Assign(targets=[ast.Name(id=changed)], value=value) if changed == name:
                return count + _in(value, name)
            case _:
                count += _in_statement(statement, name)
    return count


def _leaves(statements: Sequence[ast.stmt]) -> bool:
    return bool(statements) and isinstance(statements[-1], _LEAVES)


def _in_statement(statement: ast.stmt, name: str) -> int:
    match statement:
        case ast.If():
            return _in(statement.test, name) + max(_in_block(way, name) for way in (statement.body, statement.orelse))
        case ast.For() | ast.AsyncFor():
            return _in(statement.iter, name) + 2 * _in_block(statement.body, name) + _in_block(statement.orelse, name)
        case ast.While():
            return 2 * (_in(statement.test, name) + _in_block(statement.body, name))
        case ast.Match():
            return _in(statement.subject, name) + max(_in_block(case.body, name) for case in statement.cases)
        case ast.With() | ast.AsyncWith():
            return sum(_in(item.context_expr, name) for item in statement.items) + _in_block(statement.body, name)
        case ast.Try():
            handled = max((_in_block(handler.body, name) for handler in statement.handlers), default=0)
            return handled + sum(
                _in_block(part, name) for part in (statement.body, statement.orelse, statement.finalbody)
            )
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return 2 * _in_block(statement.body, name)
        case _:
            return sum(_in(child, name) for child in ast.iter_child_nodes(statement))


def _in(node: ast.AST, name: str) -> int:
    match node:
        case ast.Name():
            return int(node.id == name)
        case ast.IfExp():
            return _in(node.test, name) + max(_in(node.body, name), _in(node.orelse, name))
        case ast.Lambda():
            return 2 * _in(node.body, name)
        case ast.Attribute(value=ast.Name()):
            return 0  # what has attributes is no iterator
        case ast.Compare(ops=[ast.Is() | ast.IsNot()]) | ast.Call(func=ast.Name(id="isinstance" | "next")):
            return 0
        case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
            return _in_comprehension(node, name)
        case _:
            return sum(_in(child, name) for child in ast.iter_child_nodes(node))


def _in_comprehension(node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp, name: str) -> int:
    """Walks of the name in it: of the first iterable once, of all else again and again, unless it means another."""
    first, *more = node.generators
    bound = {each.id for part in node.generators for each in ast.walk(part.target) if isinstance(each, ast.Name)}
    if name in bound:
        return _in(first.iter, name)
    values = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
    again = [*values, *(part.iter for part in more), *(test for part in node.generators for test in part.ifs)]
    return _in(first.iter, name) + 2 * sum(_in(each, name) for each in again)
