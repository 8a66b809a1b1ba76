"""Replicas of the controllers: processes that work while they hold a lease, and can be paused in the middle of that.

    manager ─▶ fence ─▶ `begun` ─▶ link        every write that passes the fence is told to `begun` before it is sent

Leases are renewed beside that, unfenced, as in production (`app/component.py`). A `Candidate` does all the work, or
that of a leader which leaves the rest to shards; a `ShardCandidate` does that of one shard.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Protocol

from controller_runtime import READING, FencedTransport, LeaderElector, NotLeading
from kubeapi.loop import Supervisor
from kubeclient import Client, Request, Response, Transport
from kubecluster.network import LinkedTransport
from kubeserver.inprocess import ADMIN
from leeward.api.names import leader_identity
from leeward.manager.control_plane import ControllerManager
from leeward.manager.standby import Standby
from leeward.runtime.shard_leases import LeaderWatch, ShardElector
from leeward.runtime.shard_spread import ShardSpread
from leeward.runtime.sharding import LeaderSettings, Sharding
from leeward.runtime.work_share import WHOLE, Shard, WorkShare
from leeward.sim.world import CONTROLLERS, World

LEASE = "karmada-controller-manager"
"""The name of the lease, in `karmada-system`."""

Begun = Callable[[str, Request], None]
"""Function of the name of a replica, and the write that it begins."""


class _Replica:
    """A process with controllers of a share. `refused` counts the writes that it wanted to begin when it might not."""

    _elector: LeaderElector | ShardElector

    def __init__(self, world: World, name: str, begun: Begun, share: WorkShare) -> None:
        self.name = name
        self.refused = 0
        self.life = world.begin_life(name)
        self._world = world
        self._begun = begun
        self._share = share
        self._supervisor = Supervisor(name)
        self._leases = Client(
            LinkedTransport(world.place, ADMIN, world.link(CONTROLLERS, world.NAME)), "leader-election"
        )
        self._standby = Standby(f"work of {name}", self._make, world.controllers_clock)

    def start(self) -> None:
        self.life.context().run(self._start)

    async def stop(self) -> None:
        """Ends in order, as on SIGTERM."""
        await self._world.ended(self.life, self._supervisor.close())

    @property
    def leads(self) -> bool:
        """Tells whether it may begin a write."""
        return all(leadership.holds for leadership in self._elector.leaderships)

    def _elect(self, lease: str, sharding: Sharding | None = None, identity: str = "") -> LeaderElector:
        clock, randomness, identity = self._world.clock, self._world.randomness, identity or self.name
        return LeaderElector(self._leases, lease, identity, clock, randomness, LeaderSettings(), sharding)

    def _start(self) -> None:
        self._supervisor.start(self._standby.run(), "stand by")
        self._supervisor.start(self._elector.lead(self._standby.work), "lead")

    def _make(self, supervisor: Supervisor, _: AsyncExitStack) -> ControllerManager:
        return self._world.make_manager(supervisor, self._fence, self._share)

    def _fence(self, transport: Transport) -> Transport:
        transport = ToldTransport(transport, self._tell)
        for leadership in self._elector.leaderships:
            transport = FencedTransport(transport, leadership)
        return Fence(transport, self)

    def _tell(self, request: Request) -> None:
        if request.method not in READING and not self.life.ended:
            self._begun(self.name, request)


class Candidate(_Replica):
    """One candidate for the lease. `sharding`: it leaves the work of shards to them."""

    def __init__(self, world: World, name: str, begun: Begun, sharding: Sharding | None = None) -> None:
        super().__init__(world, name, begun, WHOLE if sharding is None else WorkShare.of_leader())
        self._elector = self._elect(LEASE, sharding)


class ShardCandidate(_Replica):
    """One candidate for a shard of a sharding; on a `host` shards are spread over all that there are."""

    def __init__(self, world: World, name: str, begun: Begun, index: int, sharding: Sharding, host: str = "") -> None:
        super().__init__(world, name, begun, WorkShare.of_shard(Shard(index, sharding.shards)))
        watch = LeaderWatch(self._leases, LEASE, sharding, world.clock, LeaderSettings())
        identity = leader_identity(host, name) if host else name
        slot = self._elect(sharding.lease_of(index), identity=identity)
        spread = ShardSpread(self._leases, sharding, index, identity, slot, LeaderSettings().namespace)
        self._elector = ShardElector(slot, watch, spread if host else None)


class Refusals(Protocol):
    refused: int


class Fence:
    """Counts what the fence `inner` refuses."""

    def __init__(self, inner: Transport, refusals: Refusals) -> None:
        self._inner = inner
        self._refusals = refusals

    async def send(self, request: Request, *, timeout_seconds: float) -> Response:
        try:
            return await self._inner.send(request, timeout_seconds=timeout_seconds)
        except NotLeading:
            self._refusals.refused += 1
            raise

    def stream(self, request: Request) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        return self._inner.stream(request)

    async def close(self) -> None:
        await self._inner.close()


class ToldTransport:
    """Tells `tell` of each request before it is sent."""

    def __init__(self, inner: Transport, tell: Callable[[Request], None]) -> None:
        self._inner = inner
        self._tell = tell

    async def send(self, request: Request, *, timeout_seconds: float) -> Response:
        self._tell(request)
        return await self._inner.send(request, timeout_seconds=timeout_seconds)

    def stream(self, request: Request) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        return self._inner.stream(request)

    async def close(self) -> None:
        await self._inner.close()
