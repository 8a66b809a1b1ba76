"""When each agent was heard of last: a renewal of its Lease, or a status that it wrote, as received here.

What was received before this start is known from the Leases, by the clock of the API server; so a restart restarts no
clock. Judges nothing.
"""

from collections.abc import Callable, Mapping
from datetime import datetime

from leeward.api.cluster import Cluster
from leeward.api.core import Lease
from leeward.api.meta import Manifest, parse_time
from leeward.api.names import CLUSTER_NAMESPACE
from leeward.api.resource import CLUSTERS, LEASES, Resource
from leeward.core.failover.liveness import Patience, is_sign_of_life, last_seen_before
from leeward.runtime.plane import ControlPlane

LEASE_MANIFESTS = Resource.of_manifests("coordination.k8s.io/v1", "leases", "Lease", True)
"""With all that the API server notes of them."""


class SignsOfLife:
    """`started` is since when this control plane listens."""

    def __init__(self, plane: ControlPlane, patience: Patience) -> None:
        self.started = plane.clock.now()
        self._plane = plane
        self._patience = patience
        self._leases = plane.informers.of(LEASES, CLUSTER_NAMESPACE)
        self._last_seen: dict[str, datetime] = {}
        self._received: Mapping[str, datetime] | None = None

    def start(self, heard: Callable[[str], None]) -> None:
        """`heard` is told the names of clusters whose Lease is renewed."""

        def lease_changed(old: Lease | None, new: Lease | None) -> None:
            """What is there already when we start was received by someone before us."""
            if new is None or (old is not None and old.spec.renew_time == new.spec.renew_time):
                return
            if old is not None or self._received is not None:
                self._last_seen[new.name] = self._plane.clock.now()
            heard(new.name)

        self._plane.informers.of(CLUSTERS).on_change(self._cluster_changed)
        self._leases.on_change(lease_changed)

    async def recall(self) -> None:
        """Once: when the API server received each lease last, from before this start. Raises: WorldError."""
        if self._received is None:
            await self._leases.wait_synced()
            leases = (await self._plane.client.list(LEASE_MANIFESTS, CLUSTER_NAMESPACE)).items
            received = ((lease["metadata"]["name"], _received_at(lease)) for lease in leases)
            self._received = {name: at for name, at in received if at is not None}

    def last_seen(self, name: str) -> datetime:
        """Now, for a cluster that has never been heard of."""
        if name not in self._last_seen:
            received = (self._received or {}).get(name)
            now = self._plane.clock.now()
            self._last_seen[name] = last_seen_before(received, self.started, self._patience) if received else now
        return self._last_seen[name]

    def _cluster_changed(self, old: Cluster | None, new: Cluster | None) -> None:
        if old is not None and new is None:
            self._last_seen.pop(old.name, None)
        if old is not None and new is not None and is_sign_of_life(old.status, new.status):
            self._last_seen[new.name] = self._plane.clock.now()


def _received_at(lease: Manifest) -> datetime | None:
    """By the clock of the API server, which dates each manager's last change of a field."""
    entries: list[Manifest] = lease["metadata"].get("managedFields") or []
    return max((parse_time(entry["time"]) for entry in entries if entry.get("time")), default=None)
