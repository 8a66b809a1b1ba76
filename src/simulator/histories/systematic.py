"""Systematic modes: one small outage, with one more fault at each place where it can be. Complete, not sampled.

    kill    each party dies once at each of its awaits
    drop    each line of each watch is lost once: its stream breaks before it
    stale   each read that can be stale is stale once (`sim/stale_reads.py`)

How many places there are nobody needs to know beforehand: places are tried in order, until the fault finds none any
more. Every history of a mode has to hold all invariants.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import count
from os import cpu_count
from typing import Literal

import msgspec

from simulator.histories.faults import KILLED_AT_AN_AWAIT
from simulator.histories.model import (
    AgentIsKilled,
    AnyFault,
    ApiServerIsKilled,
    ControllersAreKilled,
    Deploy,
    History,
    MemberHangs,
    MemberIsKilled,
    MemberStops,
    Plan,
    Storm,
)
from simulator.histories.playing import Run, play

Mode = Literal["kill", "drop", "stale"]
MODES: tuple[Mode, ...] = ("kill", "drop", "stale")

OUTAGE = History(
    seed=9,
    members=(("m1", "Push"), ("m2", "Pull")),
    steps=(
        Deploy(at=45, app="web", plan=Plan(division="Static", clusters=("m1", "m2"), weights=(1, 1)), replicas=2),
        MemberStops(at=80, lasts=63, member="m1"),
    ),
)
"""m1 dies, its application moves to m2 for as long as it takes, and m1 comes back just after the eviction began."""
BEGINS, ENDS = 44.0, 206.0
"""Instants from just before the application is deployed until the eviction is over."""
RESTARTS: tuple[AnyFault, ...] = (
    ControllersAreKilled(at=100, lasts=5),
    AgentIsKilled(at=100, lasts=5, member="m2"),
    MemberHangs(at=146, lasts=3, member="m2"),
    ControllersAreKilled(at=147, lasts=3),
    AgentIsKilled(at=155, lasts=3, member="m2"),
)
"""Faults after which somebody reads everything anew: without these there is hardly a read that could be stale."""
KILL_SECONDS = 6.0
"""A party is dead until the end of the window in which it was to die."""
WAYS = (("controllers", "control-plane"), ("controllers", "m1"), ("agent-m2", "control-plane"), ("agent-m2", "m2"))


@dataclass(frozen=True, slots=True)
class Sweep:
    """All places of one kind: `place(number)` is the fault at that one, `mark` is counted when it found its place.

    `besides` happens as well, each time.
    """

    name: str
    place: Callable[[int], AnyFault]
    mark: str
    besides: tuple[AnyFault, ...] = ()

    def history(self, number: int) -> History:
        """The outage with the fault at place `number`, from 1 on."""
        steps = (*OUTAGE.steps, *self.besides, self.place(number))
        return msgspec.structs.replace(OUTAGE, steps=tuple(sorted(steps, key=lambda step: step.at)))

    def runs(self, numbers: Iterator[int] | None = None, play: Callable[[History], Run] = play) -> Iterator[Run]:
        """Runs of each place, until there is none any more."""
        for number in numbers if numbers is not None else count(1):
            run = play(self.history(number))
            if not run.reached[self.mark]:
                return
            yield run


def sweeps(mode: Mode) -> Iterator[Sweep]:
    """Sweeps that make a mode complete."""
    match mode:
        case "kill":
            yield from _kills()
        case "drop":
            for way in WAYS:
                yield Sweep(f"{way[0]} to {way[1]}", lambda n, way=way: _storm(way, break_at=n), "network: break")
        case "stale":
            for way in WAYS:
                yield Sweep(
                    f"{way[0]} to {way[1]}", lambda n, way=way: _storm(way, stale_at=n), "network: stale", RESTARTS
                )


@dataclass(frozen=True, slots=True)
class Swept:
    """Result of one sweep: how many places there were, and at which of them something did not hold."""

    name: str
    places: int
    failed: tuple[Run, ...]


def sweep_all(mode: Mode, processes: int = 0) -> Iterator[Swept]:
    """All sweeps of a mode, on so many cores at a time; 0: on all."""
    with ProcessPoolExecutor(processes or cpu_count()) as pool:
        yield from pool.map(_sweep, [(mode, index) for index, _ in enumerate(sweeps(mode))])


def _sweep(which: tuple[Mode, int]) -> Swept:
    """Sweeps in a process of its own: a sweep itself does not go through a pipe."""
    mode, index = which
    sweep = list(sweeps(mode))[index]
    runs = list(sweep.runs())
    return Swept(sweep.name, len(runs), tuple(run for run in runs if run.violations))


def _kills() -> Iterator[Sweep]:
    for window in range(int((ENDS - BEGINS) // KILL_SECONDS)):
        at = BEGINS + window * KILL_SECONDS
        for who, kill in _killings(at).items():
            yield Sweep(f"{who} from {at:g} s on", kill, KILLED_AT_AN_AWAIT)


def _killings(at: float) -> dict[str, Callable[[int], AnyFault]]:
    """Each party's death after so many awaits less one: at the first one it has done nothing yet."""
    lasts = KILL_SECONDS
    return {
        "the controllers": lambda n: ControllersAreKilled(at=at, lasts=lasts, steps=n - 1),
        "the API server": lambda n: ApiServerIsKilled(at=at, lasts=lasts, steps=n - 1, power_cut=n % 2 == 0),
        "the agent of m2": lambda n: AgentIsKilled(at=at, lasts=lasts, member="m2", steps=n - 1),
        "m2": lambda n: MemberIsKilled(at=at, lasts=lasts, member="m2", steps=n - 1),
    }


def _storm(way: tuple[str, str], break_at: int = 0, stale_at: int = 0) -> Storm:
    who, whom = way
    return Storm(at=BEGINS, lasts=ENDS - BEGINS, who=who, whom=whom, break_at=break_at, stale_at=stale_at)
