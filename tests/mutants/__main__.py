"""`make mutants`: small faults are put into the product, one at a time; each has to make a test fail.

    make mutants                   the functions in which lines changed since main
    make mutants BASE=HEAD~3       ... since that revision
    make mutants ALL=1             all of the scope
    make mutants ONLY=core.placement the modules whose names begin so

A mutant that no test notices *survives*. Those that change nothing are listed in `survivors.toml`, with a reason; any
other one fails the run. mutmut makes the mutants and plays the tests; it works on a copy, so that nothing here changes.
"""

import argparse
import math
import sys
from dataclasses import replace

from tests.mutants.playing import Drawing, Played, play
from tests.mutants.scope import ROOMS, all_targets, changed_targets
from tests.mutants.survivors import Judgement, judge, read_survivors, render_entry


def main() -> int:
    options = _parse()
    targets = changed_targets(options.base) if not (options.all or options.only) else all_targets(options.only)
    if not targets:
        print("no line in the scope has changed" if not options.only else f"the scope has no {options.only}")
        return 0
    played: list[Played] = []
    for room in ROOMS:
        mine = [target for target in targets if target.room is room]
        if mine:
            judges = replace(room, tests=tuple(options.tests or room.tests))
            drawing = Drawing(options.sample, options.seed)
            played += play(judges, mine, options.children, options.seconds, drawing)
    judgement = judge(played, read_survivors(), is_sample=options.sample > 0)
    _print_table(played, judgement)
    return _tell(judgement)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make mutants", description=__doc__)
    parser.add_argument("--all", action="store_true", help="all of the scope")
    parser.add_argument("--only", default="", metavar="PREFIX", help="the modules whose names begin so")
    parser.add_argument("--base", default="", metavar="REV", help="what changed since then (where main was left)")
    parser.add_argument("--children", type=int, default=2, metavar="N", help="processes at a time")
    parser.add_argument("--seconds", type=float, default=math.inf, metavar="N", help="seconds of tests for each mutant")
    parser.add_argument("--sample", type=int, default=0, metavar="N", help="so many of each module, drawn by the seed")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    parser.add_argument("--tests", nargs="+", metavar="FILE", help="these tests alone")
    return parser.parse_args()


def _print_table(played: list[Played], judgement: Judgement) -> None:
    print(f"{'module':44}{'mutants':>9}{'killed':>9}{'':>7}{'listed':>9}{'survive':>9}")
    for module in sorted({one.module for one in played}):
        _print_row(module, [one for one in played if one.module == module], judgement)
    _print_row("in all", played, judgement)


def _print_row(name: str, played: list[Played], judgement: Judgement) -> None:
    killed = sum(one.is_killed for one in played)
    listed = sum(one in judgement.listed for one in played)
    print(
        f"{name:44}{len(played):>9,}{killed:>9,}{killed / max(1, len(played)):>7.1%}"
        f"{listed:>9,}{len(played) - killed - listed:>9,}"
    )


def _tell(judgement: Judgement) -> int:
    for entry in judgement.died:
        print(f"\nlisted in survivors.toml, and dies or is gone: take it out\n{render_entry(entry)}")
    if not judgement.unlisted:
        return 0
    print(f"\n{len(judgement.unlisted)} survive without a reason: kill each with a test, or list it in survivors.toml")
    for one in judgement.unlisted:
        print(f"\n{render_entry(one.entry())}", end="")
    return 1


if __name__ == "__main__":
    sys.exit(main())
