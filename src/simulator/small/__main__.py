"""`python -m simulator.small [--states N] [WORLD ...]`: searches all small worlds, or those that are named.

The states are shared out evenly; what a world does not need is left to those after it. Ends with 1 when an invariant
is broken, after its story.
"""

import argparse
import sys
import time

from simulator.small.search import Search, search
from simulator.small.story import tell
from simulator.small.worlds import WORLDS, SmallWorld


def main(arguments: list[str]) -> int:
    names = [world.name for world in WORLDS]
    parser = argparse.ArgumentParser(prog="python -m simulator.small", description="search small worlds exhaustively")
    parser.add_argument("--states", type=int, default=100_000, help="how many states to look at in all (%(default)s)")
    parser.add_argument("worlds", nargs="*", metavar="WORLD", help=f"which worlds: {', '.join(names)}")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.worlds if name not in names]
    if unknown:
        parser.error(f"there is no world {unknown[0]!r}; there are: {', '.join(names)}")
    worlds = [world for world in WORLDS if not options.worlds or world.name in options.worlds]
    return _search_all(worlds, options.states)


def _search_all(worlds: list[SmallWorld], states: int) -> int:
    print(f"{'world':28}{'states':>10}{'transitions':>13}{'depth':>7}{'faults':>8}{'states/s':>10}")
    began, left, transitions, broken = time.perf_counter(), states, 0, 0
    for number, world in enumerate(worlds):
        started = time.perf_counter()
        found = search(world, left // (len(worlds) - number))
        left, transitions = left - found.states, transitions + found.transitions
        broken += found.finding is not None
        print(_row(found, time.perf_counter() - started), flush=True)
    elapsed, seen = time.perf_counter() - began, states - left
    print(f"{'in all':28}{seen:>10,}{transitions:>13,}{'':15}{seen / elapsed:>10,.0f}   ({elapsed:.0f} s)")
    return 1 if broken else 0


def _row(found: Search, seconds: float) -> str:
    """One world; `faults` is with how many all interleavings were seen."""
    faults = "all" if found.is_whole else "none" if found.faults is None else str(found.faults)
    speed = found.states / seconds
    row = f"{found.world.name:28}{found.states:>10,}{found.transitions:>13,}{found.depth:>7}{faults:>8}{speed:>10,.0f}"
    return row if found.finding is None else f"{row}\n{tell(found.world, found.finding)}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
