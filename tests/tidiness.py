"""Measures of the source tree: long functions, names that occur twice, what nobody reads, pages that are cited.

`tests/data/tidy.toml` lists what breaks a rule of `tests/unit/test_tidy.py` today; its lists may only get shorter.
"""

import ast
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from vulture import Vulture

ROOT = Path(__file__).parents[1]
SOURCE = ("src", "kubeserver/src", "kubecluster/src")
PYTHON = (*SOURCE, "tests", "bench")
_ITSELF = ("tidiness", "test_tidy")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_BLOCKS = ("body", "orelse", "finalbody")
_PAGE = re.compile(
    r"(?<![\w/])(?:docs|deploy|examples|scripts|src|kubeserver/src|kubecluster/src|tests|bench)/[\w./-]*\w\.(?:md|py|sh|toml|yaml|json)\b"
)
_MODULE = re.compile(r"`((?:[\w.-]+/)*\w+\.py)`")
_LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)#\s]+)")
_DECISION = re.compile(r"\bdecisions? (\d+)(?:(?:, | and )(\d+))?\b")
_LONGEST_SENTENCE = 25
"""Words that a sentence has at most."""
_NOT_PROSE = re.compile(r"^(?:```.*?^```|(?: {4}|\||#).*?)$", re.MULTILINE | re.DOTALL)
_ITEM = re.compile(r"\n\s*\n|\n\s*(?:[-*]|\d+\.) ")
_SENTENCE = re.compile(r"(?<=[.!?:;])\s+(?=[A-Z\[`*\"(])")
_PRONOUN = re.compile(r"^(?:it|they|them) \w+\W+\w", re.IGNORECASE)
_TWO_COLONS = re.compile(r"\A[^\n.;?]*: [^\n.;?]*: ")
_CONSTRUCTORS = ("__init__", "__post_init__")
_CHANGES = {*dir(dict), *dir(list), *dir(set)} - {*dir(Mapping), *dir(tuple), *dir(frozenset)}
"""Methods by which a mapping, a list or a set is changed."""
FOREIGN_PAGE = re.compile(r"\b(?:BEHAVIOUR|DESIGN|INVARIANTS|HOUSE|STYLE|STACK)\b")
"""Pages of which this repository has none."""


@cache
def exceptions() -> dict[str, Any]:
    return tomllib.loads((ROOT / "tests/data/tidy.toml").read_text())


def sources(*folders: str) -> Iterator[tuple[Path, str]]:
    """Files of Python below the folders, relative to the repository, with their text."""
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if "data" not in path.parts:
                yield path.relative_to(ROOT), path.read_text()


def long_functions(limit: int) -> dict[str, int]:
    """Lines of each function of the source that has more than `limit`, by `stem.name`."""
    found: dict[str, int] = {}
    for path, text in sources(*SOURCE):
        for node in _statements(text):
            if isinstance(node, _FUNCTIONS) and node.end_lineno is not None:
                lines = node.end_lineno - node.lineno + 1
                if lines > limit:
                    found[f"{path.stem}.{node.name}"] = lines
    return found


def descriptions_that_begin_with(words: Collection[str], *folders: str) -> set[str]:
    """Docstrings, and strings below the name that they describe, as `file: first words`."""
    begins = re.compile(rf'"""(?:{"|".join(words)})\b')
    found: set[str] = set()
    for path, text in sources(*folders):
        for node in _statements(text) if begins.search(text) else ():
            match node:
                case ast.Expr(value=ast.Constant(value=str() as said)) if begins.match(f'"""{said}'):
                    found.add(f"{path}: {' '.join(said.split()[:5])}")
                case _:
                    pass
    return found


def long_files(limit: int) -> dict[str, int]:
    lines = {str(path): text.count("\n") for path, text in sources(*SOURCE)}
    return {path: number for path, number in lines.items() if number > limit}


def shared_stems() -> dict[str, int]:
    """Stems of files that occur more than once inside a layer (a folder of an import package), and how often."""
    inside = [path.parts[path.parts.index("src") + 1 :] for path, _ in sources(*SOURCE)]
    by_layer = Counter((parts[:2], Path(parts[-1]).stem) for parts in inside if len(parts) > 2)
    stems: dict[str, int] = {}
    for (_, stem), count in by_layer.items():
        if count > 1 and not stem.startswith("__"):
            stems[stem] = max(count, stems.get(stem, 0))
    return stems


def shared_class_names() -> dict[str, int]:
    """Names of public classes that occur more than once, and how often."""
    names = Counter(
        node.name
        for _, text in sources(*SOURCE)
        for node in _tree(text).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    return {name: count for name, count in names.items() if count > 1}


def figures() -> dict[str, int]:
    """Figures of the whole tree that have a bound; docstrings are those of the simulator and of kubecluster, too."""
    texts = dict(sources("src/leeward"))
    trees = {path: _tree(text) for path, text in texts.items()}
    imports = [
        node for tree in trees.values() for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    lines = sum(text.count("\n") for text in texts.values())
    stems = Counter(path.stem for path in texts if not path.stem.startswith("__"))
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    told = [
        ast.get_docstring(node) or ""
        for tree in (*trees.values(), *(_tree(text) for _, text in sources("src/simulator", "kubecluster/src")))
        for node in ast.walk(tree)
        if isinstance(node, documented)
    ]
    return {
        "lines": lines,
        "import_lines_per_thousand": 1000 * sum((node.end_lineno or 0) - node.lineno + 1 for node in imports) // lines,
        "stems_that_occur_twice": sum(count > 1 for count in stems.values()),
        "words_of_changelog": len((ROOT / "CHANGELOG.md").read_text().split()),
        "words_of_docs": sum(len(page.read_text().split()) for page in (ROOT / "docs").rglob("*.md")),
        "long_sentences_of_docs": sum(len(long_sentences(text)) for path, text in _pages() if path.suffix == ".md"),
        "long_sentences_of_docstrings": sum(len(long_sentences(text)) for text in told),
        "docstrings_with_what": sum(bool(re.search(r"\b[Ww]hat\b", text)) for text in told),
    }


def changing_classes(folder: str) -> set[str]:
    """Classes below the folder whose instances can change: declared without `frozen`, or by a method of their own."""
    return {
        node.name
        for _, text in sources(folder)
        for node in _statements(text)
        if isinstance(node, ast.ClassDef) and (_declares_changes(node) or any(map(_changes_itself, node.body)))
    }


def _declares_changes(found: ast.ClassDef) -> bool:
    """Tells whether it is a dataclass or a struct that is not frozen."""
    names = {ast.unparse(each).partition("(")[0] for each in (*found.decorator_list, *found.bases)}
    if names.isdisjoint({"dataclass", "Struct", "msgspec.Struct"}):
        return False
    calls = [each for each in found.decorator_list if isinstance(each, ast.Call)]
    given = [*found.keywords, *(keyword for call in calls for keyword in call.keywords)]
    return not any(keyword.arg == "frozen" and ast.unparse(keyword.value) == "True" for keyword in given)


def _changes_itself(method: ast.stmt) -> bool:
    """Tells whether a method other than a constructor sets or deletes what belongs to its first argument, or changes
    it."""
    if not isinstance(method, _FUNCTIONS) or not method.args.args or method.name in _CONSTRUCTORS:
        return False
    own, changed = method.args.args[0].arg, list[ast.expr]()
    for node in ast.walk(method):
        match node:
            case ast.Assign(targets=targets) | ast.Delete(targets=targets):
                changed += targets
            case ast.AugAssign(target=target) | ast.AnnAssign(target=target):
                changed.append(target)
            case ast.Call(func=ast.Attribute(value=ast.Attribute() | ast.Subscript() as changing, attr=name)):
                changed += [changing] if name in _CHANGES else []
            case _:
                pass
    return any(isinstance(each, ast.Attribute | ast.Subscript) and _root(each) == own for each in changed)


def long_sentences(text: str) -> list[str]:
    """Sentences of a page or docstring that are too long; code, tables and headings are none."""
    prose = re.sub(r"`[^`]*`", "X", re.sub(r"\]\([^)]*\)", "]", _NOT_PROSE.sub("\n", f"\n{text}")))
    sentences = (sentence for item in _ITEM.split(prose) for sentence in _SENTENCE.split(item))
    return [" ".join(each.split()) for each in sentences if len(each.split()) > _LONGEST_SENTENCE]


def unclear_messages(text: str) -> list[str]:
    """Messages that begin with a pronoun, whose noun nobody has told, or that have two colons in one sentence."""
    tree = _tree(text)
    inner = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)}
    inner |= {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    whole = [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]
    told = [
        "".join(str(part.value) if isinstance(part, ast.Constant) else "X" for part in each.values) for each in whole
    ]
    told += [
        n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and id(n) not in inner and type(n.value) is str
    ]
    return [each for each in told if _PRONOUN.search(each) or _TWO_COLONS.search(each)]


def _root(node: ast.expr) -> str:
    """The variable that an attribute or an item belongs to in the end."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def imported_libraries() -> set[str]:
    """The top-level modules that the source imports and Python does not bring."""
    imported = {name for _, text in sources(*SOURCE) for name in _imports(text)}
    return {name.partition(".")[0] for name in imported} - sys.stdlib_module_names


def importers(package: str, *folders: str) -> set[str]:
    """Files below the folders, and modules of tests that these import, which import the package."""
    left, seen, found = [path for path, _ in sources(*folders)], set[Path](), set[str]()
    while left:
        path = left.pop()
        if path in seen:
            continue
        seen.add(path)
        names = _imports((ROOT / path).read_text())
        if any(name.partition(".")[0] == package for name in names):
            found.add(str(path))
        modules = (Path(*name.split(".")).with_suffix(".py") for name in names if name.startswith("tests."))
        left += [module for module in modules if (ROOT / module).exists()]
    return found


def _imports(text: str) -> set[str]:
    """The modules that are imported; of `from package import name` both, for a name can be a module."""
    names: set[str] = set()
    for node in _statements(text):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names


def unread_names() -> set[str]:
    """Functions, classes, variables and fields of the source that no code of it and of `bench` reads."""
    vulture: Any = Vulture()
    vulture.scavenge([str(ROOT / folder) for folder in (*SOURCE, "bench")])
    return {item.name for item in vulture.get_unused_code(min_confidence=60)}


def missing_pages() -> set[str]:
    """Pages and files that are cited somewhere, as `file: what it cites`, and are not in the repository."""
    decisions = {int(page.name[:4]) for page in (ROOT / "docs/decisions").glob("0*.md")}
    modules = _ends_of_paths()
    missing: set[str] = set()
    for path, text in (*sources(*PYTHON), *_pages()):
        if path.stem in _ITSELF:
            continue
        cited = {match for match in _PAGE.findall(text) if "*" not in match}
        missing |= {f"{path}: {page}" for page in cited if not (ROOT / page).exists()}
        numbers = {int(number) for match in _DECISION.findall(text) for number in match if number}
        missing |= {f"{path}: decision {number}" for number in numbers - decisions}
        missing |= {f"{path}: {page}" for page in FOREIGN_PAGE.findall(text)}
        if path.suffix == ".md":
            missing |= {f"{path}: {module}" for module in set(_MODULE.findall(text)) - modules}
            missing |= {f"{path}: {link}" for link in _LINK.findall(text) if not (ROOT / path.parent / link).exists()}
    return missing


def layers(package: str) -> list[set[str]]:
    """The layers of an import package from top to bottom, as the contract in `pyproject.toml` has them."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    [found] = [contract for contract in contracts if contract.get("containers") == [package]]
    return [set(layer.split(" | ")) for layer in found["layers"]]


def rows(page: str, heading: str) -> list[set[str]]:
    """Names in the first column of the table below a heading, row by row."""
    section = (ROOT / page).read_text().partition(f"\n{heading}\n")[2].partition("\n## ")[0]
    first = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    return [set(re.findall(r"`([\w.]+)`", cell)) for cell in first]


def _pages() -> Iterator[tuple[Path, str]]:
    for page in (
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "src").rglob("*.md"),
        *(ROOT / "kubeserver").rglob("*.md"),
        *(ROOT / "kubecluster").rglob("*.md"),
        ROOT / "Makefile",
        ROOT / ".ci/run",
    ):
        yield page.relative_to(ROOT), page.read_text()


def _ends_of_paths() -> set[str]:
    """Files of Python as pages speak of them: by all of the path, by its end, or by its name."""
    paths = [path.relative_to(ROOT).parts for folder in PYTHON for path in (ROOT / folder).rglob("*.py")]
    return {"/".join(parts[start:]) for parts in paths for start in range(len(parts))}


@cache
def _statements(text: str) -> list[ast.stmt]:
    """All statements of a module, those inside of others too: a tenth of the nodes of its tree."""
    found, left = list[ast.stmt](), [*_tree(text).body]
    while left:
        node = left.pop()
        found.append(node)
        parts = [node, *getattr(node, "handlers", ()), *getattr(node, "cases", ())]
        left += [each for part in parts for block in _BLOCKS for each in getattr(part, block, ())]
    return found


@cache
def _tree(text: str) -> ast.Module:
    return ast.parse(text)
