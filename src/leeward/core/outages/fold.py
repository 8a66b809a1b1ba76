"""A record of an outage and what is observed make the next record. What has been told of already changes nothing.

In this order: what has become of the cluster, then of each application that was looked at, then of the outage itself.
The instant of a step is that of what is observed (a condition, a taint, an eviction task); that a replacement is
healthy has no instant of its own, and counts from when it is seen.
"""

from dataclasses import replace
from datetime import datetime

import msgspec

from kubeapi.meta import wire_time
from leeward.api.cluster import Cluster
from leeward.api.outage import RUNNING, MoveState, OutageApplication, OutagePhase, OutageStatus, OutageStep, StepKind
from leeward.core.cluster_health.brake import looks_dead
from leeward.core.cluster_health.condition_taints import CONDITION_TAINTS, NO_EXECUTE, key_of
from leeward.core.cluster_health.outage import not_seen_since
from leeward.core.outages.applications import with_applications
from leeward.core.outages.observation import OutageObservation
from leeward.core.outages.outage_steps import with_step, with_steps
from leeward.core.outages.record import OutageRecord, is_lost, point_of, with_point
from leeward.core.outages.recovery import duration


def fold(record: OutageRecord, seen: OutageObservation) -> OutageRecord:
    """The next record. It is the same one where nothing is new."""
    if seen.cluster is None:
        return _unjoined(record, seen.now)
    record = replace(record, status=_of_cluster(record.status, seen.cluster, seen))
    record = with_applications(record, seen.cluster, seen)
    record = _named(record, is_whole=seen.is_whole)
    record = replace(record, status=_of_outage(record, seen.cluster, seen.now))
    return replace(record, status=with_point(record.status, point_of(record, seen.now)))


def newly_recovered(before: OutageRecord, after: OutageRecord) -> list[OutageApplication]:
    """Applications whose recovery the second record tells and the first one does not."""
    return [
        application
        for key, application in after.applications.items()
        if application.recovery_seconds is not None
        and application.healthy_at != (before.applications[key].healthy_at if key in before.applications else None)
    ]


def _unjoined(record: OutageRecord, now: datetime) -> OutageRecord:
    status = record.status
    if status.phase is not OutagePhase.OVER:
        status = with_step(status, now, StepKind.UNJOINED)
        if status.phase is OutagePhase.RUNNING:
            status = msgspec.structs.replace(status, lasted=duration((now - record.spec.since).total_seconds()))
        status = msgspec.structs.replace(status, phase=OutagePhase.OVER)
    return replace(record, status=status)


def _of_cluster(status: OutageStatus, cluster: Cluster, seen: OutageObservation) -> OutageStatus:
    """First failure, Ready, NoExecute, and the brake."""
    if not is_lost(cluster):
        return _with_brake(status, cluster, seen) if status.braked else status
    ready, failed_at = cluster.ready, wire_time(not_seen_since(cluster) or seen.now)
    assert ready is not None, "a cluster that is lost has the condition"
    is_again = status.phase is not OutagePhase.RUNNING
    if is_again:
        failed_at = max(failed_at, status.failed_at or failed_at)
        status = msgspec.structs.replace(
            status,
            phase=OutagePhase.RUNNING,
            lasted=RUNNING,
            failed_at=failed_at,
            returned_at=None,
            cleaned_at=None,
            no_execute_at=None,
            failures=status.failures + 1,
        )
        status = with_step(status, failed_at, StepKind.FAILED_AGAIN, ready.reason, ready.message)
    if status.not_ready_at is None or is_again:
        at = wire_time(ready.last_transition_time or seen.now)
        if not is_again:
            status = with_step(status, failed_at, StepKind.FAILED_PROBE, ready.reason, ready.message)
        status = with_step(status, at, StepKind.NOT_READY, f"Ready={ready.status}", ready.message)
        status = msgspec.structs.replace(status, not_ready_at=at, reason=ready.reason, message=ready.message)
    return _with_brake(_with_no_execute(status, cluster, seen.now), cluster, seen)


def _with_no_execute(status: OutageStatus, cluster: Cluster, now: datetime) -> OutageStatus:
    taints = [taint for taint in cluster.taints if taint.effect == NO_EXECUTE and key_of(taint) in CONDITION_TAINTS]
    if not taints or status.no_execute_at is not None:
        return status
    at = wire_time(taints[0].time_added or now)
    return msgspec.structs.replace(with_step(status, at, StepKind.NO_EXECUTE, str(taints[0])), no_execute_at=at)


def _with_brake(status: OutageStatus, cluster: Cluster, seen: OutageObservation) -> OutageStatus:
    braked = seen.braked and looks_dead(cluster)
    if braked == status.braked:
        return status
    kind = StepKind.BRAKE_ENGAGED if braked else StepKind.BRAKE_RELEASED
    return msgspec.structs.replace(with_step(status, seen.now, kind), braked=braked)


def _named(record: OutageRecord, *, is_whole: bool) -> OutageRecord:
    """Notes, after all bindings were looked at, that what was counted, and nobody knows by name any more, has moved."""
    if not is_whole or record.expected is None:
        return record
    return replace(record, unnamed=max(0, record.expected - len(record.applications)), expected=None)


def _of_outage(record: OutageRecord, cluster: Cluster, now: datetime) -> OutageStatus:
    """Follows its return, and its end."""
    status = record.status
    if status.phase is OutagePhase.RUNNING and cluster.is_ready:
        ready = cluster.ready
        at = wire_time((ready.last_transition_time if ready is not None else None) or now)
        at = max(at, status.failed_at or at)
        lasted = duration((at - record.spec.since).total_seconds())
        status = with_step(status, at, StepKind.RETURNED)
        status = msgspec.structs.replace(status, phase=OutagePhase.RETURNED, returned_at=at, lasted=lasted)
    is_moving = any(each.state is MoveState.MOVING for each in record.applications.values())
    if status.phase is not OutagePhase.RETURNED or is_moving or record.behind or record.expected is not None:
        return status
    moved = _moved_since_cleaned(record)
    if moved:
        before, at = status.last_cleaned_at, record.cleaned_at
        at = at if at is not None and (before is None or at > before) else wire_time(now)
        cleaned = OutageStep(at=at, kind=StepKind.CLEANED, applications=moved)
        status = msgspec.structs.replace(with_steps(status, (cleaned,)), cleaned_at=at)
    return msgspec.structs.replace(status, phase=OutagePhase.OVER)


def _moved_since_cleaned(record: OutageRecord) -> int:
    """Number of applications whose old copies were there until now: of those that moved in an earlier failure they are
    gone. When those moved that nobody knows by name is not known: they are told of once."""
    moved = [each for each in record.applications.values() if each.state is MoveState.MOVED]
    before = record.status.last_cleaned_at
    if before is None:
        return len(moved) + record.unnamed
    return sum(each.left_at is not None and each.left_at > before for each in moved)
