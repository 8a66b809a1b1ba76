"""Confirmation of outages: a cluster that looks dead counts as lost once this process has found it so itself.

    a Push cluster that this process probes    a probe has failed since the present heartbeat began
    a Pull cluster, or one that another        this process has listened for half of the monitor grace period, and the
    process probes                             cluster still looks dead

Nothing automatic evicts before that. Holds: S13.
"""

from collections.abc import Callable
from datetime import datetime, timedelta

from leeward.api.cluster import Cluster
from leeward.api.names import OUTAGE_CONFIRMED_ANNOTATION
from leeward.core.cluster_health.brake import looks_dead
from leeward.core.cluster_health.monitor_grace_period import MonitorGracePeriods
from leeward.core.cluster_health.pending_condition import is_recovering
from leeward.core.cluster_health.ready_condition import unobserved
from leeward.core.cluster_health.watched_time import Attention
from leeward.runtime.controller_context import ControlPlane
from leeward.runtime.heartbeat import HeartbeatView

_LEAST_STEP = timedelta(microseconds=1)
"""Least difference between two datetimes: what is left may be less, and then is not now."""


class OutageConfirmation:
    def __init__(
        self, plane: ControlPlane, heartbeat: HeartbeatView, periods: MonitorGracePeriods, *, probes: bool
    ) -> None:
        """`probes`: this process probes the Push clusters."""
        self._plane = plane
        self._heartbeat = heartbeat
        self._periods = periods
        self._probes = probes

    def start(self, changed: Callable[[str], None]) -> None:
        """`changed` is told the names of clusters that a probe has found failing."""
        self._plane.failed_probes.on_failure(changed)

    def is_confirmed(self, cluster: Cluster, attention: Attention) -> bool:
        """Tells whether the outage counts now, so that NoExecute may follow from it."""
        if not attention.is_kept:
            return True
        if not attention.is_now or not looks_dead(cluster) or is_recovering(cluster) or unobserved(cluster):
            return False
        return is_marked(cluster, attention) or self._is_seen(cluster)

    def look_at(self, cluster: Cluster) -> datetime | None:
        """Instant at which a cluster that is not confirmed yet has been listened to for long enough; None where a probe
        tells."""
        if self._is_probed(cluster) or not looks_dead(cluster) or is_marked(cluster, self._heartbeat.attention()):
            return None
        clock = self._plane.clock
        left = self._listened_at() - clock.monotonic()
        return clock.now() + timedelta(seconds=left) + _LEAST_STEP if left > 0 else None

    def _is_seen(self, cluster: Cluster) -> bool:
        began = self._heartbeat.began
        if self._is_probed(cluster):
            return self._plane.failed_probes.failed_since(cluster.name, began)
        return self._plane.clock.monotonic() >= self._listened_at()

    def _listened_at(self) -> float:
        """Monotonic time at which we have listened for long enough: not while we stood still."""
        began = self._heartbeat.began
        return began + self._plane.lag.since(began) + self._periods.grace_seconds / 2

    def _is_probed(self, cluster: Cluster) -> bool:
        return self._probes and cluster.spec.sync_mode == "Push"


def is_marked(cluster: Cluster, attention: Attention) -> bool:
    """Tells whether the Cluster says that it was confirmed under this heartbeat."""
    return cluster.metadata.annotations.get(OUTAGE_CONFIRMED_ANNOTATION) == attention.heartbeat
