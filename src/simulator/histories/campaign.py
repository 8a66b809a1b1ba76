"""A campaign: many seeds on all cores. It is green when no history breaks an invariant, the same seed gives the same
trace twice, control runs agree, and, of 150 and more, every rare situation was reached.

Each seed has a process of its own. One that comes to no end, or dies, is a failure with its seed like any other.
"""

import gc
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from simulator.histories.control_run import disagreements
from simulator.histories.generator import draw_history
from simulator.histories.model import History
from simulator.histories.playing import Run, play
from simulator.histories.processes import Failure, Limits, each_in_its_process
from simulator.histories.rare import FLOOR_HISTORIES, RARE

TWICE = 25
"""One seed in so many is played once more, in an interpreter that puts sets into another order."""
ELSEWHERE_SECONDS = 600.0
CONTROL_RUNS = 10
"""One seed in so many is compared with its control run, without faults."""
WARM_UP = History(seed=0, members=(("m1", "Push"),), steps=())
"""History that is played first: what every process would have to learn anew is learned before the others."""


@dataclass(frozen=True, slots=True)
class Report:
    """Report of a process on one seed; `cpu_seconds` is its share of a core, `decisions` were taken again."""

    seed: int
    problems: tuple[str, ...]
    reached: Counter[str] = field(default_factory=Counter[str])
    cpu_seconds: float = 0.0
    decisions: int = 0


@dataclass(slots=True)
class Campaign:
    """Result of all histories."""

    played: int = 0
    cpu_seconds: float = 0.0
    decisions: int = 0
    failed: list[Report] = field(default_factory=list[Report])
    reached: Counter[str] = field(default_factory=Counter[str])

    @property
    def missed(self) -> list[str]:
        """The rare situations that were never reached."""
        return [name for name in RARE if not self.reached[name]]

    @property
    def is_green(self) -> bool:
        """Tells whether all is well; few histories are allowed to miss what is rare."""
        return not self.failed and (not self.missed or self.played < FLOOR_HISTORIES)

    def add(self, report: Report) -> None:
        self.played += 1
        self.cpu_seconds += report.cpu_seconds
        self.decisions += report.decisions
        self.reached.update(report.reached)
        if report.problems:
            self.failed.append(report)


def examine(seed: int) -> Report:
    """Plays one seed, some twice, some with their control run. In a process of its own: it leaves the collector off."""
    gc.disable()
    began = time.process_time()
    run = play(draw_history(seed))
    problems = [*map(str, run.violations), *_doubts(run, seed)]
    return Report(seed, tuple(problems), run.reached, time.process_time() - began, run.decisions)


def run_campaign(
    seeds: Sequence[int], processes: int = 0, examine: Callable[[int], Report] = examine, limits: Limits | None = None
) -> Iterator[Report]:
    """Reports on the histories, in the order in which they end. `processes` 0: one for each core."""
    play(WARM_UP)
    gc.freeze()
    for seed, report in each_in_its_process(examine, seeds, processes or os.cpu_count() or 1, limits):
        yield Report(seed, (report.reason,)) if isinstance(report, Failure) else report


def _doubts(run: Run, seed: int) -> Iterable[str]:
    if not run.violations and not run.decisions:
        yield "no decision was taken again"
    if seed % TWICE == 0 and run.trace_hash not in (told := _play_elsewhere(seed)):
        yield f"the same seed gave another trace where sets have another order: {told.strip()}"
    if seed % CONTROL_RUNS == 0 and not run.violations:
        yield from disagreements(run)


def _play_elsewhere(seed: int) -> str:
    """Plays the seed in an interpreter whose hashes of strings are others. Returns the end of what it tells."""
    environment = {**os.environ, "PYTHONHASHSEED": str(1 + os.getpid() % 1_000)}
    command = [sys.executable, "-m", "simulator", "--seed", str(seed)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=ELSEWHERE_SECONDS)
    return (done.stdout or done.stderr)[-300:]
