"""Code that is mutated, the tests by which its mutants have to die, and what of it a change has touched."""

import ast
import re
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = ("src", "kubeserver/src", "kubecluster/src")
HUNK = re.compile(r"^@@ -\S+ \+(\d+)(?:,(\d+))? @@")


@dataclass(frozen=True)
class Room:
    """Packages or modules below one of SOURCES, and the tests that judge them."""

    name: str
    paths: tuple[str, ...]
    tests: tuple[str, ...]


WRITERS = (
    "leeward/controllers/cluster/taints.py",
    "leeward/controllers/cluster/unjoin.py",
    "leeward/controllers/execution/execution.py",
    "leeward/controllers/execution/member_objects.py",
    "leeward/controllers/namespace_sync.py",
    "leeward/controllers/execution/object_removal.py",
    "leeward/controllers/policies.py",
    "leeward/controllers/removals/carriers.py",
    "leeward/controllers/removals/removal_holds.py",
    "leeward/controllers/scheduler/decision_writer.py",
    "leeward/controllers/binding/deleted_bindings.py",
    "leeward/controllers/binding/unwanted_works.py",
    "leeward/controllers/binding/work_writing.py",
    "leeward/runtime/brake.py",
    "controller_runtime/deleting.py",
    "controller_runtime/leader.py",
    "leeward/runtime/reassignment.py",
    "leeward/runtime/shard_leases.py",
    "leeward/runtime/sharding.py",
    "controller_runtime/statuses.py",
    "leeward/runtime/work_share.py",
)
"""Modules of the controllers that write to Works, bindings, taints, finalizers and the objects of members; and what
says whose work is whose, who leads, and whether evictions are held."""

ROOMS = (
    Room("core", ("leeward/core", "leeward/planning"), ("tests/unit/core", "tests/unit/planning")),
    Room("store", ("kubeserver/store",), ("tests/kubeserver/store",)),
    Room("writes", WRITERS, ("tests/unit/controllers", "tests/unit/runtime", "tests/kubecluster/runtime")),
)


@dataclass(frozen=True)
class Target:
    """A module to mutate; only these of its functions, when any are named ("name", or "Class.name")."""

    room: Room
    path: Path
    functions: tuple[str, ...] = ()

    @property
    def module(self) -> str:
        parts = self.path.relative_to(ROOT).with_suffix("").parts
        return ".".join(parts[parts.index("src") + 1 :])


def all_targets(prefix: str = "") -> list[Target]:
    """The modules of all rooms whose names, without `leeward.`, begin with `prefix`, or with one of several: "a,b"."""
    targets = [Target(room, path) for room in ROOMS for path in _files(room)]
    prefixes = tuple(prefix.split(","))
    return [target for target in targets if target.module.removeprefix("leeward.").startswith(prefixes)]


def changed_targets(base: str) -> list[Target]:
    """The functions in which lines have changed since `base`, or since main was left."""
    base = base or _git("merge-base", "HEAD", "main").strip()
    targets: list[Target] = []
    for target in all_targets():
        diff = _git("diff", "--unified=0", base, "--", str(target.path))
        lines = changed_lines(diff)
        functions = functions_at(target.path.read_text(), lines) if lines else ()
        if functions:
            targets.append(Target(target.room, target.path, functions))
    return targets


def changed_lines(diff: str) -> set[int]:
    """The lines of the new file that a unified diff adds or changes, and those beside what it takes out."""
    lines: set[int] = set()
    for line in diff.splitlines():
        if found := HUNK.match(line):
            start, count = int(found[1]), int(found[2] or 1)
            lines.update(range(start, start + max(count, 1)))
    return lines


def functions_at(source: str, lines: set[int]) -> tuple[str, ...]:
    """The functions and methods of a module that these lines belong to."""
    return tuple(name for name, node in _functions(source) if lines.intersection(_span(node)))


Function = ast.FunctionDef | ast.AsyncFunctionDef


def _functions(source: str) -> Iterable[tuple[str, Function]]:
    for node in ast.parse(source).body:
        if isinstance(node, Function):
            yield node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from ((f"{node.name}.{inner.name}", inner) for inner in node.body if isinstance(inner, Function))


def _span(node: Function) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def source_path(tree: Path, part: str) -> Path:
    """The package or module with this path below one of the sources of a tree."""
    return next(path for source in SOURCES if (path := tree / source / part).exists())


def _files(room: Room) -> list[Path]:
    found: list[Path] = []
    for path in (source_path(ROOT, part) for part in room.paths):
        found += [path] if path.is_file() else sorted(path.rglob("*.py"))
    return found


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout
