"""Last sign of life of each agent: a renewal of its Lease, or a status that it wrote, as received here.

What was received before this start is known from the Leases, by the clock of the API server; so a restart restarts no
clock. From then on seconds are counted, so that silence is as long as it is, whatever becomes of the wall clock. Those
in which this process stood still are no silence (S13). Judges nothing.
"""

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta

from kubeapi.core import LEASES, Lease
from kubeapi.meta import Manifest, parse_time
from kubeapi.resource import Resource
from leeward.api.cluster import Cluster
from leeward.api.names import CLUSTER_NAMESPACE
from leeward.api.resource import CLUSTERS
from leeward.core.cluster_health.monitor_grace_period import MonitorGracePeriods, is_agent_report, last_seen_before
from leeward.runtime.controller_context import ControlPlane

LEASE_MANIFESTS = Resource.of_manifests("coordination.k8s.io/v1", "leases", "Lease", True)
"""Leases with all that the API server notes of them."""


class LeaseTracker:
    """Instants are kept as seconds of the monotonic clock, and told by the wall clock as it goes now."""

    def __init__(self, plane: ControlPlane, periods: MonitorGracePeriods) -> None:
        self._plane = plane
        self._started = plane.clock.monotonic()
        self._periods = periods
        self._leases = plane.informers.of(LEASES, CLUSTER_NAMESPACE)
        self._last_seen: dict[str, float] = {}
        self._received: dict[str, datetime] | None = None

    @property
    def started(self) -> datetime:
        """Instant since which this control plane listens."""
        return self._instant(self._started)

    def start(self, heard: Callable[[str], None]) -> None:
        """`heard` is told the names of clusters whose Lease is renewed."""

        def lease_changed(old: Lease | None, new: Lease | None) -> None:
            """Takes in a renewal; what is there already when we start was received by someone before us."""
            if new is None or (old is not None and old.spec.renew_time == new.spec.renew_time):
                return
            if old is not None or self._received is not None:
                self._last_seen[new.name] = self._plane.clock.monotonic()
            heard(new.name)

        self.listens_anew()
        self._plane.informers.of(CLUSTERS).on_change(self._cluster_changed)
        self._leases.on_change(lease_changed)

    async def recall(self) -> None:
        """Reads once when the API server received each lease last, from before this start. Raises: WorldError."""
        if self._received is None:
            await self._leases.wait_synced()
            leases = (await self._plane.client.list(LEASE_MANIFESTS, CLUSTER_NAMESPACE)).items
            received = ((lease["metadata"]["name"], received_at(lease)) for lease in leases)
            self._received = {name: at for name, at in received if at is not None}

    async def ask(self, name: str) -> None:
        """Takes in a renewal that the watch has not told: our trouble is nobody's silence (S13). Raises: WorldError."""
        lease = await self._plane.client.find(LEASES, name, CLUSTER_NAMESPACE)
        if lease is not None:
            self._leases.remember(lease)

    def listens_anew(self) -> None:
        """Begins to listen anew after this process was away, or stood by, for a while before it believes in silence."""
        self._started = self._plane.clock.monotonic()

    def last_seen(self, name: str) -> datetime:
        """Instant at which the cluster was last heard of; now, for one that never was."""
        if name not in self._last_seen:
            self._last_seen[name] = self._recalled(name)
        seconds = max(self._last_seen[name], self._started - self._periods.grace_seconds / 2)
        return self._instant(seconds + self._plane.lag.since(seconds))

    def _recalled(self, name: str) -> float:
        received, clock = (self._received or {}).get(name), self._plane.clock
        if received is None:
            return clock.monotonic()
        silent = clock.now() - last_seen_before(received, self.started, self._periods)
        return clock.monotonic() - max(0.0, silent.total_seconds())

    def _instant(self, seconds: float) -> datetime:
        clock = self._plane.clock
        return clock.now() - timedelta(seconds=clock.monotonic() - seconds)

    def _cluster_changed(self, old: Cluster | None, new: Cluster | None) -> None:
        if old is not None and new is None:
            self._last_seen.pop(old.name, None)
            (self._received or {}).pop(old.name, None)
        if old is not None and new is not None and is_agent_report(old.status, new.status):
            self._last_seen[new.name] = self._plane.clock.monotonic()


def received_at(lease: Manifest) -> datetime | None:
    """Date by the clock of the API server, which dates each manager's last change of a field.

    An agent may write these dates into its own Lease. One that cannot be read is none, and no trouble for others.
    """
    entries: list[Manifest] = lease["metadata"].get("managedFields") or []
    dates: list[datetime] = []
    for entry in entries:
        with suppress(ValueError):
            dates.append(parse_time(str(entry.get("time") or "")))
    return max(dates, default=None)
