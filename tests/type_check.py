"""Types of the files whose check can have another outcome than when it last passed (`make check`).

    python -m tests.type_check

What pyright says of a file follows from the file, from what the modules declare that it imports, directly or not, and
from the versions and settings of everything else. A file that has passed with the same three is not checked again:
when the body of a function changes, only its own file is. Where nothing has passed yet, pyright checks all of it.
"""

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
BIN = ROOT / ".venv/bin"
CODE = ("src", "kubeserver/src", "kubecluster/src", "tests", "bench")
PASSED = ROOT / "build/types.json"
"""Checks that have passed, and the digests of what files declare, by the digests of their texts."""
_TYPE_COMMENT = re.compile(r"#\s*type:(?!\s*ignore)")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def main() -> int:
    known = _read()
    imported = imports()
    texts = {path: (ROOT / path).read_text() for path in imported}
    declared = dict[str, str]()
    for text in texts.values():
        digest = _digest([text])
        declared[digest] = known["declared"].get(digest) or _digest([declarations(text)])
    by_file = {path: declared[_digest([text])] for path, text in texts.items()}
    keys = check_keys(texts, by_file, imported, _surroundings())
    left = sorted(path for path, key in keys.items() if known["passed"].get(path) != key)
    print(f"types of {len(left)} files, of {len(keys)}")
    failed = _check(left if len(left) < len(keys) else []) if left else set[str]()
    passed = {path: key for path, key in keys.items() if path not in failed}
    PASSED.parent.mkdir(exist_ok=True)
    PASSED.write_text(json.dumps({"passed": passed if "" not in failed else known["passed"], "declared": declared}))
    return bool(failed)


def check_keys(
    texts: Mapping[str, str], declared: Mapping[str, str], imports: Mapping[str, list[str]], surroundings: str
) -> dict[str, str]:
    """Digests of all that the check of each file depends on."""
    return {
        path: _digest([surroundings, path, text, *(f"{name} {declared[name]}" for name in _reached(path, imports))])
        for path, text in texts.items()
    }


def _reached(path: str, imports: Mapping[str, list[str]]) -> list[str]:
    """Files that it imports, directly or not, in the order of their names."""
    seen, left = set[str](), [path]
    while left:
        new = [name for name in imports[left.pop()] if name not in seen]
        seen.update(new)
        left += new
    return sorted(seen)


def declarations(text: str) -> str:
    """A module without what only its own check looks at: descriptions, and bodies of functions that say what they
    return."""
    return text if _TYPE_COMMENT.search(text) else ast.dump(_Declarations().visit(ast.parse(text)))


class _Declarations(ast.NodeTransformer):
    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return _without_body(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return _without_body(node)

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        return None if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str) else node


def _without_body(found: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
    """The function alone where its body tells others nothing: no type of an attribute or of a variable of the module,
    nor that it is left to be overridden. That it is a generator stays."""
    if found.returns is None or all(map(_is_empty, found.body)):
        return found
    inside = [node for statement in found.body for node in ast.walk(statement)]
    if any(isinstance(node, ast.Global) or _sets_attribute(node) for node in inside):
        return found
    found.body = [ast.Expr(ast.Constant(any(map(_yields, found.body))))]
    return found


def _is_empty(statement: ast.stmt) -> bool:
    constant = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return constant or isinstance(statement, ast.Pass | ast.Raise)


def _sets_attribute(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)


def _yields(node: ast.AST) -> bool:
    if isinstance(node, _FUNCTIONS):
        return False
    return isinstance(node, ast.Yield | ast.YieldFrom) or any(map(_yields, ast.iter_child_nodes(node)))


def imports() -> dict[str, list[str]]:
    """Files of ours that each file imports, with the packages in which these lie."""
    asked = subprocess.run([BIN / "ruff", "analyze", "graph", *CODE], cwd=ROOT, check=True, capture_output=True)
    found: dict[str, list[str]] = json.loads(asked.stdout)
    return {path: sorted({*named, *_packages([path, *named], found)}) for path, named in found.items()}


def _packages(paths: Iterable[str], found: Mapping[str, object]) -> Iterator[str]:
    for path in paths:
        for folder in Path(path).parents:
            if (package := f"{folder}/__init__.py") in found:
                yield package


def _surroundings() -> str:
    """Digest of what every check depends on: settings, and versions of Python and of all that is installed."""
    site = next((ROOT / ".venv/lib").glob("python*/site-packages"))
    installed = sorted(path.name for path in site.glob("*.dist-info"))
    return _digest([sys.version, (ROOT / "pyproject.toml").read_text(), *installed])


def _check(paths: list[str]) -> set[str]:
    """Files in which pyright finds something, which it says; the empty name where it has not worked at all."""
    asked = subprocess.run([BIN / "pyright", "--outputjson", *paths], cwd=ROOT, capture_output=True, text=True)
    try:
        found: list[dict[str, Any]] = json.loads(asked.stdout)["generalDiagnostics"]
    except (ValueError, KeyError):
        print(asked.stdout, asked.stderr)
        return {""}
    failed = set[str]()
    for each in found:
        path, start = str(Path(each["file"]).relative_to(ROOT)), each["range"]["start"]
        failed.add(path)
        rule = f" ({each['rule']})" if "rule" in each else ""
        print(f"{path}:{start['line'] + 1}:{start['character'] + 1} - {each['severity']}: {each['message']}{rule}")
    return failed or ({""} if asked.returncode else failed)


def _read() -> dict[str, dict[str, str]]:
    return json.loads(PASSED.read_text()) if PASSED.exists() else {"passed": {}, "declared": {}}


def _digest(parts: Iterable[str]) -> str:
    return sha256("\0".join(parts).encode()).hexdigest()


if __name__ == "__main__":
    sys.exit(main())
