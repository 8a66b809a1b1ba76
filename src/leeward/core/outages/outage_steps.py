"""Steps of an outage: what happened when, in order and bounded; who leaves together is one step.

An application that has changed is told in the steps that it belongs to: the wave with which it left, or the reason for
which it is held or kept.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import msgspec

from kubeapi.meta import wire_time
from leeward.api.outage import MoveState, OutageApplication, OutageStatus, OutageStep, StepKind
from leeward.core.eviction.tasks import TaskReason, reason_of
from leeward.core.outages.sight import CopySight

MOST_STEPS, FIRST_STEPS = 64, 16
MOST_PLACES = 20
"""Clusters that are named as where applications go."""
MESSAGE_LENGTH = 512
WAVE = timedelta(seconds=30)
"""Time within which what leaves counts as leaving together."""


@dataclass(frozen=True, slots=True)
class ApplicationChange:
    """An application before (None: it was not known) and after an observation."""

    before: OutageApplication | None
    after: OutageApplication
    sight: CopySight

    @property
    def has_become(self) -> MoveState | None:
        """State of it, where that is new."""
        return self.after.state if self.before is None or self.before.state is not self.after.state else None

    @property
    def told_as(self) -> StepKind | None:
        """Kind of the step that tells of it as held or kept, where it has become so, or for another reason."""
        was = (self.before.state, self.before.reason) if self.before is not None else None
        return _TOLD.get(self.after.state) if was != (self.after.state, self.after.reason) else None

    @property
    def has_left(self) -> bool:
        was = self.before.left_at if self.before is not None else None
        return self.after.left_at is not None and self.after.left_at != was

    @property
    def has_recovered(self) -> bool:
        was = self.before.healthy_at if self.before is not None else None
        return self.after.healthy_at is not None and self.after.healthy_at != was


def with_steps(status: OutageStatus, steps: Iterable[OutageStep]) -> OutageStatus:
    """The status with more steps, in their order; of too many, those in the middle are left out."""
    every = sorted((*status.steps, *steps), key=lambda step: step.at)
    surplus = max(0, len(every) - MOST_STEPS)
    kept = (*every[:FIRST_STEPS], *every[FIRST_STEPS + surplus :])
    return msgspec.structs.replace(status, steps=kept, omitted_steps=status.omitted_steps + surplus)


def with_step(status: OutageStatus, at: datetime, kind: StepKind, reason: str = "", message: str = "") -> OutageStatus:
    return with_steps(
        status, (OutageStep(at=wire_time(at), kind=kind, reason=reason, message=message[:MESSAGE_LENGTH]),)
    )


def with_waves(status: OutageStatus, changes: Sequence[ApplicationChange]) -> OutageStatus:
    """Joins what has left to what left just before it, and counts what is healthy with those it left with."""
    steps = list(status.steps)
    new: list[OutageStep] = []
    for left_at, change in sorted(_leaving(changes), key=lambda each: each[0]):
        for found in (new, steps):
            index = _wave_at(found, left_at, WAVE)
            if index is not None:
                found[index] = _joined(found[index], change, left_at)
                break
        else:
            new.append(_joined(OutageStep(at=left_at, kind=StepKind.LEFT), change, left_at))
    for change in changes:
        if change.has_recovered and change.after.left_at is not None:
            for found in (new, steps):
                index = _wave_at(found, change.after.left_at, timedelta())
                if index is not None:
                    wave = found[index]
                    found[index] = msgspec.structs.replace(
                        wave, healthy=wave.healthy + 1, healthy_at=change.after.healthy_at
                    )
                    break
    return with_steps(msgspec.structs.replace(status, steps=tuple(steps)), new)


def _leaving(changes: Iterable[ApplicationChange]) -> Iterator[tuple[datetime, ApplicationChange]]:
    for change in changes:
        if change.has_left and change.after.left_at is not None:
            yield change.after.left_at, change


def _wave_at(steps: list[OutageStep], left_at: datetime, slack: timedelta) -> int | None:
    for index in range(len(steps) - 1, -1, -1):
        step = steps[index]
        if step.kind is StepKind.LEFT and step.at - slack <= left_at <= (step.until or step.at) + slack:
            return index
    return None


def _joined(wave: OutageStep, change: ApplicationChange, left_at: datetime) -> OutageStep:
    task = change.sight.task
    is_by_taint = task is not None and reason_of(task) is TaskReason.TAINT_UNTOLERATED
    tolerated = change.sight.tolerated_seconds if is_by_taint else None
    return msgspec.structs.replace(
        wave,
        at=min(wave.at, left_at),
        until=max(wave.until or wave.at, left_at),
        applications=wave.applications + 1,
        to=tuple(sorted({*wave.to, *change.after.to})[:MOST_PLACES]),
        tolerated_seconds=tolerated if wave.applications == 0 or tolerated == wave.tolerated_seconds else None,
    )


_TOLD = {MoveState.HELD: StepKind.HELD, MoveState.KEPT: StepKind.KEPT}


def with_told(status: OutageStatus, changes: Sequence[ApplicationChange], now: datetime) -> OutageStatus:
    """One step for each reason for which applications are held or kept, which counts each of them once; and one for
    withdrawn evictions."""
    steps, new = list(status.steps), list[OutageStep]()
    for change in changes:
        after, kind = change.after, change.told_as
        was_moving = change.before is not None and change.before.state is MoveState.MOVING
        if change.has_become is MoveState.RETURNED and was_moving:
            kind = StepKind.WITHDRAWN
        if kind is None:
            continue
        for found in (new, steps):
            index = _told_at(found, kind, after.reason, status.failed_at or now)
            if index is not None:
                more = 0 if after.told.get(after.reason) == found[index].at else 1
                found[index] = msgspec.structs.replace(found[index], applications=found[index].applications + more)
                break
        else:
            at = _held_since(change, status.failed_at or now, now)
            new.append(OutageStep(at=at, kind=kind, reason=after.reason, message=after.message, applications=1))
    return with_steps(msgspec.structs.replace(status, steps=tuple(steps)), new)


def _held_since(change: ApplicationChange, failed_at: datetime, now: datetime) -> datetime:
    """Instant since which the condition holds it for this reason; now, where it does not say that of this failure."""
    hold = change.sight.hold
    at = hold.last_transition_time if hold is not None and hold.reason == change.after.reason else None
    return wire_time(at if at is not None and failed_at <= at <= now else now)


def as_told(change: ApplicationChange, status: OutageStatus, now: datetime) -> OutageApplication:
    """The application with the instant of the step that tells of it as held or kept."""
    after, kind = change.after, change.told_as
    index = None if kind is None else _told_at(status.steps, kind, after.reason, status.failed_at or now)
    if index is None:
        return after
    return msgspec.structs.replace(after, told={**after.told, after.reason: status.steps[index].at})


def _told_at(steps: Sequence[OutageStep], kind: StepKind, reason: str, since: datetime) -> int | None:
    """Index of the step of this kind and reason, of those since the last failure."""
    found = (i for i, step in enumerate(steps) if (step.kind, step.reason) == (kind, reason) and step.at >= since)
    return next(found, None)
