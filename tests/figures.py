"""Figures of the centre, which bounds hold down: `python -m tests.figures` prints them.

    lines, files      of placement, eviction, and what carries removals out
    decision points   branches of its core: if, for, while, except, case, `and`, `or`, conditions of comprehensions
    one eviction      files that one decision enters, and changes from one file to another
    questions         to the scheduler in one decision: most of those in the first states of all small worlds

A bound is lowered when its figure has come down, and is never raised.
"""

import ast
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any
from unittest import mock

import leeward
from leeward.core.placement import Decision, Snapshot, decide, ranks
from leeward.core.scheduling import schedule
from simulator.small import WORLDS, Rules, search
from tests.builders import NOW, binding, cluster, dead, divided, fleet, targets, works

SOURCE = Path(leeward.__file__).parent
CORE = ("core/copies/*.py", "core/eviction/*.py", "core/placement/*.py", "core/execution/removal.py")
CARRIED_OUT = ("found_removals", "object_removal", "removal_holds", "returned_copies", "scale_downs", "unwanted_works")
STATES = 60
"""States of each small world in which decisions are counted."""

BOUNDS = {
    "lines": 6_585,
    "files": 42,
    "decision points": 1_191,
    "files of one eviction": 48,
    "changes of file": 366,
    "questions": 2,
}


def figures() -> dict[str, int]:
    entered = list(_files_of_an_eviction())
    centre = [*_core(), *_carried_out()]
    return {
        "lines": sum(len(path.read_text().splitlines()) for path in centre),
        "files": len(centre),
        "decision points": sum(_points(path) for path in _core()),
        "files of one eviction": len(set(entered)),
        "changes of file": sum(a != b for a, b in pairwise(entered)),
        "questions": _most_questions(),
    }


def _core() -> list[Path]:
    return [path for pattern in CORE for path in sorted(SOURCE.glob(pattern))]


def _carried_out() -> list[Path]:
    return [path for name in CARRIED_OUT for path in SOURCE.glob(f"controllers/*/{name}.py")]


def _points(path: Path) -> int:
    """Number of places in a file where a decision goes one way or another."""
    branches = (ast.If, ast.IfExp, ast.For, ast.While, ast.ExceptHandler, ast.match_case)
    nodes = list(ast.walk(ast.parse(path.read_text())))
    beside = sum(len(node.values) - 1 for node in nodes if isinstance(node, ast.BoolOp))
    return beside + sum(isinstance(n, branches) + len(n.ifs if isinstance(n, ast.comprehension) else ()) for n in nodes)


def _files_of_an_eviction() -> Iterator[str]:
    """The files of the product in the order in which a decision calls into them: a cluster of three is lost."""
    entered: list[str] = []

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(str(SOURCE)):
            entered.append(frame.f_code.co_filename)

    shares = divided({"a": 1, "b": 1, "c": 1})
    snapshot = Snapshot(
        binding(shares, 6, targets(a=2, b=2, c=2)),
        fleet(dead("a", since=-1000), cluster("b"), cluster("c")),
        works({"a": 2, "b": 2, "c": 2}),
        now=NOW,
    )
    before = sys.getprofile()
    sys.setprofile(note)
    try:
        decision = decide(snapshot)
    finally:
        sys.setprofile(before)
    assert [task.from_cluster for task in decision.eviction_tasks] == ["a"]
    return iter(entered)


def _most_questions() -> int:
    most = 0

    def counted(snapshot: Snapshot) -> Decision:
        nonlocal most
        with mock.patch.object(ranks, "schedule", wraps=schedule) as asked:
            decision = decide(snapshot)
        most = max(most, asked.call_count)
        return decision

    for world in WORLDS:
        search(world, STATES, Rules(placement=counted))
    return most


if __name__ == "__main__":
    for name, figure in figures().items():
        print(f"{name:24}{figure:>8,}{BOUNDS[name]:>8,}")
