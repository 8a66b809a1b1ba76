"""The controller manager, the scheduler and the descheduler as processes beside an API server that is not ours.

Each holds a lease of its own while it works, under Karmada's names. All that they write, to the control plane and to
members, goes through that lease (Holds: S8). `leeward serve` runs both in one process, over one set of caches as long
as it leads both; either can be led by another process.
"""

import asyncio
import logging
import socket
from collections.abc import Collection, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from typing import Literal

from controller_runtime import Backoff, LeaderElector, Leadership, Led, LedComponents, Trouble, attempt
from kubeapi.loop import Supervisor
from kubeclient import IMPATIENT, Client, RequestPace, Transport, paced
from kubeclient.connection import Connection, transport_of
from leeward.api.names import MANAGER_LEASE, leader_identity
from leeward.app.assembly import Assembly
from leeward.app.connect import address_rules
from leeward.app.flags.settings import ComponentSettings
from leeward.app.probes import Probes, served
from leeward.app.shard import ShardProcess
from leeward.app.shard_processes import ShardProcesses
from leeward.manager.bootstrap import ensure_namespaces
from leeward.manager.choice import DESCHEDULER, SCHEDULER, Choice
from leeward.manager.control_plane import ControllerManager
from leeward.manager.standby import Standby
from leeward.runtime.metrics import Metrics
from leeward.runtime.sharding import Sharding
from leeward.runtime.work_share import WHOLE, WorkShare

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
        transport = transport_of(config.connection)
        pace = RequestPace.of(config.settings.limits.control_plane)
        leases = transport_of(config.connection)
        try:
            await meet(Client(paced(transport, pace), "leeward").with_patience(IMPATIENT))
            probes.ready = True
            await _process(config, Assembly(config.settings, transport, pace, metrics), leases, metrics)
        finally:
            await transport.close()
            await leases.close()


async def meet(client: Client) -> None:
    """Returns when the control plane has answered, and has the namespaces that leases are in."""
    pauses = Backoff(FIRST_RETRY_SECONDS, LAST_RETRY_SECONDS)
    await attempt(partial(ensure_namespaces, client), pauses, Trouble(log, "waiting for the control plane"))


async def _process(config: ComponentConfig, assembly: Assembly, leases: Transport, metrics: Metrics) -> None:
    settings = config.settings
    assembly.addresses = await address_rules(config.connection.server, settings.limits.member_addresses)
    only = settings.shards.only
    if isinstance(only, int):
        await ShardProcess(settings, only, assembly, leases, metrics).run()
    else:
        await _Process(config, assembly, leases, metrics).run()


class _Process:
    """Process that works on those of its parts that it leads, beside those of its shards.

    Leases are renewed over connections of their own: behind the writes of a large failover they would end unrenewed.
    """

    def __init__(self, config: ComponentConfig, assembly: Assembly, leases: Transport, metrics: Metrics) -> None:
        self._settings = config.settings
        self._assembly = assembly
        self._leases = leases
        self._metrics = metrics
        self._names = config.parts
        self._parts = LedComponents(config.parts, self._work)
        asks = config.settings.leader.enabled
        self._electors: dict[Part, LeaderElector] = {part: self._elector(part) for part in config.parts if asks}
        self._standby = Standby(_name_of(config.parts), partial(self._make, self._whole()), assembly.clock)

    async def run(self) -> None:
        """Runs until cancelled. The work ends first, then the shards, and then the leases are given back."""
        shards = self._settings.shards
        async with (
            Supervisor("leases") as leasing,
            Supervisor("shards' processes") as starting,
            Supervisor("process") as working,
        ):
            tasks = [leasing.start(self._lead(part), part) for part in self._names]
            tasks.append(working.start(self._parts.run(), "parts"))
            if self._electors:
                tasks.append(working.start(self._standby.run(), "stand by"))
            if shards.count > 1 and shards.only is None:
                client = Client(self._leases, "leeward/shards").with_patience(IMPATIENT)
                processes = ShardProcesses(shards.count, self._settings.serving, client, self._settings.leader)
                tasks.append(starting.start(processes.run(), "shards"))
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()

    def _whole(self) -> Led[Part]:
        """Leaderships as if all parts were led here."""
        led: dict[Part, Leadership | None] = dict.fromkeys(self._names)
        led |= {part: elector.leadership for part, elector in self._electors.items()}
        return led

    def _elector(self, part: Part) -> LeaderElector:
        clock, randomness = self._assembly.clock, self._assembly.randomness
        client = Client(self._leases, f"{part}/leader-election").with_patience(IMPATIENT)
        lease = self._settings.leader.name or part
        identity = leader_identity(socket.gethostname(), randomness.uid())
        sharding = self._sharding if part == MANAGER_LEASE else None
        return LeaderElector(client, lease, identity, clock, randomness, self._settings.leader, sharding)

    @property
    def _sharding(self) -> Sharding | None:
        count = self._settings.shards.count
        return Sharding(count) if count > 1 else None

    async def _lead(self, part: Part) -> None:
        elector = self._electors.get(part)
        if elector is None:
            self._metrics.process.leads(part, lambda: True)
            await self._parts.lead(part, None)
            return
        self._metrics.process.leads(part, lambda: elector.leadership.holds)
        if part == MANAGER_LEASE and self._sharding is not None:
            shards = self._sharding.shards
            self._metrics.process.leaves_work_to(lambda: shards if elector.leadership.holds else 0)
        await elector.lead(lambda: self._parts.lead(part, elector.leadership))

    async def _work(self, led: Led[Part]) -> None:
        """Works on all parts with prepared controllers; on some of them with new ones."""
        try:
            if len(led) == len(self._names):
                await self._standby.work()
                return
            async with self._standby.resting():
                await Standby(_name_of(led), partial(self._make, led), self._assembly.clock).work()
        finally:
            self._metrics.forget_state()

    def _make(self, led: Led[Part], supervisor: Supervisor, ends: AsyncExitStack) -> ControllerManager:
        share = WHOLE if self._sharding is None else WorkShare.of_leader()
        return self._assembly.make(_name_of(led), {**led}, self._choice(led), share, supervisor, ends)

    def _choice(self, led: Led[Part]) -> Choice:
        """Controllers that are to run, of the parts that are led."""
        chosen = self._settings.manager.controllers
        if "karmada-descheduler" in led:
            return chosen.only(DESCHEDULER)
        if "karmada-scheduler" not in led:
            return chosen.without(SCHEDULER)
        return chosen if "karmada-controller-manager" in led else chosen.only(SCHEDULER)


def _name_of(parts: Collection[Part]) -> str:
    return next(iter(parts)) if len(parts) == 1 else "leeward"
