"""Replicas of the controllers beside each other; each can be frozen in the middle of its work."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from leeward.apiserver.inprocess import ADMIN
from leeward.client import Client, Request, Response, Transport
from leeward.loop.supervisor import Supervisor
from leeward.manager.control_plane import ControllerManager
from leeward.manager.settings import ManagerSettings
from leeward.runtime.leader import READING, FencedTransport, LeaderElector, LeaderSettings, NotLeading
from leeward.sim.network import LinkedTransport
from leeward.sim.world import World


@asynccontextmanager
async def managed(world: World, *settings: ManagerSettings) -> AsyncGenerator[None, None]:
    """The world's own controllers are replaced by one manager for each of `settings`."""
    await world.stop_controllers()
    async with Supervisor("managers") as supervisor:
        managers = [
            ControllerManager(
                world.plane(Client(LinkedTransport(world.place, ADMIN)), supervisor),
                lambda cluster, _: Client(LinkedTransport(world.member(cluster.name).place, ADMIN)),
                each,
            )
            for each in settings
        ]
        for manager in managers:
            manager.start()
        yield
        for manager in managers:
            await manager.close()


class Replica:
    """One process that leads or waits. `writes` are the instants at which it sent one; `refused` were not sent."""

    def __init__(self, world: World, identity: str, settings: ManagerSettings) -> None:
        self.writes: list[float] = []
        self.refused = 0
        self.leads_since: list[float] = []
        self.flowing = asyncio.Event()
        self.flowing.set()
        self.supervisor = Supervisor(identity)
        self._world = world
        self._settings = settings
        frozen = _Freezing(_Recording(LinkedTransport(world.place, ADMIN), self), self)
        self._elector = LeaderElector(
            Client(frozen), "karmada-controller-manager", identity, world.clock, world.randomness, LeaderSettings()
        )

    @property
    def leads(self) -> bool:
        return self._elector.leadership.holds

    def start(self) -> None:
        self.supervisor.start(self._elector.lead(self._work), "lead")

    def freeze(self) -> None:
        """Nothing of it goes out, as if the process were stopped; what it was about to do, it does later."""
        self.flowing.clear()

    def thaw(self) -> None:
        self.flowing.set()

    async def _work(self) -> None:
        world = self._world
        self.leads_since.append(world.seconds)
        async with Supervisor("work") as supervisor:
            manager = ControllerManager(
                world.plane(Client(self._fenced(LinkedTransport(world.place, ADMIN))), supervisor),
                lambda cluster, _: Client(self._fenced(LinkedTransport(world.member(cluster.name).place, ADMIN))),
                self._settings,
            )
            manager.start()
            try:
                await asyncio.Event().wait()
            finally:
                await manager.close()

    def _fenced(self, transport: Transport) -> Transport:
        return _Freezing(FencedTransport(_Recording(transport, self), self._elector.leadership), self)


class _Recording:
    def __init__(self, inner: Transport, replica: Replica) -> None:
        self._inner = inner
        self._replica = replica

    async def send(self, request: Request, *, timeout_seconds: float) -> Response:
        if request.method not in READING and "/leases/" not in request.path:
            self._replica.writes.append(asyncio.get_running_loop().time())
        return await self._inner.send(request, timeout_seconds=timeout_seconds)

    def stream(self, request: Request) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        return self._inner.stream(request)

    async def close(self) -> None:
        await self._inner.close()


class _Freezing:
    """Holds requests up while the replica is frozen, and sends them when it thaws, whoever still waits for them."""

    def __init__(self, inner: Transport, replica: Replica) -> None:
        self._inner = inner
        self._replica = replica

    async def send(self, request: Request, *, timeout_seconds: float) -> Response:
        if self._replica.flowing.is_set():
            return await self._send(request, timeout_seconds)
        return await asyncio.shield(self._replica.supervisor.start(self._send(request, timeout_seconds), "late"))

    async def _send(self, request: Request, timeout_seconds: float) -> Response:
        await self._replica.flowing.wait()
        try:
            return await self._inner.send(request, timeout_seconds=timeout_seconds)
        except NotLeading:
            self._replica.refused += 1
            raise

    def stream(self, request: Request) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        return self._inner.stream(request)

    async def close(self) -> None:
        await self._inner.close()
