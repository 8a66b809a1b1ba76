"""Which members a history loses, from when to when, and what else happens on the way to noticing it."""

from collections.abc import Iterator
from dataclasses import dataclass

from leeward.sim.histories.checkers.lateness import ANSWER_SECONDS, CONTROLLERS, RESUME_SECONDS, touched_by
from leeward.sim.histories.model import AnyStep, History, MemberHangs, MemberIsUnready, MemberStops

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
    """Those that nothing else interferes with in the same member."""
    return tuple(_losses(history))


def _losses(history: History) -> Iterator[Loss]:
    for step in history.steps:
        if not isinstance(step, MemberStops | MemberHangs | MemberIsUnready):
            continue
        others = [other for other in history.steps if other is not step]
        if any(touched_by(other) == step.member and _overlap(other, step) for other in others):
            continue
        disturbed = [(o.at, o.ends_at + AFTERMATH_SECONDS) for o in others if touched_by(o) == CONTROLLERS]
        yield Loss(step.member, step.at, step.ends_at, tuple(sorted(disturbed)))


def _overlap(other: AnyStep, loss: AnyStep) -> bool:
    return other.at < loss.ends_at and other.ends_at + AFTERMATH_SECONDS > loss.at
