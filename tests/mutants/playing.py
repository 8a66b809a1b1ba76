"""Mutants in a copy of the repository, and what has become of each.

mutmut makes them: it keeps all mutants of a function side by side in one file, and one is chosen when it is called.
They are played in one session (`session`).
"""

import ast
import difflib
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mutmut.mutation.file_mutation import mutate_file_contents

from tests.mutants.scope import ROOT, SOURCES, Room, Target, source_path
from tests.mutants.session import NO_TESTS, SURVIVED, Orders, function_of
from tests.mutants.survivors import Entry

NAME = re.compile(r"^(?P<module>.+)\.(?:x_(?P<function>.+)|xǁ(?P<kind>.+)ǁ(?P<method>.+))__mutmut_\d+$")


@dataclass(frozen=True)
class Played:
    """A mutant: the function, what its lines were and have become, and the exit code of its process."""

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


@dataclass(frozen=True)
class Drawing:
    """Mutants of each module that are played: all of them, or a sample that the seed determines."""

    sample: int = 0
    seed: int = 1

    def of(self, module: str, mutants: Sequence[str]) -> list[str]:
        if not 0 < self.sample < len(mutants):
            return list(mutants)
        drawn = set(random.Random(f"{self.seed} {module}").sample(mutants, self.sample))
        return [mutant for mutant in mutants if mutant in drawn]


def play(
    room: Room, targets: Sequence[Target], children: int, seconds: float, drawing: Drawing = Drawing()
) -> list[Played]:
    """The mutants of the targets that are drawn, played against the tests of their room."""
    with tempfile.TemporaryDirectory(prefix="leeward-mutants-") as folder:
        tree = Path(folder)
        copy_sources(tree)
        mutants = [each for target in targets for each in drawing.of(target.module, _mutate(tree, target))]
        orders = Orders(mutants, room.tests, children, seconds, str(tree / "results"))
        texts: dict[str, dict[str, list[str]]] = {}
        return [_played(line, tree, texts) for line in _results(tree, orders)]


def copy_sources(tree: Path) -> None:
    """All files of the repository that git knows or would add, as they are now: a test may read any of them."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (source := ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, tree / name)


def _mutate(tree: Path, target: Target) -> list[str]:
    """Writes the module with all its mutants. Returns the names of those that are wanted."""
    path = tree / target.path.relative_to(ROOT)
    mutated = mutate_file_contents(str(path), path.read_text())
    path.write_text(mutated.code)
    names = [f"{target.module}.{name}" for name in mutated.mutant_names]
    wanted = {f"{target.module}.{_mangled(function)}" for function in target.functions}
    return [name for name in names if not wanted or function_of(name) in wanted]


def _mangled(function: str) -> str:
    kind, _, name = function.rpartition(".")
    return f"xǁ{kind}ǁ{name}" if kind else f"x_{name}"


def _results(tree: Path, orders: Orders) -> list[dict[str, Any]]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.mutants.session"],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(str(tree / source) for source in SOURCES)},
        input=json.dumps(asdict(orders)),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    results = Path(orders.results)
    found = [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []
    if len(found) < len(orders.mutants):
        raise SystemExit(f"the tests were not played:\n{done.stdout[-4000:]}")
    return found


def _played(result: dict[str, Any], tree: Path, texts: dict[str, dict[str, list[str]]]) -> Played:
    found = NAME.match(result["mutant"])
    assert found is not None, result
    module, function = found["module"], found["function"] or f"{found['kind']}.{found['method']}"
    if module not in texts:
        texts[module] = _texts(source_path(tree, f"{module.replace('.', '/')}.py").read_text())
    mangled = result["mutant"].rpartition(".")[2]
    was, becomes = _difference(texts[module][function_of(mangled) + "__mutmut_orig"], texts[module][mangled])
    return Played(module.removeprefix("leeward."), function, was, becomes, result["code"])


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
