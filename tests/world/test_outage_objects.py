"""Outages as objects: what an `Outage` tells of each kind of outage, how seldom it is written, and who goes on."""

from collections.abc import Callable
from copy import deepcopy

import pytest

from kubeapi.meta import Manifest, ObjectMeta
from kubeapi.resource import Resource
from kubeapi.transport import Response
from kubeclient import Request
from kubecluster.network import Answering
from kubeserver.handler import StreamResponse
from leeward.answers.reading import read_fleet, read_outages
from leeward.answers.timeline import OutageFilter, timeline
from leeward.api.outage import ClusterOutage, MoveState, OutagePhase, OutageSpec, OutageStatus, StepKind
from leeward.api.resource import CLUSTERS, OUTAGES
from leeward.api.schema import custom_resource_definitions
from leeward.controllers.outage import MOST_OUTAGES
from leeward.core.outages.recovery import duration
from leeward.operations import OperationFailed
from leeward.operations.outage_story import StoryLine, Tone
from leeward.operations.status import look_at_fleet
from leeward.sim.world import Mode, World
from tests.world.stories import apply, by_weight, deployment, in_world, play, policy, tasks, with_room, without_room

WEB = "web-deployment"
FOUR: dict[str, Mode] = {"member1": "Push", "member2": "Pull", "member3": "Push", "member4": "Push"}
TWO: dict[str, Mode] = {"member1": "Push", "member2": "Push"}
UNTYPED = Resource.of_manifests(OUTAGES.api_version, OUTAGES.plural, OUTAGES.kind, False)
UNTIL_READY = (StepKind.FAILED_PROBE, StepKind.NOT_READY)
"""The steps with which each outage begins."""


async def outages(world: World, cluster: str = "member1") -> list[ClusterOutage]:
    """Outages of one cluster, the oldest first."""
    found = (await world.client.list(OUTAGES)).items
    return sorted((each for each in found if each.spec.cluster == cluster), key=lambda each: each.spec.since)


async def only_outage(world: World, cluster: str = "member1") -> ClusterOutage:
    (outage,) = await outages(world, cluster)
    return outage


def kinds(outage: ClusterOutage) -> list[StepKind]:
    return [step.kind for step in outage.status.steps]


def seconds_of(outage: ClusterOutage, kind: StepKind) -> int:
    """Seconds after the first failed probe, of the only such step."""
    (step,) = (step for step in outage.status.steps if step.kind is kind)
    return int((step.at - outage.spec.since).total_seconds())


def counts(outage: ClusterOutage) -> dict[str, int]:
    """Counts of the outage that are not zero."""
    status = outage.status
    states = {state.value: int(getattr(status, state.value.lower())) for state in MoveState}
    assert sum(states.values()) == status.applications
    return {state: count for state, count in states.items() if count}


def writes_to_outages(world: World) -> list[str]:
    """A list that grows with each write to an Outage."""
    written: list[str] = []

    async def audit(request: Request, answer: Callable[[], Answering]) -> Response | StreamResponse:
        if request.method != "GET" and "/outages" in request.path:
            written.append(request.method)
        return await answer()

    world.place.audit = audit
    return written


async def placed(world: World, name: str = "web", weights: dict[str, int] | None = None, replicas: int = 3) -> None:
    """A Deployment, a third of it in member1 where nothing else is said."""
    shares = weights or {"member1": 1, "member2": 2}
    await apply(world.client, deployment(name, replicas), policy(name, by_weight(shares)))
    await world.until(lambda: sum(world.assigned(f"{name}-deployment").values()) == replicas, 60)


async def quiet(world: World) -> None:
    """Everything is there and reported, and the next probe of member1 is due in nine seconds."""
    await world.sleep(60)
    await world.sleep_to_whole(10, offset=1)


async def lost(world: World, name: str = "member1") -> None:
    """The member dies, and that counts."""
    await world.member(name).stop()
    await world.until(lambda: not world.is_ready(name))


async def returned(world: World, name: str = "member1") -> None:
    """The member is there again, and that counts."""
    await world.member(name).start()
    await world.until(lambda: world.is_ready(name))


@pytest.mark.long
@in_world()
async def test_an_outage_is_told_from_the_first_failed_probe_until_it_is_cleaned_up(world: World) -> None:
    await placed(world)
    await quiet(world)
    assert await outages(world) == [], "while all is well there is nothing to tell"
    await world.member("member1").stop()
    await world.until(lambda: world.assigned(WEB) == {"member2": 3})
    await world.sleep(30)
    outage = await only_outage(world)
    uid, status = outage.metadata.uid, outage.status
    assert outage.name == f"member1-{outage.spec.since:%Y%m%d-%H%M%S}"
    assert (status.phase, status.lasted, counts(outage)) == (OutagePhase.RUNNING, "running", {"Moved": 1})
    assert kinds(outage) == [*UNTIL_READY, StepKind.NO_EXECUTE, StepKind.LEFT]
    assert seconds_of(outage, StepKind.NOT_READY) == 30
    assert seconds_of(outage, StepKind.NO_EXECUTE) == 330
    assert seconds_of(outage, StepKind.LEFT) == 630
    left = status.steps[-1]
    assert (left.applications, left.healthy, left.to, left.tolerated_seconds) == (1, 1, ("member2",), 300)
    (told,) = status.listed
    assert (told.kind, told.namespace, told.name, told.to) == ("Deployment", "default", "web", {"member2": 1})
    assert told.left_at == left.at
    assert told.healthy_at is not None
    assert told.recovery_seconds == (told.healthy_at - outage.spec.since).total_seconds() > 630
    assert status.recovery.median_seconds == status.recovery.worst_seconds == told.recovery_seconds
    assert status.recovery.worst == duration(status.recovery.worst_seconds)
    assert [(point.due, point.moving, point.moved) for point in status.curve] == [(1, 0, 0), (0, 1, 0), (0, 0, 1)]
    sample = world.metrics.registry.get_sample_value
    assert sample("leeward_recovery_seconds_count") == 1
    assert sample("leeward_recovery_seconds_sum") == told.recovery_seconds
    moved = {"member_cluster": "member1", "state": "Moved"}
    assert sample("leeward_outage_applications", moved) == 1

    await returned(world)
    await world.sleep(60)
    outage = await only_outage(world)
    assert (outage.metadata.uid, outage.status.phase) == (uid, OutagePhase.OVER)
    assert outage.status.returned_at is not None
    assert outage.status.cleaned_at is not None
    assert outage.status.lasted == duration((outage.status.returned_at - outage.spec.since).total_seconds())
    assert set(kinds(outage)[4:]) == {StepKind.RETURNED, StepKind.CLEANED}
    assert counts(outage) == {"Moved": 1}
    assert sample("leeward_outage_applications", moved) is None, "nothing is lost any more"


@in_world()
async def test_a_running_outage_says_what_comes_next_and_then_it_comes(world: World) -> None:
    await placed(world)
    await quiet(world)
    await lost(world)
    await world.sleep(10)
    expected, leaving = await to_come(world)
    assert expected.sentence == "member1 gets the taint NoExecute, unless it is back by then"
    await world.until(lambda: "cluster.karmada.io/not-ready:NoExecute" in world.taints("member1"))
    (taint,) = (taint for taint in world.cluster("member1").spec.taints if taint.effect == "NoExecute")
    assert expected.at == taint.time_added
    await world.sleep(10)
    (expected,) = await to_come(world)
    assert expected == leaving
    assert expected.sentence == "1 application leaves"
    await world.until(lambda: world.assigned(WEB) == {"member2": 3})
    assert expected.at is not None
    assert abs((world.clock.now() - expected.at).total_seconds()) < 1
    await world.sleep(15)
    (expected,) = await to_come(world)
    assert expected.sentence == "when member1 returns, the old copies of 1 application are deleted there"


@in_world()
async def test_who_will_find_no_place_is_not_said_to_leave(world: World) -> None:
    await placed(world)
    await placed(world, "solo", {"member1": 1})
    await quiet(world)
    await lost(world)
    await world.sleep(60)
    taint, leaves, stays = await to_come(world)
    assert taint.sentence.startswith("member1 gets the taint NoExecute")
    assert {leaves.sentence, stays.sentence} == {"1 application leaves", "1 application is due to leave, but cannot"}
    details = [finding.details for finding in (await look_at_fleet(world.client, world.clock)).findings]
    assert any("1 cannot move" in detail for each in details for detail in each)


async def to_come(world: World) -> list[StoryLine]:
    """Lines that `leeward timeline` says are yet to come."""
    told = timeline(await read_outages(world.client, world.clock), OutageFilter())
    return [line for outage in told.outages for line in outage.story if line.tone is Tone.TO_COME]


def writes_of_an_outage_of(applications: int) -> int:
    written: list[str] = []

    async def story(world: World) -> None:
        for index in range(applications):
            await placed(world, f"app-{index}", {"member1": 1, "member2": 1}, 2)
        await quiet(world)
        written.extend(await _writes_of_one_outage(world, applications))

    play(story, TWO)
    return len(written)


async def _writes_of_one_outage(world: World, applications: int) -> list[str]:
    written = writes_to_outages(world)
    await lost(world)
    names = [f"app-{index}-deployment" for index in range(applications)]
    await world.until(lambda: all(world.assigned(name) == {"member2": 2} for name in names))
    await world.sleep(600)
    await world.member("member1").start()
    await world.sleep(300)
    outage = await only_outage(world)
    assert (outage.status.phase, counts(outage)) == (OutagePhase.OVER, {"Moved": applications})
    before = len(written)
    await world.sleep(3600)
    assert len(written) == before, "and then no more"
    return written


@pytest.mark.long
def test_an_outage_is_written_a_few_times_however_many_applications_it_concerns() -> None:
    few, many = writes_of_an_outage_of(1), writes_of_an_outage_of(40)
    assert few <= 5
    assert many <= few


@pytest.mark.long
@in_world(FOUR)
async def test_of_two_clusters_of_a_region_each_has_its_outage(world: World) -> None:
    await placed(world, "web", {"member1": 1, "member2": 1, "member3": 1}, 3)
    await placed(world, "one", {"member1": 1, "member3": 1}, 2)
    await quiet(world)
    for name in ("member1", "member2"):
        await world.member(name).stop()
    await world.until(lambda: world.assigned(WEB) == {"member3": 3})
    await world.sleep(120)
    first, second = await only_outage(world, "member1"), await only_outage(world, "member2")
    assert counts(first) == {"Moved": 2}
    assert counts(second) == {"Moved": 1}
    assert {each.name: dict(each.to) for each in first.status.listed}["one"] == {"member3": 1}
    assert second.status.reason == "ClusterStatusUnknown", "it is a Pull cluster, of which nothing is heard"


@in_world()
async def test_an_outage_that_ends_before_anything_leaves_says_that_nothing_was_lost(world: World) -> None:
    await placed(world)
    await quiet(world)
    await lost(world)
    await world.sleep(60)
    outage = await only_outage(world)
    assert counts(outage) == {"Due": 1}
    shown = (await world.client.get(UNTYPED, outage.name))["status"]
    assert [shown[name] for name in ("lasted", "moved", "held", "phase")] == ["running", 0, 0, "Running"]
    assert outage.status.listed[0].due_at is None, "no instant before there is a NoExecute taint"
    await returned(world)
    await world.sleep(10)
    outage = await only_outage(world)
    assert (outage.status.phase, counts(outage)) == (OutagePhase.OVER, {"Returned": 1})
    assert kinds(outage) == [*UNTIL_READY, StepKind.RETURNED]
    assert outage.status.recovery.count == 0


@in_world()
async def test_a_short_failure_that_does_not_count_is_no_outage(world: World) -> None:
    await placed(world)
    await quiet(world)
    await world.member("member1").stop()
    await world.sleep(20)
    await world.member("member1").start()
    await world.sleep(120)
    assert await outages(world) == []


@pytest.mark.long
@in_world()
async def test_a_cluster_that_fails_again_soon_is_in_the_same_outage_and_later_in_another_one(world: World) -> None:
    await placed(world)
    await quiet(world)
    for _ in range(2):
        await lost(world)
        await world.sleep(60)
        await returned(world)
        await world.sleep(120)
    outage = await only_outage(world)
    assert (outage.status.failures, outage.status.phase) == (2, OutagePhase.OVER)
    again = [StepKind.FAILED_AGAIN, StepKind.NOT_READY, StepKind.RETURNED]
    assert kinds(outage) == [*UNTIL_READY, StepKind.RETURNED, *again]
    await world.sleep(600)
    await lost(world)
    await world.sleep(10)
    first, second = await outages(world)
    assert (first.status.failures, second.status.failures) == (2, 1)
    assert first.metadata.resource_version == outage.metadata.resource_version, "what is over is left alone"


@pytest.mark.long
@in_world()
async def test_recovery_counts_from_the_failure_that_it_was_for(world: World) -> None:
    await placed(world)
    await quiet(world)
    await lost(world)
    await returned(world)
    await world.sleep(60)
    await world.member("member1").stop()
    await world.until(lambda: world.assigned(WEB) == {"member2": 3})
    await world.sleep(60)
    outage = await only_outage(world)
    assert outage.status.failed_at is not None
    (told,) = outage.status.listed
    assert told.healthy_at is not None
    assert told.recovery_seconds == (told.healthy_at - outage.status.failed_at).total_seconds()
    assert told.recovery_seconds is not None
    assert (told.healthy_at - outage.spec.since).total_seconds() > told.recovery_seconds + 60


@pytest.mark.long
@in_world()
async def test_who_takes_over_goes_on_in_the_same_outage(world: World) -> None:
    await placed(world)
    await placed(world, "early")
    await quiet(world)
    await without_room(world, "member2")
    await world.member("member1").stop()
    await world.until(lambda: bool(tasks(world, WEB)))
    await world.sleep(40)
    uid = (await only_outage(world)).metadata.uid
    world.crash_controllers()
    await world.sleep(20)
    world.start_controllers()
    await world.sleep(120)
    outage = await only_outage(world)
    assert (outage.metadata.uid, counts(outage)) == (uid, {"Moving": 2})
    await with_room(world, "member2")
    await world.until(lambda: not tasks(world, WEB) and not tasks(world, "early-deployment"))
    world.crash_controllers()
    world.start_controllers()
    await world.sleep(120)
    outage = await only_outage(world)
    assert (outage.metadata.uid, counts(outage)) == (uid, {"Moved": 2})
    assert outage.status.recovery.count == 2, "each once, although it was seen by two processes"
    assert kinds(outage).count(StepKind.LEFT) == 1
    (left,) = (step for step in outage.status.steps if step.kind is StepKind.LEFT)
    assert (left.applications, left.healthy) == (2, 2)
    world.crash_controllers()
    await world.member("member1").start()
    await world.sleep(60)
    world.start_controllers()
    await world.sleep(300)
    outage = await only_outage(world)
    assert (outage.metadata.uid, outage.status.phase) == (uid, OutagePhase.OVER)


@pytest.mark.long
@in_world()
async def test_an_outage_goes_on_when_the_control_plane_was_away(world: World) -> None:
    await placed(world)
    await quiet(world)
    await lost(world)
    await world.sleep(60)
    before = await only_outage(world)
    await world.stop_apiserver()
    await world.sleep(200)
    await world.start_apiserver()
    await world.until(lambda: world.assigned(WEB) == {"member2": 3}, 3000)
    await world.sleep(120)
    outage = await only_outage(world)
    assert outage.metadata.uid == before.metadata.uid
    assert counts(outage) == {"Moved": 1}
    assert outage.status.recovery.worst_seconds > 800, "the time in which nobody watched is recovery time, too"


@in_world(TWO)
async def test_s4_an_engaged_brake_is_a_step_and_all_are_held(world: World) -> None:
    await placed(world, "web", {"member1": 1, "member2": 1}, 2)
    await quiet(world)
    for name in TWO:
        await world.member(name).stop()
    await world.until(lambda: not world.is_ready("member1") and not world.is_ready("member2"))
    await world.sleep(900)
    for name in TWO:
        outage = await only_outage(world, name)
        assert counts(outage) == {"Held": 1}
        assert StepKind.BRAKE_ENGAGED in kinds(outage)
        assert StepKind.NO_EXECUTE not in kinds(outage)
        assert outage.status.braked
        assert outage.status.listed[0].reason == "BrakeEngaged"
        assert "leeward brake release" in outage.status.listed[0].message


@in_world()
async def test_s11_where_nothing_moves_the_outage_says_what_is_held_and_why(world: World) -> None:
    only_here: Manifest = {"clusterAffinity": {"clusterNames": ["member1"]}}
    await apply(world.client, deployment("web", 2), policy("web", only_here))
    await world.until(lambda: "member1" in world.assigned(WEB), 60)
    await quiet(world)
    await world.member("member1").stop()
    await world.sleep(900)
    outage = await only_outage(world)
    assert counts(outage) == {"Held": 1}
    assert kinds(outage) == [*UNTIL_READY, StepKind.NO_EXECUTE, StepKind.HELD]
    (told,) = outage.status.listed
    assert (told.state, told.reason, told.left_at) == (MoveState.HELD, "NoPlaceToGo", None)
    assert "member1 (cluster.karmada.io/not-ready:NoExecute)" in told.message
    assert outage.status.recovery.count == 0


@pytest.mark.long
@in_world()
async def test_s12_what_would_gain_nothing_is_kept_and_not_held(world: World) -> None:
    everywhere: Manifest = {"clusterAffinity": {"clusterNames": ["member1", "member2"]}}
    await apply(world.client, deployment("web", 2), policy("web", everywhere))
    await world.until(lambda: len(world.assigned(WEB)) == 2, 60)
    await quiet(world)
    await world.member("member1").stop()
    await world.sleep(900)
    outage = await only_outage(world)
    assert counts(outage) == {"Kept": 1}
    assert outage.status.listed[0].reason == "NothingToGain"
    assert kinds(outage)[-1] is StepKind.KEPT
    await world.member("member1").start()
    await world.sleep(120)
    assert counts(await only_outage(world)) == {"Returned": 1}


async def fill_up(world: World) -> None:
    """Creates as many outages that are over as are kept."""
    for index in range(MOST_OUTAGES):
        since = world.clock.now().replace(year=2020, minute=index % 60, hour=index // 60, microsecond=0)
        spec = {"cluster": "gone", "since": since.isoformat()}
        over = {"phase": "Over", "returnedAt": since.isoformat()}
        await world.client.create(OUTAGES, {"metadata": {"name": f"old-{index:03}"}, "spec": spec, "status": over})


@in_world()
async def test_the_oldest_outages_give_way_to_new_ones(world: World) -> None:
    await placed(world)
    await quiet(world)
    await fill_up(world)
    await lost(world)
    await world.sleep(10)
    names = sorted(outage.name for outage in (await world.client.list(OUTAGES)).items)
    assert len(names) == MOST_OUTAGES
    assert [name for name in names if name.startswith("old")] == [f"old-{n:03}" for n in range(1, MOST_OUTAGES)]


@in_world()
async def test_an_outage_of_a_cluster_that_leaves_the_fleet_is_over(world: World) -> None:
    since = world.clock.now().replace(microsecond=0)
    spec = OutageSpec(cluster="gone", since=since)
    await world.client.create(
        OUTAGES, ClusterOutage(spec=spec, status=OutageStatus(), metadata=ObjectMeta(name="gone-1"))
    )
    await world.sleep(10)
    outage = await only_outage(world, "gone")
    assert (outage.status.phase, kinds(outage)) == (OutagePhase.OVER, [StepKind.UNJOINED])


@in_world()
async def test_who_asks_between_two_writes_is_told_how_it_stands_now(world: World) -> None:
    """The object is not written for a while after an application has moved; the answer does not wait for it."""
    await placed(world)
    await quiet(world)
    await world.member("member1").stop()
    await world.until(lambda: world.assigned(WEB) == {"member2": 3}, 700)
    await world.sleep(2)
    assert tasks(world, WEB), "on its way"
    (told,) = timeline(await read_outages(world.client, world.clock), OutageFilter()).outages
    assert [line.sentence for line in told.story if line.tone is Tone.LEAVES] == [
        "default/web leaves, after a toleration of 5 min"
    ]
    await world.until(lambda: not tasks(world, WEB))
    await world.sleep(1)
    assert counts(await only_outage(world)) == {"Due": 1}, "not written yet"
    before = await only_outage(world)
    (told,) = timeline(await read_outages(world.client, world.clock), OutageFilter()).outages
    assert told.tally == "1 of 1 application moved"
    (application,) = told.applications
    assert application.state is MoveState.MOVED
    assert (application.healthy_at, application.recovery_seconds) == (None, None), "nobody can tell from a picture"
    assert told.status.recovery == before.status.recovery
    assert StepKind.LEFT not in kinds(before)
    left, healthy = [line for line in told.story if line.tone in (Tone.LEAVES, Tone.GOOD)]
    assert (left.sentence, healthy.sentence) == (
        "default/web leaves",
        "default/web is healthy",
    )
    assert left.after_seconds == 630
    assert healthy.at is None, "nobody can tell from a picture"
    await world.sleep(60)
    (told,) = timeline(await read_outages(world.client, world.clock), OutageFilter()).outages
    assert told.tally == "1 of 1 application moved"
    assert told.applications[0].recovery_seconds is not None


def test_what_an_earlier_schema_leaves_out_is_not_written_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    definitions = deepcopy(custom_resource_definitions())
    (kind,) = (each for each in definitions if each["spec"]["group"] == OUTAGES.group)
    schema = kind["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    del schema["properties"]["status"]["properties"]["listed"]["items"]["properties"]["told"]
    monkeypatch.setattr("leeward.sim.world.custom_resource_definitions", lambda: definitions)

    async def story(world: World) -> None:
        await placed(world, weights={"member1": 1})
        await quiet(world)
        await world.member("member1").stop()
        await world.sleep(900)
        outage = await only_outage(world)
        assert (counts(outage), outage.status.listed[0].told) == ({"Held": 1}, {})
        written = writes_to_outages(world)
        for label in "ab":
            await world.client.patch(CLUSTERS, "member1", {"metadata": {"labels": {"seen": label}}})
            await world.sleep(400)
        assert written == []

    play(story, TWO)


@pytest.mark.long
def test_where_the_kind_was_not_installed_all_others_work_and_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """The state is that of a control plane that was installed by an earlier version, or by Karmada."""
    others = [each for each in custom_resource_definitions() if each["spec"]["group"] != OUTAGES.group]
    monkeypatch.setattr("leeward.sim.world.custom_resource_definitions", lambda: others)

    async def story(world: World) -> None:
        await placed(world)
        await quiet(world)
        await world.member("member1").stop()
        await world.until(lambda: world.assigned(WEB) == {"member2": 3}, 700)
        with pytest.raises(OperationFailed, match=r"this control plane keeps no outages: .* `leeward init`"):
            await read_outages(world.client, world.clock)
        assert not (await read_fleet(world.client, world.clock)).recorded.unseen, "a picture lacks nothing"

    play(story)
