"""The agent of one member cluster."""

import asyncio
import logging

from leeward.agent.lease import LeaseController
from leeward.api.cluster import Cluster, ClusterSpec
from leeward.api.meta import ObjectMeta
from leeward.api.names import execution_space
from leeward.api.resource import CLUSTERS, WORKS
from leeward.client import AlreadyExists, Client, Forbidden, NotFound, WorldError
from leeward.manager.member_side import MemberSide
from leeward.runtime.plane import ControlPlane, Member

log = logging.getLogger(__name__)

RETRY_SECONDS = 1.0
ACCESS_SECONDS = 0.1
PATIENT_TRIES = 50


class Agent:
    """Start it with a plane and a member whose supervisors end with the agent."""

    def __init__(self, plane: ControlPlane, member: Member, member_side: MemberSide) -> None:
        self._plane = plane
        self._member = member
        self._member_side = member_side

    async def start(self) -> None:
        """Joins the cluster where it is not joined yet, and begins to work. Waits for the control plane to answer."""
        self._plane.supervisor.start(self._plane.events.run(), "events")
        while True:
            try:
                await register(self._plane.client, self._member.name, self._plane.randomness.uid())
                break
            except WorldError as error:
                log.warning("cluster %s cannot be registered yet: %s", self._member.name, error)
                await asyncio.sleep(RETRY_SECONDS)
        await self._wait_for_access()
        LeaseController(self._plane, self._member, self._member_side.timing).start()
        self._member_side.start(self._plane, self._member, execution_space(self._member.name))

    async def _wait_for_access(self) -> None:
        """The control plane gives an agent its rights a moment after its cluster has joined."""
        refused = 0
        while True:
            try:
                await self._plane.client.list(WORKS, execution_space(self._member.name), limit=1)
                return
            except Forbidden as error:
                refused += 1
                if refused == PATIENT_TRIES:
                    log.warning("cluster %s has joined, but its agent has no rights yet: %s", self._member.name, error)
                await asyncio.sleep(ACCESS_SECONDS)
            except WorldError:
                await asyncio.sleep(RETRY_SECONDS)


async def register(client: Client, name: str, cluster_id: str) -> Cluster:
    """The Cluster in Pull mode, made where it is missing. Raises: WorldError."""
    try:
        return await client.get(CLUSTERS, name)
    except NotFound:
        cluster = Cluster(metadata=ObjectMeta(name=name), spec=ClusterSpec(sync_mode="Pull", id=cluster_id))
        try:
            return await client.create(CLUSTERS, cluster)
        except AlreadyExists:
            return await client.get(CLUSTERS, name)
