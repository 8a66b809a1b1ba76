"""API servers of Push members for gates: a connection of their own, for whichever process has the binding.

Made when the first gate names an object there, and made anew when the Cluster's endpoint or credential changes.
"""

from functools import partial
from typing import NamedTuple

from kubeapi.core import SECRETS
from kubeclient import Unreachable
from leeward.api.names import CLUSTER_NAMESPACE
from leeward.api.resource import CLUSTERS
from leeward.controllers.gates import GatePlace
from leeward.manager.push import Connect, connection_of, identified
from leeward.runtime.controller_context import ControlPlane
from leeward.runtime.discovery import Discovery
from leeward.runtime.hub_fence import HubFence


class _Reached(NamedTuple):
    made_of: tuple[object, ...]
    place: GatePlace


class PushPlaces:
    """Bounded by the number of clusters."""

    def __init__(self, plane: ControlPlane, connect: Connect) -> None:
        self._plane, self._connect = plane, connect
        self._clusters = plane.informers.of(CLUSTERS)
        self._reached: dict[str, _Reached] = {}

    async def of(self, cluster: str) -> GatePlace:
        """Raises: WorldError."""
        found = self._clusters.get(cluster)
        if found is None:
            await self._forget(cluster)
            raise Unreachable(f"there is no cluster {cluster}")
        reference, secret = found.spec.secret_ref, None
        if reference is not None:
            secret = await self._plane.client.find(SECRETS, reference.name, reference.namespace or CLUSTER_NAMESPACE)
        made_of = (connection_of(found), dict(secret.data) if secret is not None else None)
        reached = self._reached.get(cluster)
        if reached is None or reached.made_of != made_of:
            await self._forget(cluster)
            fence = HubFence(self._plane.server.identity)
            client = self._connect(found, secret).behind(partial(identified, self._plane, cluster, fence))
            reached = self._reached[cluster] = _Reached(made_of, GatePlace(client, Discovery(client)))
        return reached.place

    async def close(self) -> None:
        for cluster in list(self._reached):
            await self._forget(cluster)

    async def _forget(self, cluster: str) -> None:
        reached = self._reached.pop(cluster, None)
        if reached is not None:
            await reached.place.client.close()
