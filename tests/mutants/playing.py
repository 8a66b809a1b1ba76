"""mutmut on a copy of the repository: what has become of each mutant.

mutmut keeps all mutants of a function side by side in one file, lets the tests run once to see which of them reach
which function, and then forks for each mutant and plays only those. Its verdicts are exit codes in a `.meta` file.
"""

import ast
import difflib
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.mutants.scope import ROOT, Room, Target
from tests.mutants.survivors import Entry

SURVIVED, NO_TESTS = 0, 33
NAME = re.compile(r"^(?P<module>.+)\.(?:x_(?P<function>.+)|xǁ(?P<kind>.+)ǁ(?P<method>.+))__mutmut_\d+$")
COPIED = ("src", "tests", "bench", "docs", "deploy", "scripts", "README.md", "Makefile")


@dataclass(frozen=True)
class Played:
    """A mutant: the function, what its lines were and have become, and mutmut's exit code."""

    module: str
    function: str
    was: str
    becomes: str
    code: int

    @property
    def is_killed(self) -> bool:
        """Failed, broke off, or did not end: anything but passing."""
        return self.code not in (SURVIVED, NO_TESTS)

    def entry(self, reason: str = "") -> Entry:
        return Entry(f"{self.module}.{self.function}", self.was, self.becomes, reason)


def play(room: Room, targets: Sequence[Target], children: int) -> list[Played]:
    """Every mutant of the targets, played against the tests of their room."""
    with tempfile.TemporaryDirectory(prefix="leeward-mutants-") as folder:
        tree = Path(folder)
        _copy(tree, room, targets)
        command = [Path(sys.executable).with_name("mutmut"), "run", "--max-children", str(children), *_wanted(targets)]
        log = tree / "log"
        with log.open("w") as out:
            code = subprocess.run(command, cwd=tree, stdout=out, stderr=subprocess.STDOUT, check=False).returncode
        if code:
            raise SystemExit(f"mutmut failed with exit code {code}:\n{log.read_text()[-4000:]}")
        return [one for target in targets for one in _read(tree, target)]


def _copy(tree: Path, room: Room, targets: Sequence[Target]) -> None:
    for name in COPIED:
        source = ROOT / name
        (shutil.copytree if source.is_dir() else shutil.copy2)(source, tree / name)
    settings = {
        "source_paths": ["src"],
        "only_mutate": [str(target.path.relative_to(ROOT)) for target in targets],
        "pytest_add_cli_args_test_selection": list(room.tests),
        "pytest_add_cli_args": ["-p", "no:cacheprovider"],
        "also_copy": [name for name in COPIED if name not in ("src", "tests")],
    }
    lines = "".join(f"{key} = {json.dumps(value)}\n" for key, value in settings.items())
    (tree / "pyproject.toml").write_text(f"{(ROOT / 'pyproject.toml').read_text()}\n[tool.mutmut]\n{lines}")


def _wanted(targets: Sequence[Target]) -> list[str]:
    """mutmut's names for the mutants of the functions that are named; none stands for all."""
    if not any(target.functions for target in targets):
        return []
    return [f"{target.module}.{_mangled(name)}__mutmut_*" for target in targets for name in target.functions]


def _mangled(function: str) -> str:
    kind, _, name = function.rpartition(".")
    return f"xǁ{kind}ǁ{name}" if kind else f"x_{name}"


def _read(tree: Path, target: Target) -> list[Played]:
    mutated = tree / "mutants" / target.path.relative_to(ROOT)
    meta = mutated.with_name(mutated.name + ".meta")
    if not meta.exists():
        return []
    codes: dict[str, int | None] = json.loads(meta.read_text())["exit_code_by_key"]
    texts = _texts(mutated.read_text())
    return [_played(name, code, texts) for name, code in codes.items() if code is not None]


def _played(name: str, code: int, texts: dict[str, list[str]]) -> Played:
    found = NAME.match(name)
    assert found is not None, name
    function = found["function"] or f"{found['kind']}.{found['method']}"
    mangled = name.rpartition(".")[2]
    was, becomes = _difference(texts[mangled.rpartition("__mutmut_")[0] + "__mutmut_orig"], texts[mangled])
    return Played(found["module"].removeprefix("leeward."), function, was, becomes, code)


def _texts(source: str) -> dict[str, list[str]]:
    """The lines of all functions in a mutated file, by their mangled names, without the line that names them."""
    lines = source.splitlines()
    texts: dict[str, list[str]] = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and "__mutmut_" in node.name:
            texts[node.name] = [line.replace(node.name, "") for line in lines[node.lineno - 1 : node.end_lineno]]
    return texts


def _difference(original: list[str], mutant: list[str]) -> tuple[str, str]:
    changes = [line for line in difflib.ndiff(original, mutant) if line[0] in "-+"]
    return _joined(changes, "-"), _joined(changes, "+")


def _joined(changes: list[str], sign: str) -> str:
    return " ".join(" ".join(line[2:].split()) for line in changes if line[0] == sign)
