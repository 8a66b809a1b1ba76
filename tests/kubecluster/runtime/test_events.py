"""Events: counted up, bounded, and never anyone's failure."""

import asyncio
from collections import Counter
from dataclasses import replace

import msgspec
import pytest

from controller_runtime.event_lane import BURST, CHANGE_SECONDS, COUNT_SECONDS
from controller_runtime.events import BURST_SECONDS, BURST_SIZE, HELD_SECONDS, LANES, NORMAL, EventRecorder, Note, Rank
from kubeapi.core import EVENTS, NAMESPACES, ObjectReference
from kubeapi.loop.randomness import Randomness
from kubeapi.loop.supervisor import Supervisor
from kubeapi.loop.virtual import run_virtual
from kubeclient import Client
from tests.kubecluster.runtime.small_world import CLOCK, ScriptedTransport, SmallWorld, config_map, response, tell


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
    monkeypatch.setattr("controller_runtime.events.BUFFER", 5)

    async def story(world: SmallWorld) -> None:
        recorder = start(world)
        for _ in range(7):
            recorder.record(note())
        await asyncio.sleep(1 + COUNT_SECONDS[NORMAL])
        assert await counts(world) == {("web", "it moved"): 5}

    tell(story)
    assert caplog.text.count("dropped event Moved of ConfigMap web") == 2


def step(name: str, reason: str = "Synced") -> Note:
    return replace(note(name), reason=reason, rank=Rank.STEP)


def test_steps_of_a_few_are_told_and_those_of_a_burst_are_left_out() -> None:
    async def story(world: SmallWorld) -> None:
        recorder = start(world)
        for index in range(BURST_SIZE - 1):
            recorder.record(step(f"few-{index}"))
        await asyncio.sleep(HELD_SECONDS + 1)
        assert len(await counts(world)) == BURST_SIZE - 1
        await asyncio.sleep(BURST_SECONDS)
        for index in range(10 * BURST_SIZE):
            recorder.record(step(f"many-{index}"))
            recorder.record(replace(note(f"many-{index}"), component="mover", rank=Rank.MOVE))
            await asyncio.sleep(0.01)
        await asyncio.sleep(HELD_SECONDS + 1)
        told = Counter(event.reason for event in (await world.direct.list(EVENTS, "default")).items)
        assert told == {"Synced": BURST_SIZE - 1, "Moved": 10 * BURST_SIZE}, (
            "the first of a burst wait, and are left out as well"
        )
        await asyncio.sleep(BURST_SECONDS)
        recorder.record(step("late"))
        await asyncio.sleep(HELD_SECONDS + 1)
        assert ("late", "it moved") in await counts(world), "a burst ends"

    tell(story)


def in_namespace(told: Note, namespace: str) -> Note:
    return replace(told, about=msgspec.structs.replace(told.about, namespace=namespace))


async def make_namespaces(world: SmallWorld, *names: str) -> None:
    for name in names:
        await world.direct.create(NAMESPACES, {"metadata": {"name": name}})


async def told_in(world: SmallWorld, namespace: str) -> set[str]:
    return {event.involved_object.name for event in (await world.direct.list(EVENTS, namespace)).items}


def test_a_burst_of_one_namespace_leaves_out_no_step_of_another() -> None:
    """A step about an object that lies elsewhere is of the namespace whose users it concerns."""

    async def story(world: SmallWorld) -> None:
        recorder = start(world)
        await make_namespaces(world, "pipeline", "shop", "karmada-es-m1")
        for index in range(10 * BURST_SIZE):
            recorder.record(in_namespace(step(f"many-{index}"), "pipeline"))
            work = in_namespace(step(f"many-{index}-work"), "karmada-es-m1")
            recorder.record(replace(work, namespace="pipeline"))
        recorder.record(in_namespace(step("one"), "shop"))
        recorder.record(replace(in_namespace(step("one-work"), "karmada-es-m1"), namespace="shop"))
        await asyncio.sleep(HELD_SECONDS + 1)
        told = [await told_in(world, namespace) for namespace in ("pipeline", "shop", "karmada-es-m1")]
        assert told == [set(), {"one"}, {"one-work"}]

    tell(story)


def test_who_knows_of_a_burst_of_some_namespaces_has_the_steps_of_others_told() -> None:
    async def story(world: SmallWorld) -> None:
        recorder = start(world)
        await make_namespaces(world, "team-a", "team-b", "shop")
        recorder.expect_burst(["team-a", "team-b"])
        for namespace in ("team-a", "team-b", "shop"):
            recorder.record(in_namespace(step("web"), namespace))
        await asyncio.sleep(HELD_SECONDS + 1)
        assert [await told_in(world, each) for each in ("team-a", "team-b", "shop")] == [set(), set(), {"web"}]

    tell(story)


def test_who_knows_of_a_burst_beforehand_has_no_step_of_it_told() -> None:
    async def story(world: SmallWorld) -> None:
        recorder = start(world)
        recorder.expect_burst(["default"])
        recorder.record(step("web"))
        await asyncio.sleep(HELD_SECONDS + 1)
        assert await counts(world) == {}

    tell(story)


@pytest.mark.parametrize(("is_expected", "lines"), [(True, 1), (False, BURST_SIZE)])
def test_what_a_burst_leaves_out_makes_no_line_in_the_log(
    caplog: pytest.LogCaptureFixture, *, is_expected: bool, lines: int
) -> None:
    """The first steps of a burst that nobody expects are not known to be such, and the move is told in either."""

    async def story(world: SmallWorld) -> None:
        recorder = start(world)
        if is_expected:
            recorder.expect_burst(["default"])
        for index in range(5 * BURST_SIZE):
            recorder.record(step(f"many-{index}"))
        recorder.record(replace(note("web"), rank=Rank.MOVE))

    with caplog.at_level("INFO", "controller_runtime.events"):
        tell(story)
    told = [record for record in caplog.records if record.name == "controller_runtime.events"]
    assert len(told) == lines


def test_a_step_is_told_before_what_its_source_tells_next() -> None:
    async def story(world: SmallWorld) -> None:
        recorder = start(world)
        recorder.record(step("web"))
        recorder.record(replace(note("web"), message="it failed", reason="Failed"))
        await asyncio.sleep(HELD_SECONDS / 2)
        assert await states(world) == [("it moved", 1), ("it failed", 1)]

    tell(story)


def test_a_step_that_is_repeated_costs_no_write_until_it_is_old() -> None:
    async def story(world: SmallWorld) -> None:
        recorder = start(world)
        for _ in range(3):
            recorder.record(step("web"))
            await asyncio.sleep(1)
        await asyncio.sleep(2 * COUNT_SECONDS[NORMAL])
        assert await counts(world) == {("web", "it moved"): 1}
        recorder.record(step("web"))
        await asyncio.sleep(1)
        assert await counts(world) == {("web", "it moved"): 4}

    tell(story)


@pytest.mark.long
def test_of_five_thousand_moves_none_is_dropped_and_they_go_before_the_rest(caplog: pytest.LogCaptureFixture) -> None:
    """Each request takes a while: as many as there are lanes are made at once."""
    applications, others, request_seconds = 5_000, 1_000, 0.02

    async def story(world: SmallWorld) -> None:
        recorder = start(world)
        world.link.latency_seconds = request_seconds
        recorder.expect_burst(["default"])
        for index in range(applications):
            recorder.record(step(f"app-{index}"))
        for index in range(others):
            recorder.record(replace(note(f"app-{index}"), message="synced", reason="Changed"))
        for index in range(applications):
            recorder.record(replace(note(f"app-{index}"), component="mover", rank=Rank.MOVE))
        await asyncio.sleep(1.02 * applications * request_seconds / LANES)
        first = Counter(event.reason for event in (await world.direct.list(EVENTS, "default")).items)
        assert first["Moved"] == applications, "within the time that as many requests take, so many at once"
        assert first["Changed"] < others / 2
        await asyncio.sleep(2 * others * request_seconds / LANES)
        told = Counter(event.reason for event in (await world.direct.list(EVENTS, "default")).items)
        assert told == {"Moved": applications, "Changed": others}

    tell(story)
    assert "dropped" not in caplog.text


def test_where_there_is_no_room_the_least_is_dropped(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("controller_runtime.events.BUFFER", 3)

    async def story(world: SmallWorld) -> None:
        recorder = start(world)
        recorder.record(step("a"))
        recorder.record(note("b"))
        recorder.record(note("c"))
        recorder.record(replace(note("d"), rank=Rank.MOVE))
        recorder.record(replace(note("e"), rank=Rank.MOVE))
        recorder.record(note("f"))
        await asyncio.sleep(1 + HELD_SECONDS)
        told = {name for name, _ in await counts(world)}
        assert told >= {"d", "e"}
        assert len(told) == 3

    tell(story)
    dropped = [record.message for record in caplog.records if record.message.startswith("dropped")]
    assert dropped[0] == "dropped event Synced of ConfigMap a"
    assert dropped[-1] == "dropped event Moved of ConfigMap f"
    assert len(dropped) == 3


def test_a_server_that_has_too_much_to_do_is_told_later() -> None:
    busy = response({"details": {"retryAfterSeconds": 7}}, 429)
    wire = ScriptedTransport([busy, busy, response(config_map("web", 1), 201)])

    async def story() -> None:
        async with Supervisor("test") as supervisor:
            recorder = EventRecorder(Client(wire), CLOCK, Randomness(0))
            supervisor.start(recorder.run(), "events")
            recorder.record(note())
            await asyncio.sleep(60)
            assert [at - wire.asked_at[0] for at in wire.asked_at] == pytest.approx([0, 7, 14])
            assert len({request.body for request in wire.requests}) == 1, "the same event"

    run_virtual(story())
