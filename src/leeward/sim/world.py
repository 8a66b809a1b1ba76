"""A world: one control plane and its member clusters, started like the local fleet, but over in-process links.

    async with World({"member1": "Push", "member3": "Pull"}, Timing.karmada()) as world:
        world.member("member1").stop()
        await world.until(lambda: not world.is_ready("member1"))

The same components as in production run; only clock, links and the store's medium are others.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Self

from controller_runtime import Informers
from kubeapi.core import Secret
from kubeapi.loop import Clock, Life, Supervisor
from kubeapi.meta import ObjectMeta
from kubeclient import Client, Transport
from kubeclient.ordering import OrderedTransport
from kubecluster.journal import JournaledMedium
from kubecluster.network import Link, LinkedTransport
from kubeserver.admission import Admission
from kubeserver.inprocess import ADMIN
from kubeserver.starting import start_apiserver
from kubeserver.store import Store
from kubeserver.store.store import HISTORY_REVISIONS
from leeward.api.cluster import Cluster, ClusterSpec
from leeward.api.names import execution_space
from leeward.api.resource import CLUSTERS, RESOURCE_BINDINGS, WORKS
from leeward.api.schema import custom_resource_definitions
from leeward.api.work import ResourceBinding, Work
from leeward.manager.admission import KarmadaAdmission, store_bounds
from leeward.manager.agents import AGENT_ACCESS, AgentRestriction, AgentRights
from leeward.manager.bootstrap import ensure_namespaces
from leeward.manager.control_plane import ControllerManager
from leeward.manager.quota_admission import quota_admissions
from leeward.manager.settings import ManagerSettings
from leeward.manager.timing import Timing
from leeward.manager.webhook_templates import WebhookTemplates
from leeward.runtime.work_share import WHOLE, WorkShare
from leeward.sim.environment import Environment, SkewedClock
from leeward.sim.member import Mode, SimulatedMember

__all__ = ["ADMIN", "Mode", "SimulatedMember", "World"]

UNTIL_SECONDS = 3_600.0
CONTROLLERS = "controllers"


class World(Environment):
    """`link(who, whom)` is the way between two parties: the control plane's API server (`NAME`), `CONTROLLERS`, the
    members by name and their agents (`agent_of`). `manager` are the control plane's settings beside its timing."""

    def __init__(
        self,
        members: Mapping[str, Mode],
        timing: Timing,
        seed: int = 0,
        clock: Clock | None = None,
        manager: ManagerSettings | None = None,
    ) -> None:
        super().__init__(timing, seed, clock)
        self._settings = replace(manager or ManagerSettings(), timing=timing)
        self.probe_serving = self._settings.safety.probe_serving
        self.client = Client(LinkedTransport(self.place, ADMIN))
        self.controllers_clock = SkewedClock(self.clock)
        self.medium = JournaledMedium(self.NAME, self.journal)
        self.history_revisions = HISTORY_REVISIONS
        self.bounds = store_bounds(self._settings.storage)
        self.store: Store | None = None
        self.life = Life(self.NAME)
        self.controllers_life = Life(CONTROLLERS)
        self._members = {name: SimulatedMember(self, name, mode) for name, mode in members.items()}
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
        try:
            await self._observing.close()
            await self.stop_controllers()
            for member in self._members.values():
                await member.stop()
            await self.stop_apiserver()
        finally:
            await self.release_ended_lives()

    def member(self, name: str) -> SimulatedMember:
        return self._members[name]

    @property
    def members(self) -> Mapping[str, SimulatedMember]:
        return self._members

    def all_links(self) -> list[Link]:
        own = [link for member in self._members.values() for link in (member.place.link, member.agent_link)]
        return [*super().all_links(), *own]

    async def start_control_plane(self) -> None:
        await self.start_apiserver()
        self.start_controllers()

    async def start_apiserver(self) -> None:
        self.life = self.begin_life(self.NAME)
        await self.within(self.life, self._start_apiserver())

    async def _start_apiserver(self) -> None:
        self._serving = Supervisor("control plane")
        store = self.store = await Store.open(self.medium, self._serving, history_revisions=self.history_revisions)
        api_server = await start_apiserver(
            store,
            self.clock,
            self.randomness,
            self._serving,
            admission=self.admission(store),
            crds=custom_resource_definitions(),
            objects=AGENT_ACCESS,
            passed_over=WebhookTemplates(store).passed_over,
            rules_of_user=AgentRights(store),
            bounds=self.bounds,
        )
        self.place.put(api_server, self.life)
        await ensure_namespaces(self.client)

    def admission(self, store: Store) -> Sequence[Admission]:
        """Admission of the control plane's API server."""
        reach = self._settings.skipped.reach
        karmada = KarmadaAdmission(self.clock, self.randomness, self.timing, store, reach)
        return (karmada, AgentRestriction(store), *quota_admissions(store, self._settings.gates))

    async def stop_apiserver(self) -> None:
        if self._serving is not None:
            self.place.take_away()
            await self.ended(self.life, self._serving.close())
            self._serving = None

    def crash_apiserver(self, *, power_cut: bool = False) -> None:
        """Killed in the middle of whatever it does; a power cut takes what is not synced along."""
        self.life.end()
        self.place.take_away()
        self._serving = None
        if power_cut:
            self.medium.lose_unsynced()

    @property
    def apiserver_is_up(self) -> bool:
        return self._serving is not None

    @property
    def controllers_are_up(self) -> bool:
        return self._manager is not None

    def start_controllers(self) -> None:
        self.controllers_life = self.begin_life(CONTROLLERS)
        self._controlling = Supervisor(CONTROLLERS)
        self._manager = self.controllers_life.context().run(self._start_manager, self._controlling)

    def _start_manager(self, supervisor: Supervisor) -> ControllerManager:
        return self.start_manager(supervisor, lambda transport: transport)

    def start_manager(self, supervisor: Supervisor, fence: Callable[[Transport], Transport]) -> ControllerManager:
        """Controllers in the life of the caller; what they send, to whomever, goes through `fence`."""
        manager = self.make_manager(supervisor, fence)
        manager.start()
        return manager

    def make_manager(
        self, supervisor: Supervisor, fence: Callable[[Transport], Transport], share: WorkShare = WHOLE
    ) -> ControllerManager:
        """Makes a manager as `start_manager`, for a share of the work, and does not start it."""
        transport = OrderedTransport(fence(LinkedTransport(self.place, ADMIN, self.link(CONTROLLERS, self.NAME))))
        plane = self.plane(Client(transport, CONTROLLERS), supervisor, self.controllers_clock, share)

        def connect(cluster: Cluster, _: Secret | None) -> Client:
            place = self._members[cluster.name].place
            return Client(fence(LinkedTransport(place, ADMIN, self.link(CONTROLLERS, cluster.name))), CONTROLLERS)

        return ControllerManager(plane, connect, self._settings)

    async def stop_controllers(self) -> None:
        """The controllers are gone; the API server goes on."""
        if self._manager is not None and self._controlling is not None:
            await self.ended(self.controllers_life, _close(self._manager, self._controlling))
            self._manager = self._controlling = None

    def use(self, manager: ManagerSettings) -> None:
        """Gives the controllers that are started from now on these settings."""
        self._settings = replace(manager, timing=self.timing)

    def crash_controllers(self) -> None:
        """Killed in the middle of whatever they do."""
        self.controllers_life.end()
        self._manager = self._controlling = None

    async def join(self, member: SimulatedMember) -> None:
        """Starts a member; a Push member's Cluster is made here, a Pull member's by its agent."""
        await member.start()
        if member.mode == "Push":
            await self.register(member, self.client)

    async def register(self, member: SimulatedMember, client: Client) -> None:
        """Makes the Cluster of a Push member. Raises: WorldError."""
        spec = ClusterSpec(sync_mode="Push", api_endpoint=f"https://{member.name}.example", id=member.identity)
        await client.create(CLUSTERS, Cluster(metadata=ObjectMeta(name=member.name), spec=spec))

    async def until(self, holds: Callable[[], bool], within_seconds: float = UNTIL_SECONDS) -> float:
        """Waits until `holds`, looking after every change. Returns how many seconds that took. Raises: TimeoutError."""
        started = self.clock.monotonic()
        async with asyncio.timeout(within_seconds):
            while not holds():
                self._changed.clear()
                await self._changed.wait()
        return self.clock.monotonic() - started

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def sleep_to_whole(self, step: float, offset: float = 0) -> None:
        """Sleeps to the next instant that is a multiple of `step` and `offset` more."""
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


async def _close(manager: ControllerManager, supervisor: Supervisor) -> None:
    await manager.close()
    await supervisor.close()
