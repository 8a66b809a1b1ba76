"""The controller manager, the scheduler and the descheduler as processes beside an API server that is not ours.

Each holds a lease of its own while it works, under Karmada's names. All that they write, to the control plane and to
members, goes through that lease (Holds: S8). `leeward serve` runs both in one process, over one set of caches as long
as it leads both; either can be led by another process.
"""

import asyncio
import logging
import socket
from collections.abc import Callable, Collection, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from kubeapi.loop.clock import SystemClock
from kubeapi.loop.randomness import Randomness
from kubeapi.loop.supervisor import Supervisor
from leeward.api.cluster import Cluster
from leeward.api.core import Secret
from leeward.api.names import leader_identity
from leeward.api.rules.member_addresses import DEFAULT_RULES
from leeward.app.connect import address_rules, transport_to
from leeward.app.estimating import estimator_channels
from leeward.app.flags.settings import ComponentSettings
from leeward.app.probes import Probes, served
from leeward.client import Client, Transport
from leeward.client.connection import Connection, transport_of
from leeward.client.limits import limited
from leeward.lua.jail import ProcessJail
from leeward.manager.bootstrap import ensure_namespaces
from leeward.manager.choice import DESCHEDULER, SCHEDULER
from leeward.manager.control_plane import ControllerManager
from leeward.manager.settings import ManagerSettings
from leeward.manager.standby import Standby
from leeward.runtime.leader import LeaderElector, Leadership
from leeward.runtime.metrics import Metrics
from leeward.runtime.parts import Led, Parts, fenced
from leeward.runtime.plane import ControlPlane
from leeward.runtime.retrying import Backoff, Trouble, attempt

log = logging.getLogger(__name__)

FIRST_RETRY_SECONDS, LAST_RETRY_SECONDS = 1.0, 30.0

Part = Literal["karmada-controller-manager", "karmada-scheduler", "karmada-descheduler"]
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
    async with served(probes, config.settings.serving):
        transport = limited(transport_of(config.connection), config.settings.limits.control_plane)
        leases = transport_of(config.connection)
        try:
            await meet(Client(transport, "leeward"))
            probes.ready = True
            await _Process(config, transport, leases, metrics).run()
        finally:
            await transport.close()
            await leases.close()


async def meet(client: Client) -> None:
    """Returns when the control plane has answered, and has the namespaces that leases are in."""
    pauses = Backoff(FIRST_RETRY_SECONDS, LAST_RETRY_SECONDS)
    await attempt(partial(ensure_namespaces, client), pauses, Trouble(log, "waiting for the control plane"))


class _Process:
    """Process that works on those of its parts that it leads.

    Leases are renewed over connections of their own: behind the writes of a large failover they would end unrenewed.
    """

    def __init__(self, config: ComponentConfig, transport: Transport, leases: Transport, metrics: Metrics) -> None:
        self._settings = config.settings
        self._transport = transport
        self._leases = leases
        self._metrics = metrics
        self._clock, self._randomness = SystemClock(), Randomness()
        self._names = config.parts
        self._parts = Parts(config.parts, self._work)
        self._server = config.connection.server
        self._addresses = DEFAULT_RULES
        asks = config.settings.leader.enabled
        self._electors: dict[Part, LeaderElector] = {part: self._elector(part) for part in config.parts if asks}
        self._standby = Standby(_name_of(config.parts), partial(self._make, self._whole()), self._clock)

    async def run(self) -> None:
        """Runs until cancelled. The work ends before the leases are given back."""
        self._addresses = await address_rules(self._server, self._settings.limits.member_addresses)
        async with Supervisor("leases") as leasing, Supervisor("process") as working:
            tasks = [leasing.start(self._lead(part), part) for part in self._names]
            tasks.append(working.start(self._parts.run(), "parts"))
            if self._electors:
                tasks.append(working.start(self._standby.run(), "stand by"))
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()

    def _whole(self) -> Led[Part]:
        """Leaderships as if all parts were led here."""
        led: dict[Part, Leadership | None] = dict.fromkeys(self._names)
        led |= {part: elector.leadership for part, elector in self._electors.items()}
        return led

    def _elector(self, part: Part) -> LeaderElector:
        client = Client(self._leases, f"{part}/leader-election")
        identity = leader_identity(socket.gethostname(), self._randomness.uid())
        return LeaderElector(client, part, identity, self._clock, self._randomness, self._settings.leader)

    async def _lead(self, part: Part) -> None:
        elector = self._electors.get(part)
        if elector is None:
            self._metrics.process.leads(part, lambda: True)
            await self._parts.lead(part, None)
            return
        self._metrics.process.leads(part, lambda: elector.leadership.holds)
        await elector.lead(lambda: self._parts.lead(part, elector.leadership))

    async def _work(self, led: Led[Part]) -> None:
        """Works on all parts with what was made ready; on some of them with controllers that are made now."""
        try:
            if len(led) == len(self._names):
                await self._standby.work()
                return
            async with self._standby.resting():
                await Standby(_name_of(led), partial(self._make, led), self._clock).work()
        finally:
            self._metrics.forget_state()

    def _make(self, led: Led[Part], supervisor: Supervisor, ends: AsyncExitStack) -> ControllerManager:
        name = _name_of(led)
        client = Client(fenced(self._transport, led), name)
        plane = ControlPlane.of(
            client, self._clock, self._randomness, self._metrics, supervisor, ProcessJail(supervisor)
        )
        channels = estimator_channels(client, self._settings.estimators)
        if channels is not None:
            ends.push_async_callback(channels.close)
        share = replace(self._share(led), cluster_estimator=channels)
        return ControllerManager(plane, self._connector(led, name), share)

    def _share(self, led: Led[Part]) -> ManagerSettings:
        """Settings of those of the controllers to run that belong to the parts that are led."""
        settings = self._settings.manager
        chosen = settings.controllers
        if "karmada-descheduler" in led:
            chosen = chosen.only(DESCHEDULER)
        elif "karmada-scheduler" not in led:
            chosen = chosen.without(SCHEDULER)
        elif "karmada-controller-manager" not in led:
            chosen = chosen.only(SCHEDULER)
        return replace(settings, controllers=chosen)

    def _connector(self, led: Led[Part], name: str) -> Callable[[Cluster, Secret | None], Client]:
        """Function by which Push members are reached."""

        def connect(cluster: Cluster, secret: Secret | None) -> Client:
            transport = transport_to(cluster, secret, self._addresses)
            return Client(fenced(limited(transport, self._settings.limits.members), led), name)

        return connect


def _name_of(parts: Collection[Part]) -> str:
    return next(iter(parts)) if len(parts) == 1 else "leeward"
