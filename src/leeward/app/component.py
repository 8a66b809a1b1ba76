"""The controller manager and the scheduler as processes beside an API server that is not ours.

Each holds a lease of its own while it works, under Karmada's names. All that they write, to the control plane and to
members, goes through that lease (Holds: S8). `leeward serve` runs both in one process, each with its own caches, so
that either can be led by another process.
"""

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from leeward.api.cluster import Cluster
from leeward.api.core import Secret
from leeward.app.connect import UnusableTransport, transport_to
from leeward.app.flags.settings import ComponentSettings
from leeward.app.probes import Probes, served
from leeward.client import Client, Transport, WorldError
from leeward.client.connection import Connection, transport_of
from leeward.client.limits import limited
from leeward.loop.clock import SystemClock
from leeward.loop.randomness import Randomness
from leeward.loop.supervisor import Supervisor
from leeward.manager.bootstrap import ensure_namespaces
from leeward.manager.choice import SCHEDULER
from leeward.manager.control_plane import ControllerManager
from leeward.manager.settings import ManagerSettings
from leeward.runtime.events import EventRecorder
from leeward.runtime.leader import FencedTransport, LeaderElector
from leeward.runtime.metrics import Metrics
from leeward.runtime.plane import ControlPlane, Server

log = logging.getLogger(__name__)

RETRY_SECONDS = 1.0

Part = Literal["karmada-controller-manager", "karmada-scheduler"]
"""The name of its lease."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentConfig:
    """`parts` run together; the controllers of `settings` are divided among them."""

    connection: Connection
    parts: Sequence[Part]
    settings: ComponentSettings


async def run_component(config: ComponentConfig) -> None:
    """Works until cancelled. Raises: OSError when an address is taken."""
    metrics = Metrics()
    probes = Probes(metrics)
    async with served(probes, config.settings.serving), Supervisor("component") as supervisor:
        transport = limited(transport_of(config.connection), config.settings.limits.control_plane)
        leases = transport_of(config.connection)
        try:
            await _meet(Client(transport, "leeward"))
            probes.ready = True
            replicas = [_Replica(part, config.settings, transport, leases, metrics) for part in config.parts]
            tasks = [supervisor.start(replica.run(), replica.part) for replica in replicas]
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            await supervisor.close()
            await transport.close()
            await leases.close()


async def _meet(client: Client) -> None:
    """Returns when the control plane has answered, and has the namespaces that leases are in."""
    while True:
        try:
            await ensure_namespaces(client)
            return
        except WorldError as error:
            log.warning("the control plane does not answer yet: %s", error)
            await asyncio.sleep(RETRY_SECONDS)


class _Replica:
    """One part, which works while it leads.

    The lease is renewed over connections of its own: behind the writes of a large failover it would end unrenewed.
    """

    def __init__(
        self, part: Part, settings: ComponentSettings, transport: Transport, leases: Transport, metrics: Metrics
    ) -> None:
        self.part: Part = part
        self._settings = settings
        self._transport = transport
        self._leases = leases
        self._metrics = metrics
        self._clock, self._randomness = SystemClock(), Randomness()

    async def run(self) -> None:
        if not self._settings.leader.enabled:
            await self._work(lambda transport: transport)
            return
        identity = f"{socket.gethostname()}_{self._randomness.uid()}"
        elector = LeaderElector(
            Client(self._leases, f"{self.part}/leader-election"),
            self.part,
            identity,
            self._clock,
            self._randomness,
            self._settings.leader,
        )
        await elector.lead(lambda: self._work(lambda transport: FencedTransport(transport, elector.leadership)))

    def _work(self, fence: Callable[[Transport], Transport]) -> Awaitable[None]:
        return self._control(Client(fence(self._transport), self.part), fence)

    async def _control(self, client: Client, fence: Callable[[Transport], Transport]) -> None:
        async with Supervisor(self.part) as supervisor:
            server = Server.of(client, self._randomness, supervisor)
            events = EventRecorder(client, self._clock, self._randomness)
            plane = ControlPlane(server, self._clock, self._randomness, self._metrics, events, supervisor)
            manager = ControllerManager(plane, self._connector(fence), self._share())
            try:
                manager.start()
                await asyncio.Event().wait()
            finally:
                await manager.close()

    def _share(self) -> ManagerSettings:
        """Of the controllers that are to run, those of this part."""
        settings = self._settings.manager
        chosen = settings.controllers
        mine = chosen.only(SCHEDULER) if self.part == "karmada-scheduler" else chosen.without(SCHEDULER)
        return replace(settings, controllers=mine)

    def _connector(self, fence: Callable[[Transport], Transport]) -> Callable[[Cluster, Secret | None], Client]:
        """How Push members are reached."""

        def connect(cluster: Cluster, secret: Secret | None) -> Client:
            try:
                transport: Transport = transport_to(cluster, secret)
            except ValueError as error:
                transport = UnusableTransport(str(error))
            return Client(fence(limited(transport, self._settings.limits.members)), self.part)

        return connect
