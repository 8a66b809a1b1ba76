"""Outages in words: the headline of an outage, its steps, and those to come. CLI, report and dashboard say these.

Nothing is looked up: all follows from the object, the instant at which it is told, and the flags in force.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from enum import Enum

import msgspec

from leeward.api.outage import ClusterOutage, MoveState, OutageApplication, OutagePhase, OutageStep, StepKind
from leeward.core.cluster_health.outage import Outcome
from leeward.core.settings_in_force import SettingsInForce
from leeward.operations.sentences import counted, long_span

_TAINT_PREFIX = "cluster.karmada.io/"
AGENT_SILENT = "ClusterStatusUnknown"
GONE = "deleted or scaled to 0 since"


class Tone(Enum):
    """Meaning of a line to a reader."""

    BAD = "Bad"
    NEEDS_SOMEBODY = "NeedsSomebody"
    LEAVES = "Leaves"
    GOOD = "Good"
    PLAIN = "Plain"
    TO_COME = "ToCome"


class StoryLine(msgspec.Struct, frozen=True, rename="camel"):
    """`at` is None for a line without an instant; `after_seconds` count from the first failure."""

    at: datetime | None
    after_seconds: int | None
    tone: Tone
    sentence: str


SENTENCES: Mapping[StepKind, tuple[Tone, str]] = {
    StepKind.FAILED_PROBE: (Tone.BAD, "first failed probe: {message}"),
    StepKind.FAILED_AGAIN: (Tone.BAD, "fails again: {message}"),
    StepKind.NOT_READY: (Tone.BAD, "{cluster} has {reason}; no new replica is placed there"),
    StepKind.NO_EXECUTE: (Tone.BAD, "{cluster} has the taint {reason}"),
    StepKind.BRAKE_ENGAGED: (Tone.NEEDS_SOMEBODY, "the brake engages, and stops automatic evictions"),
    StepKind.BRAKE_RELEASED: (Tone.PLAIN, "the brake is released"),
    StepKind.HELD: (Tone.NEEDS_SOMEBODY, "{who} cannot move: {reason}"),
    StepKind.KEPT: (Tone.PLAIN, "{who} {stay} in {cluster}: {reason}"),
    StepKind.WITHDRAWN: (Tone.GOOD, "{evictions} withdrawn: the copies in {cluster} serve again"),
    StepKind.RETURNED: (Tone.GOOD, "{cluster} is Ready again"),
    StepKind.CLEANED: (Tone.PLAIN, "the old copies of {applications} are deleted in {cluster}"),
    StepKind.UNJOINED: (Tone.PLAIN, "{cluster} has left the fleet"),
}
"""Sentences of all kinds of steps but a wave, which is told in two lines."""


def is_running(outage: ClusterOutage) -> bool:
    return outage.status.phase is OutagePhase.RUNNING


def headline_of(outage: ClusterOutage, now: datetime) -> str:
    """`fra-2 failed 11 min 30 s ago and is not back: 24 of 34 applications moved, 3 are moving, 1 cannot move`"""
    status, cluster = outage.status, outage.spec.cluster
    if is_running(outage):
        failed = _failed(outage, now) if status.failures > 1 else f"failed {_lasted(outage, now)} ago"
        return f"{cluster} {failed} and is not back: {tally(outage)}"
    ended = status.returned_at
    took = "has left the fleet"
    if ended is not None:
        took = _failed(outage, ended) if status.failures > 1 else f"was down for {_lasted(outage, ended)}"
    more = " (the old copies are not deleted there yet)" if status.phase is OutagePhase.RETURNED else ""
    return f"{cluster} {took}: {tally(outage)}{more}"


def _failed(outage: ClusterOutage, until: datetime) -> str:
    """`failed 6 times in 15 min 15 s`: it was Ready between."""
    return f"failed {outage.status.failures} times in {_lasted(outage, until)}"


def _lasted(outage: ClusterOutage, until: datetime) -> str:
    return long_span((until - outage.spec.since).total_seconds())


def tally(outage: ClusterOutage) -> str:
    """`24 of 34 applications moved, 3 are moving, 1 cannot move`: zeros are left out."""
    status, gone = outage.status, gone_since(outage)
    if not status.applications:
        were, are = ("was", "is") if gone == 1 else ("were", "are")
        return f"{_applications(gone)} {were} there, and {are} {GONE}" if gone else "no application was there"
    counts = [
        (status.moving, "is moving", "are moving"),
        (status.due, "has not moved yet", "have not moved yet"),
        (status.kept, "stays on purpose", "stay on purpose"),
        (status.held, "cannot move", "cannot move"),
        (status.returned, f"serves in {outage.spec.cluster} again", f"serve in {outage.spec.cluster} again"),
        (gone, f"is {GONE}", f"are {GONE}"),
    ]
    rest = [counted(number, one, many) for number, one, many in counts if number]
    return ", ".join([f"{status.moved} of {_applications(status.applications)} moved", *rest])


def gone_since(outage: ClusterOutage) -> int:
    """Number of applications that were counted, and are no more: as many as ever were there at once, less those of now.

    They have not moved, and the steps tell of them all the same.
    """
    ever = (sum(getattr(point, state.value.lower()) for state in MoveState) for point in outage.status.curve)
    return max(0, max(ever, default=0) - outage.status.applications)


def recovery_of(outage: ClusterOutage) -> str:
    """`median 10 min 50 s, worst 11 min 22 s, of which 10 min 30 s ...`; empty where nothing has moved."""
    recovery = outage.status.recovery
    if not recovery.count:
        return ""
    said = f"median {long_span(recovery.median_seconds)}, worst {long_span(recovery.worst_seconds)}"
    return f"{said}{_waited(outage)}"


def _waited(outage: ClusterOutage) -> str:
    """Words on how long the slowest application waited before it left: for a toleration only where a taint evicted."""
    slowest = max(outage.status.listed, key=lambda each: each.recovery_seconds or 0, default=None)
    if slowest is None or slowest.recovery_seconds is None or slowest.left_at is None or slowest.healthy_at is None:
        return ""
    waits = slowest.recovery_seconds - int((slowest.healthy_at - slowest.left_at).total_seconds())
    steps = (step for step in outage.status.steps if step.kind is StepKind.LEFT)
    wave = next((step for step in steps if step.at <= slowest.left_at <= (step.until or step.at)), None)
    is_by_taint = wave is not None and wave.tolerated_seconds is not None
    return f", of which {long_span(waits)} {'was configured waiting time' if is_by_taint else 'passed before it left'}"


def story_of(outage: ClusterOutage, now: datetime, settings: SettingsInForce) -> list[StoryLine]:
    """All lines in their order: what has happened, the line of now while it lasts, and what is to come."""
    lines = [line for step in outage.status.steps for line in _told(outage, step)]
    lines.sort(key=lambda line: line.at or now)
    if is_running(outage):
        lines += [_line(outage, now, Tone.PLAIN, "now"), *_to_come(outage, now, settings)]
    return lines


def _line(outage: ClusterOutage, at: datetime, tone: Tone, sentence: str) -> StoryLine:
    return StoryLine(at, int((at - outage.spec.since).total_seconds()), tone, sentence)


def _told(outage: ClusterOutage, step: OutageStep) -> Iterator[StoryLine]:
    if step.kind is StepKind.LEFT:
        yield from _wave(outage, step)
        return
    tone, sentence = SENTENCES[step.kind]
    if step.kind is StepKind.FAILED_PROBE and step.reason == AGENT_SILENT:
        sentence = "last report of the agent"
    said = sentence.format(
        cluster=outage.spec.cluster,
        applications=_applications(step.applications),
        evictions=counted(step.applications, "eviction"),
        who=_who(outage, step),
        stay="stays" if step.applications == 1 else "stay",
        reason=step.reason.removeprefix(_TAINT_PREFIX),
        message=step.message,
    )
    yield _line(outage, step.at, tone, said)


def _wave(outage: ClusterOutage, step: OutageStep) -> Iterator[StoryLine]:
    """Lines of a wave: when they left; and how many are healthy, since when, where that is known."""
    tolerated = step.tolerated_seconds
    why = f", after a toleration of {long_span(tolerated)}" if tolerated else ""
    to = f" for {' and '.join(step.to)}" if step.to else ""
    leave = "leaves" if step.applications == 1 else "leave"
    yield _line(outage, step.at, Tone.LEAVES, f"{_leaving(outage, step)} {leave}{to}{why}")
    if not step.healthy:
        return
    if step.healthy >= step.applications:
        all_of = _leaving(outage, step)
        said = f"{all_of} is healthy" if step.applications == 1 else f"all {all_of} are healthy"
    else:
        said = f"{step.healthy} of {_applications(step.applications)} {'is' if step.healthy == 1 else 'are'} healthy"
    at = step.healthy_at
    yield StoryLine(None, None, Tone.GOOD, said) if at is None else _line(outage, at, Tone.GOOD, said)


def _leaving(outage: ClusterOutage, step: OutageStep) -> str:
    until = step.until or step.at
    there = [each for each in outage.status.listed if each.left_at is not None and step.at <= each.left_at <= until]
    return name_of(there[0]) if step.applications == len(there) == 1 else _applications(step.applications)


def _who(outage: ClusterOutage, step: OutageStep) -> str:
    """Name of it where it is one that is told of by this very step; who has that reason by now may be another."""
    named = [each for each in outage.status.listed if each.told.get(step.reason) == step.at]
    return name_of(named[0]) if step.applications == len(named) == 1 else _applications(step.applications)


def _applications(number: int) -> str:
    return counted(number, "application")


def name_of(application: OutageApplication) -> str:
    """`payments/ledger`"""
    return "/".join(filter(None, (application.namespace, application.name)))


def _to_come(outage: ClusterOutage, now: datetime, settings: SettingsInForce) -> Iterator[StoryLine]:
    """The taint, who leaves when, and the return."""
    taint = taint_to_come(outage, now, settings)
    no_execute_at = outage.status.no_execute_at if taint is None else taint.at
    if taint is not None:
        yield taint
    listed = [each for each in outage.status.listed if each.state is MoveState.DUE]
    instants = [(_leaves_at(each, no_execute_at), each.reason == Outcome.HELD) for each in listed]
    due = Counter((at, is_held) for at, is_held in instants if at is not None and at > now)
    for at, is_held in sorted(due):
        number = due[at, is_held]
        verbs = ("is due to leave, but cannot", "are due to leave, but cannot") if is_held else ("leaves", "leave")
        yield _line(outage, at, Tone.TO_COME, f"{_applications(number)} {verbs[number > 1]}")
    if (returning := return_to_come(outage)) is not None:
        yield returning


def taint_to_come(outage: ClusterOutage, now: datetime, settings: SettingsInForce) -> StoryLine | None:
    """Line that tells when the cluster gets NoExecute, by the default of flags that nobody tells; None where it has it,
    or never."""
    status, by_default = outage.status, "" if settings.told else " (by the default of the flags)"
    if status.no_execute_at is not None or status.not_ready_at is None or not settings.no_execute or status.braked:
        return None
    at = max(status.not_ready_at + timedelta(seconds=settings.failover_eviction_timeout), now)
    said = f"{outage.spec.cluster} gets the taint NoExecute, unless it is back by then{by_default}"
    return _line(outage, at, Tone.TO_COME, said)


def return_to_come(outage: ClusterOutage) -> StoryLine | None:
    """Line that tells the effects of the cluster's return, which has no instant; None where nothing has moved since
    it was last cleaned up."""
    moved = _moved_since_cleaned(outage)
    if not moved:
        return None
    what = f"the old copies of {_applications(moved)} are deleted there"
    return StoryLine(None, None, Tone.TO_COME, f"when {outage.spec.cluster} returns, {what}")


def _moved_since_cleaned(outage: ClusterOutage) -> int:
    """Number of those that have moved since, by the waves in which they left: not all applications are listed."""
    status, before = outage.status, outage.status.last_cleaned_at
    if before is None:
        return status.moved
    waves = (step for step in status.steps if step.kind is StepKind.LEFT and (step.until or step.at) > before)
    return min(status.moved, sum(wave.healthy for wave in waves))


def _leaves_at(application: OutageApplication, no_execute_at: datetime | None) -> datetime | None:
    if application.due_at is not None:
        return application.due_at
    tolerated = application.tolerated_seconds
    return None if no_execute_at is None or tolerated is None else no_execute_at + timedelta(seconds=tolerated)
