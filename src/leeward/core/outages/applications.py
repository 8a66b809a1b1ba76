"""Applications of an outage after a look at some of them: each one's next state, and what is counted of them all."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

import msgspec

from kubeapi.meta import wire_time
from leeward.api.cluster import Cluster
from leeward.api.outage import MoveState, OutageApplication, OutageStatus
from leeward.core.eviction.held_reasons import HeldReason
from leeward.core.outages.observation import OutageObservation
from leeward.core.outages.outage_steps import (
    MESSAGE_LENGTH,
    MOST_PLACES,
    ApplicationChange,
    as_told,
    with_told,
    with_waves,
)
from leeward.core.outages.record import OutageRecord
from leeward.core.outages.recovery import with_recovery
from leeward.core.outages.sight import ApplicationKey, ClusterSight, CopySight, decide_state

LEFT = (MoveState.MOVING, MoveState.MOVED)


def with_applications(record: OutageRecord, cluster: Cluster, seen: OutageObservation) -> OutageRecord:
    record = _without_those_gone(record, seen.applications)
    applications, before, behind = dict(record.applications), dict(record.before), set(record.behind)
    uids = dict(record.uids)
    there = ClusterSight(cluster, seen.now, record.status.braked, seen.evicts)
    changes = dict[ApplicationKey, ApplicationChange]()
    for key, sight in seen.applications.items():
        behind.discard(key)
        if sight is None:
            continue
        uids[key] = sight.uid
        known = applications.get(key)
        if known is None and not (sight.is_here or sight.task is not None):
            continue
        before.setdefault(key, sight.targets)
        after = next_application(known, sight, there, before[key], record.status)
        if sight.is_behind and (after.state in LEFT or (sight.task is not None and after.state is MoveState.HELD)):
            behind.add(key)
        changes[key] = ApplicationChange(known, after, sight)
    status = _with_changes(record.status, [*changes.values()], seen.now)
    applications |= {key: as_told(change, status, seen.now) for key, change in changes.items()}
    cleaned_at = wire_time(seen.now) if record.behind and not behind else record.cleaned_at
    return replace(
        record,
        status=status,
        applications=applications,
        before=before,
        uids=uids,
        behind=frozenset(behind),
        cleaned_at=cleaned_at,
    )


def _with_changes(status: OutageStatus, changes: Sequence[ApplicationChange], now: datetime) -> OutageStatus:
    """The status with the recovery times and the steps that tell of the changes."""
    for change in changes:
        if change.has_recovered and change.after.recovery_seconds is not None:
            recovery = with_recovery(status.recovery, change.after.recovery_seconds)
            status = msgspec.structs.replace(status, recovery=recovery)
    return with_told(with_waves(status, changes), changes, now)


def _without_those_gone(record: OutageRecord, seen: Mapping[ApplicationKey, CopySight | None]) -> OutageRecord:
    """The record without what was deleted, and without what another one has the name of: they have not moved."""
    known, uids, since = record.applications, record.uids, record.spec.since
    gone = {
        key for key, sight in seen.items() if sight is None or _is_another(known.get(key), uids.get(key), sight, since)
    }
    if not gone:
        return record
    expected = record.expected
    return replace(
        record,
        applications={key: each for key, each in known.items() if key not in gone},
        before={key: each for key, each in record.before.items() if key not in gone},
        uids={key: each for key, each in uids.items() if key not in gone},
        expected=None if expected is None else expected - len(gone & known.keys()),
    )


def _is_another(known: OutageApplication | None, uid: str | None, sight: CopySight, since: datetime) -> bool:
    """Tells whether it only has the name of what was known: by the uid, and where this process has not seen that, by
    its binding. This is younger than what has left, or not here and younger than the outage, which began `since`."""
    if uid is not None:
        return uid != sight.uid
    if known is None or sight.made_at is None:
        return False
    if known.left_at is not None:
        return sight.made_at > known.left_at
    return sight.task is None and not sight.is_here and sight.made_at > since


def next_application(
    known: OutageApplication | None,
    sight: CopySight,
    there: ClusterSight,
    targets: Mapping[str, int],
    status: OutageStatus,
) -> OutageApplication:
    """State of one application after a look at it."""
    name, now = there.cluster.name, wire_time(there.now)
    if known is None:
        replicas = targets.get(name) or (sight.task.replicas or 0 if sight.task is not None else 0)
        known = OutageApplication(
            kind=sight.kind,
            name=sight.name,
            namespace=sight.namespace,
            state=MoveState.DUE,
            replicas=replicas,
            tolerated_seconds=sight.tolerated_seconds,
        )
    failed_at = status.failed_at or now
    if known.left_at is not None and known.left_at < failed_at and sight.is_here and not there.cluster.is_ready:
        known = msgspec.structs.replace(known, left_at=None, healthy_at=None, recovery_seconds=None, to={})
    state, reason, message = decide_state(sight, known.state, there)
    stayed = known.state in (MoveState.HELD, MoveState.KEPT, MoveState.RETURNED)
    if stayed and reason == HeldReason.NOT_CONFIRMED:
        state, reason, message = known.state, known.reason, known.message
    elif stayed and state is MoveState.RETURNED:
        reason, message = known.reason, known.message
    changes: dict[str, object] = {"state": state, "reason": reason, "message": message[:MESSAGE_LENGTH]}
    changes["due_at"] = sight.due_at if state in (MoveState.DUE, MoveState.HELD) and sight.is_here else None
    if sight.has_left and known.left_at is None:
        changes["left_at"] = _left_at(sight, failed_at, now)
    if sight.has_left:
        gained = {each: n - targets.get(each, 0) for each, n in sight.targets.items() if each != name}
        new = {each: n for each, n in gained.items() if n > 0 or each not in targets}
        changes["to"] = dict(sorted(new.items())[:MOST_PLACES]) or known.to
    if state is MoveState.MOVED and known.healthy_at is None:
        changes |= {"healthy_at": now, "recovery_seconds": max(0, int((now - failed_at).total_seconds()))}
    return msgspec.structs.replace(known, **changes)


def _left_at(sight: CopySight, failed_at: datetime, now: datetime) -> datetime:
    """Instant at which it left. Where no task tells it, an earlier scheduling is not taken for the departure."""
    begun = sight.left_at
    is_told = begun is not None and (sight.task is not None or failed_at <= begun <= now)
    return wire_time(begun) if begun is not None and is_told else now
