"""Links: the ways in which a request does not come back."""

import asyncio
import gc
from collections.abc import Awaitable, Callable
from contextlib import aclosing, suppress

import pytest

from kubeapi.core import CONFIG_MAPS, ConfigMap
from kubeapi.loop.lives import Life
from kubeapi.loop.supervisor import Supervisor
from kubeapi.loop.virtual import run_virtual
from kubeapi.meta import ObjectMeta
from kubeclient import Request, Response, Unreachable, WatchEvent
from kubeclient.client import REQUEST_TIMEOUT_SECONDS
from kubecluster.network import OPEN_TIMEOUT_SECONDS, LinkedTransport, Place
from kubeserver.handler import User
from kubeserver.inprocess import ADMIN
from tests.kubecluster.runtime.small_world import CLOCK, SmallWorld, tell

REQUESTS = 100


async def took(request: Callable[[], Awaitable[object]]) -> float:
    """The seconds until a request was answered or failed."""
    began = CLOCK.monotonic()
    with suppress(Unreachable):
        await request()
    return CLOCK.monotonic() - began


async def watch(world: SmallWorld, told: list[tuple[float, str]]) -> None:
    page = await world.direct.list(CONFIG_MAPS, "default")
    events = world.client.watch(CONFIG_MAPS, "default", resource_version=page.resource_version)
    async with aclosing(events):
        async for event in events:
            told.append((CLOCK.monotonic(), name_of(event)))


def name_of(event: WatchEvent[ConfigMap]) -> str:
    return event.object.name if event.object else event.type


def test_a_refused_link_fails_at_once_and_a_hung_one_at_the_deadline() -> None:
    async def story(world: SmallWorld) -> None:
        async def get() -> None:
            await world.client.list(CONFIG_MAPS)

        await get()
        world.link.cut()
        with pytest.raises(Unreachable, match="connection refused"):
            await get()
        assert await took(get) == 0
        world.link.mend()
        world.link.hang()
        assert await took(get) == REQUEST_TIMEOUT_SECONDS
        assert await took(lambda: watch(world, [])) == OPEN_TIMEOUT_SECONDS
        world.link.flow()
        await get()

    tell(story)


def test_a_slow_link_delays_every_answer_but_adds_up_nothing_along_a_stream() -> None:
    async def story(world: SmallWorld) -> None:
        world.link.latency_seconds = 3
        told: list[tuple[float, str]] = []
        world.supervisor.start(watch(world, told), "watch")
        assert await took(lambda: world.client.list(CONFIG_MAPS)) == 3
        await asyncio.sleep(2)
        for name in "abc":
            await world.write(name)
        await asyncio.sleep(10)
        assert told == [(8, "a"), (8, "b"), (8, "c")]
        world.link.latency_seconds = REQUEST_TIMEOUT_SECONDS + 1
        assert await took(lambda: world.client.list(CONFIG_MAPS)) == REQUEST_TIMEOUT_SECONDS

    tell(story)


def test_a_cut_breaks_open_streams_and_waiting_requests_even_if_mended_at_once() -> None:
    async def story(world: SmallWorld) -> None:
        stream = world.supervisor.start(watch(world, []), "watch")
        await asyncio.sleep(1)
        world.link.hang()
        request = world.supervisor.start(world.client.list(CONFIG_MAPS), "list")  # type: ignore[arg-type]
        await asyncio.sleep(1)
        world.link.cut()
        await asyncio.sleep(0)
        world.link.cut()
        world.link.mend()
        for broken in (stream, request):
            with pytest.raises(Unreachable, match="connection reset"):
                await broken
        assert CLOCK.monotonic() == 2

    tell(story)


def test_a_write_whose_answer_was_lost_has_happened() -> None:
    async def story(world: SmallWorld) -> None:
        obj = ConfigMap(metadata=ObjectMeta(name="a", namespace="default"))
        written = world.supervisor.start(world.client.create(CONFIG_MAPS, obj, "default"), "write")
        while not (await world.direct.list(CONFIG_MAPS, "default")).items and not written.done():
            world.link.hang()
        with pytest.raises(Unreachable, match="no answer within"):
            await written
        assert (await world.direct.get(CONFIG_MAPS, "a", "default")).name == "a"

    tell(story)


def test_a_hung_stream_brings_what_was_said_meanwhile_when_it_flows_again() -> None:
    async def story(world: SmallWorld) -> None:
        told: list[tuple[float, str]] = []
        world.supervisor.start(watch(world, told), "watch")
        await asyncio.sleep(1)
        world.link.hang()
        await world.write("a")
        await world.write("b")
        await asyncio.sleep(20)
        assert told == []
        world.link.flow()
        await asyncio.sleep(1)
        assert told == [(21, "a"), (21, "b")]

    tell(story)


def test_a_server_that_is_killed_while_it_opens_a_stream_leaves_nobody_waiting() -> None:
    class Slow:
        async def handle(self, request: Request, user: User) -> Response:
            await asyncio.sleep(60)
            raise AssertionError("it was killed long ago")

    async def story() -> float:
        place, life, loop = Place(), Life("server"), asyncio.get_running_loop()
        place.put(Slow(), life)

        async def kill() -> None:
            await asyncio.sleep(1)
            life.end()
            place.take_away()

        async with Supervisor() as supervisor:
            supervisor.start(kill(), "kill")
            with pytest.raises(Unreachable, match="connection reset"):
                async with LinkedTransport(place, ADMIN).stream(Request("GET", "/api/v1/pods")):
                    pass
            await life.release()
            return loop.time()

    assert run_virtual(story()) == 1


def test_a_request_that_was_answered_leaves_nothing_to_the_garbage_collector() -> None:
    async def story(world: SmallWorld) -> None:
        async def ask() -> None:
            for _ in range(REQUESTS):
                await world.client.list(CONFIG_MAPS)

        await ask()
        gc.collect()
        await ask()
        await asyncio.sleep(2 * REQUEST_TIMEOUT_SECONDS)
        assert gc.collect() < REQUESTS

    tell(story)
