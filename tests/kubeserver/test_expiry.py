"""Events end by themselves, an hour after they were last written."""

import asyncio
from datetime import UTC, datetime

from kubeapi.loop.clock import VirtualClock
from kubeapi.loop.virtual import run_virtual
from kubeapi.meta import Manifest
from kubeserver.controllers.expiry import MAX_DELETIONS
from kubeserver.store.memory import MemoryMedium
from tests.kubeserver.api_world import ApiWorld, api_world, config_map, tell

EVENTS = "/api/v1/namespaces/default/events"
MINUTE, HOUR = 60.0, 3600.0


def event(name: str, **fields: object) -> Manifest:
    about = {"kind": "Pod", "name": "p", "namespace": "default"}
    return {"apiVersion": "v1", "kind": "Event", "metadata": {"name": name}, "involvedObject": about, **fields}


async def names(world: ApiWorld) -> list[str]:
    return (await world.get(EVENTS)).names


def test_an_event_goes_an_hour_after_it_was_last_written_and_nothing_else_does():
    async def story(world: ApiWorld) -> None:
        await world.create("/api/v1/namespaces/default/configmaps", config_map("cm"))
        await world.create(EVENTS, event("once"))
        await world.create(EVENTS, event("again"))
        await asyncio.sleep(HOUR / 2)
        await world.patch(f"{EVENTS}/again", {"count": 2})
        await asyncio.sleep(HOUR / 2 - 1)
        assert await names(world) == ["again", "once"]
        await asyncio.sleep(2)
        assert await names(world) == ["again"]
        await asyncio.sleep(HOUR / 2)
        assert await names(world) == []
        assert (await world.get("/api/v1/namespaces/default/configmaps")).names == ["cm"]

    tell(story)


def test_a_watch_sees_the_end_of_an_event():
    async def story(world: ApiWorld) -> None:
        created = await world.create(EVENTS, event("e"))
        await asyncio.sleep(HOUR - 1)
        [(what, gone)] = await world.watch(EVENTS, 1, resourceVersion=created.version)
        assert (what, gone["metadata"]["name"]) == ("DELETED", "e")

    tell(story)


def test_an_event_of_the_new_group_ends_as_well():
    async def story(world: ApiWorld) -> None:
        new = {
            "metadata": {"name": "e"},
            "eventTime": "2026-01-01T00:00:00.000000Z",
            "reportingController": "test",
            "reportingInstance": "test-1",
            "action": "Test",
            "reason": "Test",
            "type": "Normal",
        }
        assert (await world.create("/apis/events.k8s.io/v1/namespaces/default/events", new)).code == 201
        await asyncio.sleep(HOUR + 1)
        assert await names(world) == []

    tell(story)


def test_a_server_that_starts_again_goes_by_what_the_events_say():
    medium = MemoryMedium()
    later = VirtualClock(datetime(2026, 1, 1, 0, 50, tzinfo=UTC))

    async def before() -> None:
        async with api_world(medium) as world:
            await world.create(EVENTS, event("old"))
            await world.create(EVENTS, event("again", lastTimestamp="2026-01-01T00:30:00Z"))
            await world.create(EVENTS, event("tomorrow", lastTimestamp="2026-01-02T00:00:00Z"))

    async def after() -> None:
        async with api_world(medium, clock=later) as world:
            await asyncio.sleep(9 * MINUTE)
            assert await names(world) == ["again", "old", "tomorrow"]
            await asyncio.sleep(2 * MINUTE)
            assert await names(world) == ["again", "tomorrow"]
            await asyncio.sleep(30 * MINUTE)
            assert await names(world) == ["tomorrow"]
            await asyncio.sleep(20 * MINUTE)
            assert await names(world) == []

    run_virtual(before())
    run_virtual(after())


def test_many_that_are_due_at_once_go_a_few_at_a_time():
    async def story(world: ApiWorld) -> None:
        for number in range(MAX_DELETIONS + 10):
            await world.create(EVENTS, event(f"e-{number:04}"))
        await asyncio.sleep(HOUR - 0.001)
        assert len(await names(world)) == MAX_DELETIONS + 10
        await asyncio.sleep(0.002)
        assert len(await names(world)) == 10
        await asyncio.sleep(1)
        assert await names(world) == []

    tell(story)
