"""A world: one control plane and its member clusters, started like the local fleet, but over in-process links.

    async with World({"member1": "Push", "member3": "Pull"}, Timing.karmada()) as world:
        world.member("member1").stop()
        await world.until(lambda: not world.is_ready("member1"))

The same components as in production run; only clock, links and the store's medium are others.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import TracebackType
from typing import Literal, Self

from leeward.agent.agent import Agent
from leeward.api.cluster import Cluster, ClusterSpec
from leeward.api.core import Secret
from leeward.api.meta import ObjectMeta
from leeward.api.names import AGENT_GROUP, AGENT_USER_PREFIX, execution_space
from leeward.api.resource import CLUSTERS, RESOURCE_BINDINGS, WORKS
from leeward.api.schema import custom_resource_definitions
from leeward.api.work import ResourceBinding, Work
from leeward.apiserver.handler import User
from leeward.apiserver.inprocess import ADMIN
from leeward.apiserver.server import ApiServer
from leeward.apiserver.store import Store
from leeward.apiserver.store.memory import MemoryMedium
from leeward.client import Client
from leeward.loop.clock import Clock, VirtualClock
from leeward.loop.randomness import Randomness
from leeward.loop.supervisor import Supervisor
from leeward.manager.admission import KarmadaAdmission
from leeward.manager.bootstrap import ensure_namespaces
from leeward.manager.control_plane import ControllerManager, ManagerSettings
from leeward.manager.timing import Timing
from leeward.members import Workloads, WorkloadSettings
from leeward.runtime.events import EventRecorder
from leeward.runtime.informers import Informers
from leeward.runtime.metrics import Metrics
from leeward.runtime.plane import ControlPlane, Member, Server
from leeward.sim.network import Link, LinkedTransport, Place

Mode = Literal["Push", "Pull"]
UNTIL_SECONDS = 3_600.0


class SimulatedMember:
    """One member cluster, with its agent in Pull mode, and the ways in which it can die."""

    def __init__(self, world: "World", name: str, mode: Mode) -> None:
        self.name = name
        self.mode: Mode = mode
        self.place = Place()
        self.agent_link = Link()
        self.client = Client(LinkedTransport(self.place, ADMIN))
        self._world = world
        self._medium = MemoryMedium()
        self._server: ApiServer | None = None
        self._processes: Supervisor | None = None
        self._agent: Supervisor | None = None

    async def start(self) -> None:
        """Starts what a stopped member consists of, on the store that it had."""
        await self.start_apiserver()
        if self.mode == "Pull":
            await self.start_agent()

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
        """What /readyz answers."""
        if self._server is not None:
            self._server.health.ready = ready

    def set_latency(self, seconds: float) -> None:
        self.place.link.latency_seconds = seconds

    async def start_apiserver(self) -> None:
        world = self._world
        self._processes = Supervisor(self.name)
        store = await Store.open(self._medium, self._processes)
        self._server = await ApiServer.start(store, world.clock, world.randomness, self._processes)
        self.place.put(self._server)
        server = Server.of(Client(LinkedTransport(self.place, ADMIN)), world.randomness, self._processes)
        settings = WorkloadSettings(pod_startup_seconds=world.timing.pod_startup_seconds)
        workloads = Workloads(server, world.clock, world.randomness, Metrics(), self._processes, settings)
        await workloads.start()

    async def stop_apiserver(self) -> None:
        self.place.take_away()
        if self._processes is not None:
            await self._processes.close()
            self._processes = None

    async def start_agent(self) -> None:
        world = self._world
        self._agent = Supervisor(f"agent of {self.name}")
        user = User(AGENT_USER_PREFIX + self.name, (AGENT_GROUP, "system:authenticated"))
        client = Client(LinkedTransport(world.place, user, self.agent_link))
        member_client = Client(LinkedTransport(self.place, ADMIN, self.agent_link))
        plane = world.plane(client, self._agent)
        member = Member(self.name, Server.of(member_client, world.randomness, self._agent), self._agent)
        self._agent.start(Agent(plane, member, world.timing).start(), "agent")

    async def stop_agent(self) -> None:
        if self._agent is not None:
            await self._agent.close()
            self._agent = None


class World:
    """`manager` are the control plane's settings beside its timing."""

    def __init__(
        self,
        members: Mapping[str, Mode],
        timing: Timing,
        seed: int = 0,
        clock: Clock | None = None,
        manager: ManagerSettings | None = None,
    ) -> None:
        self.clock = clock or VirtualClock()
        self.randomness = Randomness(seed)
        self.timing = timing
        self._settings = replace(manager or ManagerSettings(), timing=timing)
        self.place = Place()
        self.client = Client(LinkedTransport(self.place, ADMIN))
        self.metrics = Metrics()
        self._members = {name: SimulatedMember(self, name, mode) for name, mode in members.items()}
        self._medium = MemoryMedium()
        self._serving: Supervisor | None = None
        self._manager: ControllerManager | None = None
        self._controlling: Supervisor | None = None
        self._observing = Supervisor("observer")
        self._informers = Informers(self.client, self.randomness, self._observing)
        self._changed = asyncio.Event()

    async def __aenter__(self) -> Self:
        await self.start_control_plane()
        for member in self._members.values():
            await self.join(member)
        self._observe()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._observing.close()
        await self.stop_controllers()
        for member in self._members.values():
            await member.stop()
        if self._serving is not None:
            await self._serving.close()

    def member(self, name: str) -> SimulatedMember:
        return self._members[name]

    def plane(self, client: Client, supervisor: Supervisor) -> ControlPlane:
        server = Server.of(client, self.randomness, supervisor)
        events = EventRecorder(client, self.clock, self.randomness)
        return ControlPlane(server, self.clock, self.randomness, self.metrics, events, supervisor)

    async def start_control_plane(self) -> None:
        self._serving = Supervisor("control plane")
        store = await Store.open(self._medium, self._serving)
        api_server = await ApiServer.start(
            store,
            self.clock,
            self.randomness,
            self._serving,
            admission=(KarmadaAdmission(self.clock, self.randomness, self.timing),),
            crds=custom_resource_definitions(),
        )
        self.place.put(api_server)
        await ensure_namespaces(self.client)
        self.start_controllers()

    def start_controllers(self) -> None:
        self._controlling = Supervisor("controllers")
        plane = self.plane(Client(LinkedTransport(self.place, ADMIN)), self._controlling)
        self._manager = ControllerManager(plane, self._connect, self._settings)
        self._manager.start()

    async def stop_controllers(self) -> None:
        """The controllers are gone; the API server goes on."""
        if self._manager is not None and self._controlling is not None:
            await self._manager.close()
            await self._controlling.close()
            self._manager = self._controlling = None

    async def join(self, member: SimulatedMember) -> None:
        """Starts a member; a Push member's Cluster is made here, a Pull member's by its agent."""
        await member.start()
        if member.mode == "Push":
            spec = ClusterSpec(
                sync_mode="Push", api_endpoint=f"https://{member.name}.example", id=self.randomness.uid()
            )
            await self.client.create(CLUSTERS, Cluster(metadata=ObjectMeta(name=member.name), spec=spec))

    async def until(self, holds: Callable[[], bool], within_seconds: float = UNTIL_SECONDS) -> float:
        """Waits until `holds`, looking after every change. Returns how many seconds that took. Raises: TimeoutError."""
        started = self.clock.monotonic()
        async with asyncio.timeout(within_seconds):
            while not holds():
                self._changed.clear()
                await self._changed.wait()
        return self.clock.monotonic() - started

    @property
    def seconds(self) -> float:
        """Since the world began."""
        return self.clock.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def sleep_to_whole(self, step: float, offset: float = 0) -> None:
        """To the next instant that is a multiple of `step` and `offset` more."""
        await asyncio.sleep(step - self.seconds % step + offset)

    def cluster(self, name: str) -> Cluster:
        """Raises: LookupError before it has joined."""
        cluster = self._informers.of(CLUSTERS).get(name)
        if cluster is None:
            raise LookupError(f"there is no Cluster {name}")
        return cluster

    def binding(self, name: str, namespace: str = "default") -> ResourceBinding | None:
        return self._informers.of(RESOURCE_BINDINGS).get(name, namespace)

    def work(self, cluster: str, name: str) -> Work | None:
        return self._informers.of(WORKS).get(name, execution_space(cluster))

    def is_ready(self, name: str) -> bool:
        cluster = self._informers.of(CLUSTERS).get(name)
        return cluster is not None and cluster.is_ready

    def taints(self, name: str) -> set[str]:
        return {str(taint) for taint in self.cluster(name).spec.taints}

    def assigned(self, name: str, namespace: str = "default") -> dict[str, int]:
        """Replicas by cluster of a binding."""
        binding = self.binding(name, namespace)
        return {target.name: target.replicas for target in binding.spec.clusters} if binding else {}

    def _observe(self) -> None:
        def changed(_: object, __: object) -> None:
            self._changed.set()

        self._informers.of(CLUSTERS).on_change(changed)
        self._informers.of(RESOURCE_BINDINGS).on_change(changed)
        self._informers.of(WORKS).on_change(changed)

    def _connect(self, cluster: Cluster, secret: Secret | None) -> Client:
        return Client(LinkedTransport(self._members[cluster.name].place, ADMIN))
