"""The agent of one member cluster."""

from leeward.agent.lease import LeaseController
from leeward.agent.registration import Registration
from leeward.api.names import execution_space
from leeward.client import Client
from leeward.manager.member_side import MemberSide
from leeward.runtime.controller_context import ControlPlane, Member
from leeward.runtime.hub_fence import HubFence
from leeward.runtime.member_identity import IdentifiedTransport, anyone


def obeying(client: Client, plane: ControlPlane) -> Client:
    """The client of a member, which sends nothing there while the member obeys a newer hub than this control plane."""
    return client.behind(lambda transport: IdentifiedTransport(transport, anyone, HubFence(plane.server.identity)))


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
        self.work()

    def work(self) -> None:
        """Begins to work, of a cluster that has joined."""
        plane, member = self._plane, self._member
        plane.supervisor.start(plane.events.run(), "events")
        plane.lag.start(plane.supervisor, plane.metrics.process.stood_still.inc)
        LeaseController(plane, member, self._member_side.timing).start()
        self._member_side.start(plane, member, execution_space(member.name))
