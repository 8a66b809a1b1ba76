"""The agent of one member cluster, and its heartbeat: the Lease `karmada-cluster/<cluster>`.

Karmada: pkg/controllers/status (initLeaseController); same."""

import asyncio
import logging
from contextlib import suppress

from controller_runtime import Trouble
from kubeapi.codec import to_wire
from kubeapi.core import LEASES
from kubeapi.meta import Manifest, OwnerReference, format_micro_time
from kubeclient import NotFound, WorldError
from leeward.agent.registration import Registration
from leeward.api.cluster import Cluster
from leeward.api.names import CLUSTER_NAMESPACE, execution_space
from leeward.api.resource import CLUSTERS
from leeward.manager.member_side import MemberSide
from leeward.manager.timing import Timing
from leeward.runtime.controller_context import ControlPlane, Member

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
        trouble = Trouble(log, f"lease of cluster {self._member.name}")
        while True:
            try:
                await self._renew()
                trouble.is_over()
            except WorldError as error:
                trouble.tell(error)
            except Exception:
                log.exception("lease of cluster %s: the renewal failed", self._member.name)
            await asyncio.sleep(self._interval_seconds)

    async def _renew(self) -> None:
        name = self._member.name
        renewal = {"spec": {"renewTime": format_micro_time(self._plane.clock.now())}}
        try:
            await self._plane.client.patch(LEASES, name, renewal, CLUSTER_NAMESPACE)
        except NotFound:
            cluster = await self._plane.client.get(CLUSTERS, name)
            await self._plane.client.create(LEASES, self._lease(cluster), CLUSTER_NAMESPACE)

    def _lease(self, cluster: Cluster) -> Manifest:
        """Lease as a manifest: the API takes no time without microseconds here, and a struct leaves zeros out."""
        owner = OwnerReference(CLUSTERS.api_version, CLUSTERS.kind, cluster.name, cluster.metadata.uid)
        return {
            "metadata": {"name": cluster.name, "namespace": CLUSTER_NAMESPACE, "ownerReferences": [to_wire(owner)]},
            "spec": {
                "holderIdentity": cluster.name,
                "leaseDurationSeconds": int(self._duration_seconds),
                "renewTime": format_micro_time(self._plane.clock.now()),
            },
        }


class Agent:
    """Start it with a plane and a member whose supervisors end with the agent."""

    def __init__(self, plane: ControlPlane, member: Member, member_side: MemberSide) -> None:
        self._plane = plane
        self._member = member
        self._member_side = member_side

    async def start(self) -> None:
        """Joins the cluster where it is not joined yet, and begins to work. Waits for the control plane to answer."""
        plane, member = self._plane, self._member
        await Registration(member.name, plane.client, member.server.client, plane.clock).join()
        with suppress(WorldError):
            await plane.server.identity.read(afresh=True)
        self.work()

    def work(self) -> None:
        """Begins to work, of a cluster that has joined."""
        plane, member = self._plane, self._member
        plane.supervisor.start(plane.events.run(), "events")
        plane.lag.start(plane.supervisor, plane.metrics.process.stood_still.inc)
        LeaseController(plane, member, self._member_side.timing).start()
        self._member_side.start(plane, member, execution_space(member.name))
