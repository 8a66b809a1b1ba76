"""Shard of a controller manager as a process: it works on the bindings and clusters whose names are its own."""

import asyncio
import os
import socket
import sys
from contextlib import AsyncExitStack

from controller_runtime import LeaderElector
from kubeapi.loop import Supervisor
from kubeclient import IMPATIENT, Client, Transport
from leeward.api.names import MANAGER_LEASE, leader_identity
from leeward.app.assembly import Assembly
from leeward.app.flags.settings import ComponentSettings
from leeward.manager.control_plane import ControllerManager
from leeward.manager.standby import Standby
from leeward.runtime.metrics import Metrics
from leeward.runtime.shard_leases import LeaderWatch, ShardElector
from leeward.runtime.shard_spread import ShardSpread
from leeward.runtime.sharding import Sharding
from leeward.runtime.work_share import Shard, WorkShare

ENDS_WITH_INPUT = "LEEWARD_ENDS_WITH_INPUT"
"""Variable in the environment of a process that is to end when its standard input does, as its parent's end ends it."""


class ShardProcess:
    """Candidate for one shard. `leases` is a transport of its own: leases are not renewed behind other writes."""

    def __init__(
        self, settings: ComponentSettings, index: int, assembly: Assembly, leases: Transport, metrics: Metrics
    ) -> None:
        sharding = Sharding(settings.shards.count)
        self.name = sharding.lease_of(index)
        self._share = WorkShare.of_shard(Shard(index, sharding.shards))
        self._choice = settings.manager.controllers
        self._assembly = assembly
        clock, client = assembly.clock, Client(leases, f"{self.name}/leader-election").with_patience(IMPATIENT)
        identity = leader_identity(socket.gethostname(), assembly.randomness.uid())
        slot = LeaderElector(client, self.name, identity, clock, assembly.randomness, settings.leader)
        watch = LeaderWatch(client, MANAGER_LEASE, sharding, clock, settings.leader)
        spread = ShardSpread(client, sharding, index, identity, slot, settings.leader.namespace)
        self._elector = ShardElector(slot, watch, spread if _has_siblings() else None)
        self._metrics = metrics
        self._standby = Standby(self.name, self._make, clock)

    async def run(self) -> None:
        """Runs until cancelled, or until standard input ends where the environment asks for that."""
        own, leader = self._elector.leaderships
        self._metrics.process.leads(self.name, lambda: own.holds and leader.holds)
        async with Supervisor("leases") as leasing, Supervisor(self.name) as working:
            tasks = [
                leasing.start(self._elector.lead(self._work), "lead"),
                working.start(self._standby.run(), "stand by"),
            ]
            if _has_siblings():
                tasks.append(working.start(_end_of_input(), "end of input"))
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()

    async def _work(self) -> None:
        try:
            await self._standby.work()
        finally:
            self._metrics.forget_state()

    def _make(self, supervisor: Supervisor, ends: AsyncExitStack) -> ControllerManager:
        own, leader = self._elector.leaderships
        led = {self.name: own, MANAGER_LEASE: leader}
        return self._assembly.make(self.name, led, self._choice, self._share, supervisor, ends)


def _has_siblings() -> bool:
    """Tells whether a leader's process has started it, with all other shards: one that is started by itself is where
    its user wants it to be."""
    return bool(os.environ.get(ENDS_WITH_INPUT))


async def _end_of_input() -> None:
    """Returns when standard input has ended."""
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while await reader.read(1):
        continue
