"""A member cluster of a world, with its agent in Pull mode, and the ways in which it can die and come back."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Literal

from kubeapi.core import NAMESPACES
from kubeapi.loop import Life, Supervisor
from kubeapi.status import Status
from kubeclient import Client, NotFound, Request, Response
from kubeclient.updating import UpdatingTransport
from kubecluster import Workloads, WorkloadSettings
from kubecluster.journal import JournaledMedium
from kubecluster.network import Answering, Link, LinkedTransport, Place
from kubecluster.resource_quota import ResourceQuotaAdmission
from kubecluster.rules.load_balancer import load_balancer_range
from kubecluster.simulated_webhooks import SimulatedWebhooks
from kubeserver.admission.service_accounts import ServiceAccountAdmission
from kubeserver.errors import status_response
from kubeserver.handler import StreamResponse, User
from kubeserver.handlers.server import ApiServer
from kubeserver.inprocess import ADMIN, InProcessTransport
from kubeserver.registry.room import StoreBounds
from kubeserver.starting import start_apiserver
from kubeserver.store import Store
from kubeserver.store.medium import Loaded
from leeward.agent.agent import Agent
from leeward.api.names import AGENT_GROUP, AGENT_USER_PREFIX
from leeward.core.registration import IDENTIFYING_NAMESPACE
from leeward.manager.member_side import MemberSide
from leeward.runtime.controller_context import Member, Server
from leeward.runtime.hub_fence import HubFence
from leeward.runtime.member_identity import obeying
from leeward.runtime.metrics import Metrics
from leeward.sim.environment import Environment, SkewedClock

Mode = Literal["Push", "Pull"]
_LOOK_SECONDS = 0.001
_REFUSALS = {
    403: Status(message="exceeded quota", reason="Forbidden", code=403),
    500: Status(message="etcdserver: no space left on device", reason="InternalError", code=500),
}


def agent_of(member: str) -> str:
    """The party's name in `World.link`."""
    return f"agent-{member}"


class SimulatedMember:
    """Member whose API server and workloads are one process, its agent is another."""

    def __init__(self, environment: Environment, name: str, mode: Mode) -> None:
        self.name = name
        self.mode: Mode = mode
        self.identity = ""
        """The UID of its Namespace kube-system, once it has been up."""
        self.workloads = WorkloadSettings(root_certificates="")
        """Settings of how big its nodes are, when it starts."""
        self.nodes = self.workloads.nodes
        self.place = Place()
        self.agent_link = Link()
        self.client = Client(LinkedTransport(self.place, ADMIN))
        self.medium = JournaledMedium(name, environment.journal)
        self.agent_clock = SkewedClock(environment.clock)
        self.life = Life(name)
        self.agent_life = Life(agent_of(name))
        self._environment = environment
        self._server: ApiServer | None = None
        self._processes: Supervisor | None = None
        self._agent: Supervisor | None = None
        self._refusal: Status | None = None

    @property
    def is_up(self) -> bool:
        return self._processes is not None

    @property
    def agent_is_up(self) -> bool:
        return self._agent is not None

    async def start(self) -> None:
        """Starts what a stopped member consists of, on the store that it had."""
        await self.start_apiserver()
        if self.mode == "Pull":
            self.start_agent()

    async def stop(self) -> None:
        """The processes are gone; connections are refused."""
        await self.stop_agent()
        await self.stop_apiserver()

    def pause(self) -> None:
        """The processes are frozen; connections hang."""
        self.place.link.hang()
        self.agent_link.hang()

    def resume(self) -> None:
        self.place.link.flow()
        self.agent_link.flow()

    def set_ready(self, ready: bool) -> None:
        """Sets what /readyz answers."""
        if self._server is not None:
            self._server.health.ready = ready

    def set_latency(self, seconds: float) -> None:
        self.place.link.latency_seconds = seconds

    def refuse_writes(self, code: int | None) -> None:
        """Answers every write with this status, and reads as ever; None: takes writes again."""
        self._refusal = None if code is None else _REFUSALS[code]
        self.place.audit = self._refuse if self._refusal is not None else None

    async def _refuse(self, request: Request, handle: Callable[[], Answering]) -> Response | StreamResponse:
        if self._refusal is None or request.method == "GET":
            return await handle()
        return status_response(self._refusal)

    async def start_apiserver(self) -> None:
        self.life = self._environment.begin_life(self.name)
        await self._environment.within(self.life, self._start_apiserver())

    async def _start_apiserver(self) -> None:
        environment = self._environment
        self._processes = Supervisor(self.name)
        store = await Store.open(self.medium, self._processes)
        self._server = await start_apiserver(
            store,
            environment.clock,
            environment.randomness,
            self._processes,
            admission=(ServiceAccountAdmission(store), ResourceQuotaAdmission(store)),
            passed_over=SimulatedWebhooks(store).passed_over,
            bounds=StoreBounds(counts_quotas=False),
        )
        self.place.put(self._server, self.life)
        self.identity = await _identity(Client(InProcessTransport(self._server, ADMIN)))
        server = Server.of(Client(LinkedTransport(self.place, ADMIN)), environment.randomness, self._processes)
        settings = replace(
            self.workloads,
            nodes=self.nodes,
            pod_startup_seconds=environment.timing.pod_startup_seconds,
            load_balancer_cidr=load_balancer_range(self.name),
        )
        workloads = Workloads(
            server.client, environment.clock, environment.randomness, Metrics(), self._processes, settings
        )
        await workloads.start()

    async def stop_apiserver(self) -> None:
        self.place.take_away()
        if self._processes is not None:
            await self._environment.ended(self.life, self._processes.close())
            self._processes = None

    def crash_apiserver(self) -> None:
        """Killed in the middle of whatever it does."""
        self.life.end()
        self.place.take_away()
        self._processes = None

    def start_agent(self) -> None:
        self.agent_life = self._environment.begin_life(agent_of(self.name))
        self.agent_life.context().run(self._start_agent)

    def _start_agent(self) -> None:
        environment = self._environment
        self._agent = Supervisor(f"agent of {self.name}")
        user = User(AGENT_USER_PREFIX + self.name, (AGENT_GROUP, "system:authenticated"))
        party = agent_of(self.name)
        home = LinkedTransport(environment.place, user, self.agent_link, environment.link(party, environment.NAME))
        there = LinkedTransport(self.place, ADMIN, self.agent_link, environment.link(party, self.name))
        plane = environment.plane(Client(UpdatingTransport(home), party), self._agent, self.agent_clock)
        fence = HubFence(plane.server.identity)
        member_client = obeying(Client(there, party), fence)
        member = Member.of(self.name, member_client, environment.randomness, self._agent, plane.limits, fence)
        self._agent.start(
            Agent(plane, member, MemberSide(environment.timing, probe_serving=environment.probe_serving)).start(),
            "agent",
        )

    async def stop_agent(self) -> None:
        if self._agent is not None:
            await self._environment.ended(self.agent_life, self._agent.close())
            self._agent = None

    def crash_agent(self) -> None:
        self.agent_life.end()
        self._agent = None

    async def contents(self) -> Loaded:
        """Contents of its store, for a backup."""
        return await self.medium.load()


async def _identity(client: Client) -> str:
    """The uid of the namespace that a cluster is known by, which is made while its API server starts."""
    while True:
        try:
            return (await client.get(NAMESPACES, IDENTIFYING_NAMESPACE)).metadata.uid
        except NotFound:
            await asyncio.sleep(_LOOK_SECONDS)
