"""Losses of members in a history, from when to when, and what else happens on the way to noticing it."""

from collections.abc import Iterator
from dataclasses import dataclass

from simulator.histories.checkers.lateness import ANSWER_SECONDS, CONTROLLERS, RESUME_SECONDS, touched_by
from simulator.histories.model import (
    AnyStep,
    CutOff,
    History,
    HubIsRestored,
    MemberHangs,
    MemberIsUnready,
    MemberStops,
)

AFTERMATH_SECONDS = RESUME_SECONDS + ANSWER_SECONDS


@dataclass(frozen=True, slots=True)
class Loss:
    """A member that nobody can work with from `begin` to `end`. `disturbed` are the times, by their beginning, at which
    the control plane had faults of its own, or reached all members late."""

    member: str
    begin: float
    end: float
    disturbed: tuple[tuple[float, float], ...]


def losses_of(history: History) -> tuple[Loss, ...]:
    """Losses that nothing else interferes with in the same member."""
    return tuple(_losses(history))


def _losses(history: History) -> Iterator[Loss]:
    for step in history.steps:
        if not isinstance(step, MemberStops | MemberHangs | MemberIsUnready):
            continue
        others = [other for other in history.steps if other is not step]
        if any(touched_by(other) == step.member and _overlap(other, step) for other in others):
            continue
        yield Loss(step.member, step.at, step.ends_at, disturbances_of(history))


def disturbances_of(history: History) -> tuple[tuple[float, float], ...]:
    """Times in which the control plane has faults of its own, or reaches all members late; by their beginning."""
    disturbing = (step for step in history.steps if touched_by(step) == CONTROLLERS)
    return tuple(sorted((_begins(step), step.ends_at + AFTERMATH_SECONDS) for step in disturbing))


def _begins(step: AnyStep) -> float:
    """A backup that is taken disturbs nobody."""
    return step.down_at if isinstance(step, HubIsRestored) else step.at


def troubles_of(history: History) -> dict[str, list[tuple[float, float]]]:
    """Times in which something is wrong with each member, or on the way to it."""
    found: dict[str, list[tuple[float, float]]] = {name: [] for name, _ in history.members}
    for step in history.steps:
        who = touched_by(step)
        for name in found if isinstance(step, CutOff) else [who]:
            if name in found:
                found[name].append((step.at, step.ends_at + AFTERMATH_SECONDS))
    return found


def _overlap(other: AnyStep, loss: AnyStep) -> bool:
    return other.at < loss.ends_at and other.ends_at + AFTERMATH_SECONDS > loss.at
