"""Events: counted up, bounded, and never anyone's failure."""

import asyncio

import pytest

from leeward.api.core import ObjectReference
from leeward.api.resource import EVENTS
from leeward.loop.randomness import Randomness
from leeward.runtime.events import COUNT_SECONDS, NORMAL, EventRecorder, Note
from tests.unit.runtime.small_world import CLOCK, SmallWorld, tell


def note(name: str = "web", message: str = "it moved", version: str = "1") -> Note:
    about = ObjectReference(
        api_version="v1", kind="ConfigMap", namespace="default", name=name, resource_version=version
    )
    return Note("scheduler", about, NORMAL, "Moved", message)


def start(world: SmallWorld) -> EventRecorder:
    recorder = EventRecorder(world.client, CLOCK, Randomness(0))
    world.supervisor.start(recorder.run(), "events")
    return recorder


async def counts(world: SmallWorld) -> dict[tuple[str, str], int]:
    page = await world.direct.list(EVENTS, "default")
    return {(event.involved_object.name, event.message): event.count for event in page.items}


def test_equal_events_of_one_object_are_counted_once_in_a_while_and_others_are_written_apart() -> None:
    async def story(world: SmallWorld) -> None:
        recorder = start(world)
        for version in ("1", "2", "3"):
            recorder.record(note(version=version))
        recorder.record(note(message="it came back"))
        recorder.record(note(name="api"))
        await asyncio.sleep(1)
        assert await counts(world) == {("web", "it moved"): 1, ("web", "it came back"): 1, ("api", "it moved"): 1}
        await asyncio.sleep(COUNT_SECONDS[NORMAL])
        assert await counts(world) == {("web", "it moved"): 3, ("web", "it came back"): 1, ("api", "it moved"): 1}

    tell(story)


def test_an_event_that_the_server_has_forgotten_is_written_anew() -> None:
    async def story(world: SmallWorld) -> None:
        recorder = start(world)
        recorder.record(note())
        await asyncio.sleep(1)
        for event in (await world.direct.list(EVENTS, "default")).items:
            await world.direct.delete(EVENTS, event.name, "default")
        recorder.record(note())
        await asyncio.sleep(COUNT_SECONDS[NORMAL])
        assert await counts(world) == {("web", "it moved"): 1}

    tell(story)


def test_what_cannot_be_written_is_lost_and_the_rest_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    async def story(world: SmallWorld) -> None:
        recorder = start(world)
        world.link.cut()
        recorder.record(note(message="lost"))
        await asyncio.sleep(1)
        world.link.mend()
        recorder.record(note(message="told"))
        await asyncio.sleep(1)
        assert await counts(world) == {("web", "told"): 1}

    tell(story)
    assert "an event Moved of ConfigMap web is lost: connection refused" in caplog.text


def test_what_does_not_fit_into_the_buffer_is_dropped_and_the_recorder_never_waits(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("leeward.runtime.events.BUFFER", 5)

    async def story(world: SmallWorld) -> None:
        recorder = start(world)
        for _ in range(7):
            recorder.record(note())
        await asyncio.sleep(1 + COUNT_SECONDS[NORMAL])
        assert await counts(world) == {("web", "it moved"): 5}

    tell(story)
    assert caplog.text.count("dropped event Moved of ConfigMap web") == 2
