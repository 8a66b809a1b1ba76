"""The command line: replays one history and tells it, or runs a campaign.

python -m simulator --seed 48                 plays the history of a seed, and tells it
python -m simulator --history story.json      plays one that was written down
python -m simulator --campaign 300            plays many on all cores; the failures are cut down and written down
python -m simulator --systematic kill         plays one outage with one more fault at every place where it can be
"""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from simulator.histories.campaign import Campaign, run_campaign
from simulator.histories.generator import draw_history
from simulator.histories.model import read_history, write_history
from simulator.histories.playing import Run, play
from simulator.histories.rare import FLOOR_HISTORIES, RARE
from simulator.histories.shrinking import Shrinking
from simulator.histories.story_text import tell
from simulator.histories.systematic import MODES, Mode, sweep_all

STORIES = 3
"""Most failures of a campaign that are cut down and told."""
PROGRESS = 100
"""Number of histories of a campaign after which it is said how far it is."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns 0 when every invariant held."""
    options = _parser().parse_args(arguments)
    if options.campaign:
        return _campaign(range(options.seed, options.seed + options.campaign), options.processes, options.stories)
    if options.systematic:
        return _systematic(options.systematic, options.processes, options.stories)
    try:
        history = read_history(options.history.read_bytes()) if options.history else draw_history(options.seed)
    except (OSError, msgspec.MsgspecError) as error:
        print(f"--history {options.history}: cannot be read: {error}", file=sys.stderr)
        return 2
    run = play(history)
    replay = f"--history {options.history}" if options.history else f"--seed {options.seed}"
    if run.violations and options.shrink:
        print(_cut_down(run, options.stories))
    else:
        print(tell(run, f"python -m simulator {replay}"))
    return 1 if run.violations else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m simulator", description="Fault histories over the whole product")
    parser.add_argument("--seed", type=int, default=0, help="the history to play, or the first one of a campaign")
    parser.add_argument("--history", type=Path, help="a file with a history to play instead")
    parser.add_argument("--shrink", action="store_true", help="cut a failing history down before it is told")
    parser.add_argument("--campaign", type=int, default=0, metavar="N", help="play N seeds on all cores")
    parser.add_argument("--systematic", choices=MODES, help="kill at every await, drop every line, or read all stale")
    parser.add_argument("--processes", type=int, default=0, help="how many at a time; 0: one for each core")
    parser.add_argument("--stories", type=Path, default=Path(".stories"), help="where failures are written down")
    return parser


def _campaign(seeds: range, processes: int, stories: Path) -> int:
    began = time.monotonic()
    campaign = Campaign()
    for report in run_campaign(seeds, processes):
        campaign.add(report)
        for problem in report.problems:
            print(f"seed {report.seed}: {problem}", flush=True)
        if campaign.played % PROGRESS == 0 and campaign.played < len(seeds):
            print(f"{campaign.played} of {len(seeds)} played, {len(campaign.failed)} failed", flush=True)
    print(_summary(campaign, time.monotonic() - began))
    for report in sorted(campaign.failed, key=lambda report: report.seed)[:STORIES]:
        run = play(draw_history(report.seed))
        if run.violations:
            print("", _cut_down(run, stories), sep="\n")
    return 0 if campaign.is_green else 1


def _systematic(mode: Mode, processes: int, stories: Path) -> int:
    began, places, failed = time.monotonic(), 0, list[Run]()
    for swept in sweep_all(mode, processes):
        places += swept.places
        failed += swept.failed
        print(f"{swept.name}: {swept.places} places, {len(swept.failed)} failed", flush=True)
    print(f"{mode}: {places} places in {time.monotonic() - began:.0f} s, {len(failed)} failed")
    for run in failed[:STORIES]:
        print("", _cut_down(run, stories), sep="\n")
    return 1 if failed or not places else 0


def _summary(campaign: Campaign, seconds: float) -> str:
    rate = campaign.played / campaign.cpu_seconds if campaign.cpu_seconds else 0.0
    reached = len(RARE) - len(campaign.missed)
    lines = [
        f"{campaign.played} histories in {seconds:.0f} s ({rate:.2f} per second and core), "
        f"{len(campaign.failed)} failed; {reached} of {len(RARE)} rare situations reached",
        f"{campaign.decisions} decisions, each taken again on what was recorded",
    ]
    lines += [f"never reached: {name}" for name in campaign.missed]
    if campaign.missed and campaign.played >= FLOOR_HISTORIES:
        lines.append(f"{FLOOR_HISTORIES} histories have to reach all of them")
    return "\n".join(lines)


def _cut_down(run: Run, stories: Path) -> str:
    """Shrinks a failure, writes it down, and tells it."""
    shrunk = Shrinking(run).shrink()
    stories.mkdir(parents=True, exist_ok=True)
    path = stories / f"seed-{run.history.seed}.json"
    path.write_bytes(write_history(shrunk.history))
    return tell(shrunk, f"python -m simulator --history {path}")
