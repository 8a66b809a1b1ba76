"""Informers that catch up: who begins knows what was written last, and lists nothing that it knows already."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

from controller_runtime.informer import Informer
from controller_runtime.informers import QUIET_SECONDS, Informers
from kubeapi.core import CONFIG_MAPS, ConfigMap
from kubeapi.loop.randomness import Randomness
from kubeclient import Client, Request, Response, Transport
from kubeclient.bounds import OPEN_TIMEOUT_SECONDS
from tests.kubecluster.runtime.small_world import CLOCK, SmallWorld, tell


class HalfOpen:
    """A transport whose open streams say nothing more once they are `stuck`; those that are opened later do."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self._age = 0
        self.refuses = False
        self.lists = self.watches = 0

    def stick(self) -> None:
        self._age += 1

    async def send(self, request: Request, *, timeout_seconds: float) -> Response:
        self.lists += 1
        return await self._inner.send(request, timeout_seconds=timeout_seconds)

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[AsyncIterator[bytes], None]:
        self.watches += 1
        if self.refuses:
            await asyncio.Event().wait()
        async with self._inner.stream(request) as lines:
            yield self._while_young(lines, self._age)

    async def _while_young(self, lines: AsyncIterator[bytes], age: int) -> AsyncGenerator[bytes, None]:
        async for line in lines:
            if age < self._age:
                await asyncio.Event().wait()
            yield line

    async def close(self) -> None:
        await self._inner.close()


Following = tuple[HalfOpen, Informers, Informer[ConfigMap]]


async def following(world: SmallWorld) -> Following:
    """A kind that is followed, and has been for a while."""
    await world.write("a")
    transport = HalfOpen(world.transport)
    informers = Informers(Client(transport), Randomness(0), world.supervisor)
    informer = informers.of(CONFIG_MAPS)
    await informer.wait_synced()
    await asyncio.sleep(60)
    assert (transport.lists, transport.watches) == (1, 1)
    return transport, informers, informer


async def revision(world: SmallWorld) -> int:
    return int((await world.direct.list(CONFIG_MAPS, limit=1)).resource_version)


def test_s5_what_a_watch_that_hangs_has_not_told_is_known_before_anybody_begins() -> None:
    async def story(world: SmallWorld) -> None:
        transport, informers, informer = await following(world)
        transport.stick()
        await world.write("b")
        await world.delete("a")
        await asyncio.sleep(5)
        assert [each.name for each in informer.list()] == ["a"]
        await informers.catch_up(await revision(world))
        assert [each.name for each in informer.list()] == ["b"]
        assert (transport.lists, transport.watches) == (1, 2)

    tell(story)


def test_a_kind_that_is_quiet_has_caught_up_when_its_new_watch_has_been_quiet_for_a_moment() -> None:
    async def story(world: SmallWorld) -> None:
        transport, informers, _ = await following(world)
        began = CLOCK.monotonic()
        await informers.catch_up(await revision(world) + 1)
        assert QUIET_SECONDS <= CLOCK.monotonic() - began <= 2 * QUIET_SECONDS
        assert (transport.lists, transport.watches) == (1, 2)

    tell(story)


def test_what_has_come_as_far_is_not_asked_for_anew() -> None:
    async def story(world: SmallWorld) -> None:
        transport, informers, informer = await following(world)
        began = CLOCK.monotonic()
        await informers.catch_up(informer.version)
        assert CLOCK.monotonic() == began
        assert (transport.lists, transport.watches) == (1, 1)

    tell(story)


def test_s5_what_cannot_be_followed_is_complete_only_when_it_was_listed_again() -> None:
    async def story(world: SmallWorld) -> None:
        transport, informers, informer = await following(world)
        transport.stick()
        transport.refuses = True
        await world.write("b")
        began = CLOCK.monotonic()
        await informers.catch_up(await revision(world))
        assert OPEN_TIMEOUT_SECONDS <= CLOCK.monotonic() - began <= OPEN_TIMEOUT_SECONDS + 1
        assert not informer.synced
        await informer.wait_synced()
        assert {each.name for each in informer.list()} == {"a", "b"}
        assert transport.lists == 2

    tell(story)


def test_s5_a_list_that_was_begun_before_is_begun_anew() -> None:
    async def story(world: SmallWorld) -> None:
        await world.write("a")
        latest = await revision(world)
        transport = HalfOpen(world.transport)
        informers = Informers(Client(transport), Randomness(0), world.supervisor)
        informer = informers.of(CONFIG_MAPS)
        await asyncio.sleep(0)
        assert transport.lists == 1
        await informers.catch_up(latest)
        await informer.wait_synced()
        assert transport.lists == 2

    tell(story)
