"""A campaign: many seeds on all cores. It is green when no history breaks an invariant, the same seed gives the same
trace twice, the twins agree, and every rare situation was reached.
"""

import os
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field

from leeward.sim.histories.drawing import draw_history
from leeward.sim.histories.playing import Run, play
from leeward.sim.histories.rare import RARE
from leeward.sim.histories.twins import disagreements

TWICE = 100
"""One seed in so many is played twice."""
TWIN = 10
"""One seed in so many is compared with its twin without faults."""


@dataclass(frozen=True, slots=True)
class Report:
    """What a process tells of one seed; `cpu_seconds` is its share of a core."""

    seed: int
    problems: tuple[str, ...]
    reached: Counter[str]
    cpu_seconds: float


@dataclass(slots=True)
class Campaign:
    """What came of all of them."""

    played: int = 0
    cpu_seconds: float = 0.0
    failed: list[Report] = field(default_factory=list[Report])
    reached: Counter[str] = field(default_factory=Counter[str])

    @property
    def missed(self) -> list[str]:
        """The rare situations that were never reached."""
        return [name for name in RARE if not self.reached[name]]

    def add(self, report: Report) -> None:
        self.played += 1
        self.cpu_seconds += report.cpu_seconds
        self.reached.update(report.reached)
        if report.problems:
            self.failed.append(report)


def run_campaign(seeds: Sequence[int], processes: int = 0) -> Iterator[Report]:
    """What came of each history, in the order of the seeds. `processes` 0: all cores."""
    with ProcessPoolExecutor(processes or os.cpu_count()) as pool:
        yield from pool.map(examine, seeds, chunksize=4)


def examine(seed: int) -> Report:
    """Plays one seed, some twice, some with their twin."""
    began = time.process_time()
    run = play(draw_history(seed))
    problems = [*map(str, run.violations), *_doubts(run, seed)]
    return Report(seed, tuple(problems), run.reached, time.process_time() - began)


def _doubts(run: Run, seed: int) -> Iterable[str]:
    if seed % TWICE == 0 and play(run.history).trace_hash != run.trace_hash:
        yield "the same seed gave another trace"
    if seed % TWIN == 0 and not run.violations:
        yield from disagreements(run)
