"""The agent's heartbeat: renews the Lease `karmada-cluster/<cluster>`.

Karmada: pkg/controllers/status (initLeaseController); same.
"""

import asyncio
import logging

from leeward.api.cluster import Cluster
from leeward.api.core import Lease, LeaseSpec
from leeward.api.meta import ObjectMeta, OwnerReference, format_micro_time
from leeward.api.names import CLUSTER_NAMESPACE
from leeward.api.resource import CLUSTERS, LEASES
from leeward.client import NotFound, WorldError
from leeward.manager.timing import Timing
from leeward.runtime.plane import ControlPlane, Member

log = logging.getLogger(__name__)


class LeaseController:
    def __init__(self, plane: ControlPlane, member: Member, timing: Timing) -> None:
        self._plane = plane
        self._member = member
        self._duration_seconds = timing.cluster_lease_duration
        self._interval_seconds = timing.cluster_lease_duration * timing.cluster_lease_renew_interval_fraction

    def start(self) -> None:
        self._member.supervisor.start(self._run(), f"lease/{self._member.name}")

    async def _run(self) -> None:
        while True:
            try:
                await self._renew()
            except WorldError as error:
                log.warning("lease of cluster %s: %s", self._member.name, error)
            await asyncio.sleep(self._interval_seconds)

    async def _renew(self) -> None:
        name = self._member.name
        renewal = {"spec": {"renewTime": format_micro_time(self._plane.clock.now())}}
        try:
            await self._plane.client.patch(LEASES, name, renewal, CLUSTER_NAMESPACE)
        except NotFound:
            cluster = await self._plane.client.get(CLUSTERS, name)
            await self._plane.client.create(LEASES, self._lease(cluster), CLUSTER_NAMESPACE)

    def _lease(self, cluster: Cluster) -> Lease:
        owner = OwnerReference("cluster.karmada.io/v1alpha1", "Cluster", cluster.name, cluster.metadata.uid)
        return Lease(
            metadata=ObjectMeta(name=cluster.name, namespace=CLUSTER_NAMESPACE, owner_references=(owner,)),
            spec=LeaseSpec(
                holder_identity=cluster.name,
                lease_duration_seconds=int(self._duration_seconds),
                renew_time=self._plane.clock.now(),
            ),
        )
