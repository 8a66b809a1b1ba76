"""Monitor grace period of a Pull cluster: an agent that is silent for longer leaves it `Ready=Unknown`.

Judged by when a sign of life was *received here* (a status change, a lease renewal), never by the clock in it. An agent
that is late, but not yet so late, is *overdue*: a doubt (`pending_condition.py`), which the brake counts.

Karmada: pkg/controllers/cluster (monitorClusterHealth); same, but there a lease that was seen long ago counts as seen
anew after each change of the status.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

import msgspec

from kubeapi.diff import is_equal
from leeward.api.cluster import Cluster, ClusterStatus
from leeward.api.meta import Condition, find_condition, set_condition
from leeward.api.names import FAILING_CONDITION, LOSS_COVERED_CONDITION, TAINTED_CONDITION, TAINTS_REMOVED_CONDITION
from leeward.core.cluster_health.pending_condition import is_overdue, overdue_doubt, with_doubt
from leeward.core.cluster_health.ready_condition import READY

OVERDUE_SHARE = 0.625
"""The part of the grace period after which an agent is overdue: two renewals late, with Karmada's intervals."""


_WRITTEN_HERE = frozenset((FAILING_CONDITION, LOSS_COVERED_CONDITION, TAINTED_CONDITION, TAINTS_REMOVED_CONDITION))
"""Conditions that the control plane writes: no sign of life."""


@dataclass(frozen=True, slots=True)
class MonitorGracePeriods:
    """Seconds of silence that are borne; `startup_seconds` for a cluster that never reported."""

    grace_seconds: float
    startup_seconds: float


@dataclass(frozen=True, slots=True)
class ObservedReady:
    """`condition` is to be written (None: leave it); look again at `wake_at`."""

    condition: Condition | None
    wake_at: datetime | None


@dataclass(frozen=True, slots=True)
class ObservedConditions:
    """Conditions that the Cluster is to have; look again at `wake_at`."""

    conditions: tuple[Condition, ...]
    wake_at: datetime | None


def decide_observed_ready(
    cluster: Cluster, last_seen: datetime, now: datetime, periods: MonitorGracePeriods
) -> ObservedReady:
    """Push clusters are probed and therefore never judged here."""
    if cluster.spec.sync_mode != "Pull":
        return ObservedReady(None, None)
    ready = cluster.ready
    seconds = periods.grace_seconds if ready is not None else periods.startup_seconds
    silent_from = last_seen + timedelta(seconds=seconds)
    if now <= silent_from:
        return ObservedReady(None, silent_from + timedelta(microseconds=1))
    if ready is not None and ready.status == "Unknown":
        return ObservedReady(None, None)
    if ready is None:
        return ObservedReady(_unknown("ClusterStatusNeverUpdated", "never posted"), None)
    return ObservedReady(_unknown("ClusterStatusUnknown", "stopped posting"), None)


def decide_observed_conditions(
    cluster: Cluster, last_seen: datetime, started: datetime, now: datetime, periods: MonitorGracePeriods
) -> ObservedConditions:
    """Decides the conditions of a silent cluster, for a control plane that listens since `started`."""
    conditions = cluster.status.conditions
    observed = decide_observed_ready(cluster, last_seen, now, periods)
    if observed.condition is not None:
        settled = with_doubt(conditions, None, now)
        return ObservedConditions(set_condition(settled, observed.condition, now), None)
    without = with_doubt(conditions, None, now) if is_overdue(cluster) else conditions
    if observed.wake_at is None or not cluster.is_ready or find_condition(without, FAILING_CONDITION) is not None:
        return ObservedConditions(without, observed.wake_at)
    overdue_at = _overdue_at(last_seen, started, periods)
    if now > overdue_at:
        return ObservedConditions(with_doubt(conditions, overdue_doubt(overdue_at), now), observed.wake_at)
    return ObservedConditions(without, min(observed.wake_at, overdue_at + timedelta(microseconds=1)))


def _overdue_at(last_seen: datetime, started: datetime, periods: MonitorGracePeriods) -> datetime:
    """The instant at which silence counts: a process that has just started listens until all agents could be heard."""
    seconds = periods.grace_seconds
    heard = started + timedelta(seconds=seconds * (1 - OVERDUE_SHARE))
    return max(last_seen + timedelta(seconds=seconds * OVERDUE_SHARE), heard)


def is_agent_report(before: ClusterStatus, after: ClusterStatus) -> bool:
    """Tells whether a change of the status comes from the agent: silence is written here."""
    ready = find_condition(after.conditions, READY)
    return not is_equal(_reported(before), _reported(after)) and ready is not None and ready.status != "Unknown"


def _reported(status: ClusterStatus) -> ClusterStatus:
    """The status without the control plane's own conditions."""
    return msgspec.structs.replace(
        status, conditions=tuple(c for c in status.conditions if c.type not in _WRITTEN_HERE)
    )


def last_seen_before(received: datetime, started: datetime, periods: MonitorGracePeriods) -> datetime:
    """Instant of the last sign of life, as a control plane judges it that has `started` since.

    Renewals that it received by the API server's clock count on, so that no clock starts anew. But it listens for half
    its grace period before it believes in silence, since it may have been away itself.
    """
    return max(received, started - timedelta(seconds=periods.grace_seconds / 2))


def _unknown(reason: str, what: str) -> Condition:
    message = f"Cluster status controller {what} cluster status."
    return Condition(type=READY, status="Unknown", reason=reason, message=message)
