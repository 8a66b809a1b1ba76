"""Cuts a failing history down to what it takes to fail: fewer steps, fewer clusters, rounder numbers.

Delta debugging over the steps, then simplifications one by one; each candidate is played, and kept when it still
breaks the same invariant. It is bounded by the number of runs.
"""

from collections.abc import Callable, Iterator

import msgspec

from simulator.histories.model import AnyStep, ControllersAreKilled, Deploy, Fault, History, Replan
from simulator.histories.playing import Run, play

RUNS = 150


class Shrinking:
    """One reduction. `runs` counts what has been played."""

    def __init__(self, failed: Run, play: Callable[[History], Run] = play, runs: int = RUNS) -> None:
        self.best = failed
        self.runs = 0
        self._invariants = {violation.invariant for violation in failed.violations}
        self._play = play
        self._bound = runs

    def shrink(self) -> Run:
        """The smallest run that was found and still breaks the same invariant."""
        self._fewer_steps()
        while self._simpler():
            pass
        return self.best

    def _fewer_steps(self) -> None:
        """Leaves out ever smaller slices of the steps."""
        size = max(1, len(self.best.history.steps) // 2)
        while size:
            start = 0
            while start < len(self.best.history.steps):
                steps = self.best.history.steps
                shorter = (*steps[:start], *steps[start + size :])
                if not self._try(msgspec.structs.replace(self.best.history, steps=shorter)):
                    start += size
            size //= 2

    def _simpler(self) -> bool:
        """Tells whether one more simplification has worked."""
        return any(self._try(candidate) for candidate in _simplifications(self.best.history))

    def _try(self, candidate: History) -> bool:
        if self.runs >= self._bound:
            return False
        self.runs += 1
        run = self._play(candidate)
        if not self._invariants & {violation.invariant for violation in run.violations}:
            return False
        self.best = run
        return True


def _simplifications(history: History) -> Iterator[History]:
    """Histories of which each is simpler in one respect, and never equal."""
    if history.sync_seconds:
        yield msgspec.structs.replace(history, sync_seconds=0.0)
    for name, mode in history.members:
        if not any(_mentions(step, name) for step in history.steps):
            others = tuple(member for member in history.members if member[0] != name)
            yield msgspec.structs.replace(history, members=others)
        if mode == "Pull" and not any(f"agent-{name}" in str(step) for step in history.steps):
            members = tuple((n, "Push" if n == name else m) for n, m in history.members)
            yield msgspec.structs.replace(history, members=members)
    for index, step in enumerate(history.steps):
        for simpler in _simpler_steps(step):
            steps = (*history.steps[:index], simpler, *history.steps[index + 1 :])
            yield msgspec.structs.replace(history, steps=steps)


def _simpler_steps(step: AnyStep) -> Iterator[AnyStep]:
    if step.at != round(step.at):
        yield msgspec.structs.replace(step, at=float(round(step.at)))
    if isinstance(step, Fault) and step.lasts != round(step.lasts):
        yield msgspec.structs.replace(step, lasts=float(round(step.lasts)))
    if isinstance(step, ControllersAreKilled) and step.steps:
        yield msgspec.structs.replace(step, steps=0)
    if isinstance(step, Deploy) and step.replicas > 2:
        yield msgspec.structs.replace(step, replicas=2)
    if isinstance(step, Deploy | Replan):
        for changes in ({"toleration_seconds": 0}, {"groups": (0, 0)}, {"directly": False}):
            plan = msgspec.structs.replace(step.plan, **changes)
            if plan != step.plan:
                yield msgspec.structs.replace(step, plan=plan)


def _mentions(step: AnyStep, member: str) -> bool:
    return f"'{member}'" in str(step) or f"agent-{member}'" in str(step)
