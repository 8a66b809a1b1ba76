"""Holders of each invariant: code that says so, a checker of histories, tests that name it.

`python -m tests.invariants` prints them as a table.
"""

import re
from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from tests.tidiness import ROOT, SOURCE, sources

PAGE = ROOT / "docs/invariants.md"
HELD_BY_THE_WHOLE = {"L1", "L2", "L6"}
"""No one place of the code holds them."""
OUT_OF_SIGHT = {
    "D2": "a power cut: tests cut a log at every byte",
    "D7": "damaged files: histories keep theirs in memory",
    "L6": "every history restarts components, and is judged by all the others",
}
"""Invariants that no checker of histories can see, with the reason."""
_ID = re.compile(r"[SDLC]\d+")
_DEFINED = re.compile(r"\*\*([SDLC]\d+)\b")
_HOLDS = re.compile(r"Holds: ((?:[SDLC]\d+)(?:(?:,\s+| and )[SDLC]\d+)*)")
_FOUND = re.compile(r'"([SDLC]\d+)"')
_TEST = re.compile(r"def (test_\w+)")
_IN_NAME = re.compile(r"_([sdlc]\d+)(?=_|$)")
_SIMULATOR = "src/simulator/"


def ids() -> list[str]:
    return _DEFINED.findall(PAGE.read_text())


@cache
def holders() -> Mapping[str, set[str]]:
    """Modules whose docstrings say that they hold an invariant, by its id."""
    found = defaultdict[str, set[str]](set)
    for path, text in sources(*SOURCE):
        if _is_of_simulator(path):
            continue
        for said in _HOLDS.findall(text):
            for invariant in _ID.findall(said):
                found[invariant].add(_module(path))
    return found


@cache
def checkers() -> Mapping[str, set[str]]:
    """Modules of the simulator that find an invariant broken, by its id."""
    found = defaultdict[str, set[str]](set)
    for path, text in sources(*SOURCE):
        if _is_of_simulator(path):
            for invariant in _FOUND.findall(text):
                found[invariant].add(_module(path))
    return found


@cache
def tests() -> Mapping[str, set[str]]:
    """Folders of the tests whose names have the id of an invariant, by that id."""
    found = defaultdict[str, set[str]](set)
    for path, text in sources("tests"):
        for name in _TEST.findall(text):
            for invariant in _IN_NAME.findall(name):
                found[invariant.upper()].add(path.parent.as_posix())
    return found


def _table() -> str:
    rows = ["| id | held by (`Holds:`) | judged by |", "|---|---|---|"]
    for invariant in ids():
        held = _listed(holders()[invariant]) or "the whole"
        judged = _listed(checkers()[invariant]) or f"no history: {OUT_OF_SIGHT.get(invariant, '')}"
        rows.append(f"| {invariant} | {held} | {judged} |")
    return "\n".join(rows)


def _is_of_simulator(path: Path) -> bool:
    return path.as_posix().startswith(_SIMULATOR)


def _listed(names: set[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names))


def _module(path: Path) -> str:
    """Name by which it is imported, but without `leeward` in front: `core.cluster_health.brake`."""
    parts = path.with_suffix("").parts
    parts = parts[parts.index("src") + 1 :]
    parts = parts[1:] if parts[0] == "leeward" else parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


if __name__ == "__main__":
    print(_table())
