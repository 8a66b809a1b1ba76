"""Is a Pull cluster's agent still heard of? If not, nobody knows how the cluster is: `Ready=Unknown`.

Judged by when a sign of life was *received here* (a status change, a lease renewal), never by the clock in it.

Karmada: pkg/controllers/cluster (monitorClusterHealth); same, but there a lease that was seen long ago counts as seen
anew after each change of the status.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from leeward.api.cluster import Cluster
from leeward.api.meta import Condition
from leeward.core.failover.health import READY


@dataclass(frozen=True, slots=True)
class Patience:
    """How long silence is borne, in seconds; `startup_seconds` for a cluster that never reported."""

    grace_seconds: float
    startup_seconds: float


@dataclass(frozen=True, slots=True)
class Liveness:
    """`condition` is to be written (None: leave it); look again at `wake_at`."""

    condition: Condition | None
    wake_at: datetime | None


def decide_liveness(cluster: Cluster, last_seen: datetime, now: datetime, patience: Patience) -> Liveness:
    """Push clusters are probed and therefore never judged here."""
    if cluster.spec.sync_mode != "Pull":
        return Liveness(None, None)
    ready = cluster.ready
    seconds = patience.grace_seconds if ready is not None else patience.startup_seconds
    silent_from = last_seen + timedelta(seconds=seconds)
    if now <= silent_from:
        return Liveness(None, silent_from + timedelta(microseconds=1))
    if ready is not None and ready.status == "Unknown":
        return Liveness(None, None)
    if ready is None:
        return Liveness(_unknown("ClusterStatusNeverUpdated", "never posted"), None)
    return Liveness(_unknown("ClusterStatusUnknown", "stopped posting"), None)


def last_seen_before(received: datetime, started: datetime, patience: Patience) -> datetime:
    """When a sign of life was received last, as a control plane judges it that has `started` since.

    What it received by the API server's clock counts on, so that no clock starts anew; but it listens for half its
    patience before it believes in silence, since it may have been the one who was away.
    """
    return max(received, started - timedelta(seconds=patience.grace_seconds / 2))


def _unknown(reason: str, what: str) -> Condition:
    message = f"Cluster status controller {what} cluster status."
    return Condition(type=READY, status="Unknown", reason=reason, message=message)
