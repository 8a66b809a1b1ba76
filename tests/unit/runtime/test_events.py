"""Events: counted up, bounded, and never anyone's failure."""

import asyncio
from dataclasses import replace

import pytest

from kubeapi.loop.randomness import Randomness
from leeward.api.core import ObjectReference
from leeward.api.resource import EVENTS
from leeward.runtime.events import BURST, CHANGE_SECONDS, COUNT_SECONDS, NORMAL, EventRecorder, Note
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


async def states(world: SmallWorld) -> list[tuple[str, int]]:
    """Messages and counts in the order of their last times."""
    page = await world.direct.list(EVENTS, "default")
    told = sorted(page.items, key=lambda event: (event.last_timestamp, int(event.metadata.resource_version)))
    return [(event.message, event.count) for event in told]


def test_a_change_of_state_is_a_new_event_also_back_to_a_state_that_was_told_before() -> None:
    async def story(world: SmallWorld) -> None:
        recorder = start(world)
        for message in ("lost", "back", "lost", "lost", "back"):
            recorder.record(note(message=message))
            await asyncio.sleep(1)
        assert await states(world) == [("lost", 1), ("back", 1), ("lost", 1), ("back", 1)]
        await asyncio.sleep(COUNT_SECONDS[NORMAL])
        assert sorted(await states(world)) == [("back", 1), ("back", 1), ("lost", 1), ("lost", 2)]

    tell(story)


def test_what_two_components_tell_of_one_object_is_no_change_of_each_others_state() -> None:
    async def story(world: SmallWorld) -> None:
        recorder = start(world)
        for _ in range(3):
            recorder.record(note(message="placed"))
            recorder.record(replace(note(message="synced"), component="binding-controller"))
        await asyncio.sleep(1)
        assert sorted(await states(world)) == [("placed", 1), ("synced", 1)]

    tell(story)


def test_what_goes_to_and_fro_for_ever_writes_within_a_budget_and_its_last_state_is_soon_told() -> None:
    async def story(world: SmallWorld) -> None:
        recorder = start(world)
        about = note().about
        flaps = 10 * BURST
        for index in range(flaps):
            lost = index % 2 == 0
            message = f"{'lost' if lost else 'back'} for the {index}. time"
            recorder.record(Note("cluster", about, NORMAL, "Lost" if lost else "Back", message))
            await asyncio.sleep(0.1)
        await asyncio.sleep(CHANGE_SECONDS)
        told = await states(world)
        assert len(told) == BURST
        assert told[-1][0] == f"back for the {flaps - 1}. time"
        assert sum(times for _, times in told) == flaps
        revisions = [
            int(event.metadata.resource_version) for event in (await world.direct.list(EVENTS, "default")).items
        ]
        assert max(revisions) - min(revisions) < BURST + 20, "and it is not counted up each time"

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
