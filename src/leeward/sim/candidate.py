"""A replica of the controllers: a process that works while it holds the lease, and can be paused in the middle of that.

    manager ─▶ fence ─▶ `begun` ─▶ link        every write that passes the fence is told to `begun` before it is sent

Leases are renewed beside that, unfenced, as in production (`app/component.py`).
"""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack

from kubeapi.loop.supervisor import Supervisor
from kubeserver.inprocess import ADMIN
from leeward.client import Client, Request, Response, Transport
from leeward.manager.control_plane import ControllerManager
from leeward.manager.standby import Standby
from leeward.runtime.leader import READING, FencedTransport, LeaderElector, LeaderSettings, NotLeading
from leeward.sim.network import LinkedTransport
from leeward.sim.world import CONTROLLERS, World

LEASE = "karmada-controller-manager"
"""The name of the lease, in `karmada-system`."""

Begun = Callable[[str, Request], None]
"""Is called with the name of a replica, and the write that it begins."""


class Candidate:
    """One replica. `refused` counts the writes that it wanted to begin when its lease had ended."""

    def __init__(self, world: World, name: str, begun: Begun) -> None:
        self.name = name
        self.refused = 0
        self.life = world.begin_life(name)
        self._world = world
        self._begun = begun
        self._supervisor = Supervisor(name)
        leases = Client(LinkedTransport(world.place, ADMIN, world.link(CONTROLLERS, world.NAME)), "leader-election")
        self._elector = LeaderElector(leases, LEASE, name, world.clock, world.randomness, LeaderSettings())
        self._standby = Standby(f"work of {name}", self._make, world.controllers_clock)

    @property
    def leads(self) -> bool:
        return self._elector.leadership.holds

    def start(self) -> None:
        self.life.context().run(self._start)

    async def stop(self) -> None:
        """In order, as on SIGTERM."""
        await self._world.ended(self.life, self._supervisor.close())

    def _start(self) -> None:
        self._supervisor.start(self._standby.run(), "stand by")
        self._supervisor.start(self._elector.lead(self._standby.work), "lead")

    def _make(self, supervisor: Supervisor, _: AsyncExitStack) -> ControllerManager:
        return self._world.make_manager(supervisor, self._fence)

    def _fence(self, transport: Transport) -> Transport:
        return _Fence(FencedTransport(_Told(transport, self._tell), self._elector.leadership), self)

    def _tell(self, request: Request) -> None:
        if request.method not in READING and not self.life.ended:
            self._begun(self.name, request)


class _Fence:
    """Counts what the fence refuses."""

    def __init__(self, inner: Transport, candidate: Candidate) -> None:
        self._inner = inner
        self._candidate = candidate

    async def send(self, request: Request, *, timeout_seconds: float) -> Response:
        try:
            return await self._inner.send(request, timeout_seconds=timeout_seconds)
        except NotLeading:
            self._candidate.refused += 1
            raise

    def stream(self, request: Request) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        return self._inner.stream(request)

    async def close(self) -> None:
        await self._inner.close()


class _Told:
    """Tells what is sent, before it is."""

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
