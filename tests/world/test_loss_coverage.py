"""Tells whether a fleet can bear the loss of a cluster, said by the control plane itself (N+1), as stories."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import pairwise

import pytest

from kubeapi.transport import Response
from kubeclient import Request
from kubeclient.caller import HEADER
from kubecluster.network import Answering
from kubeserver.handler import StreamResponse
from leeward.answers.cluster_explanation import explain_cluster
from leeward.answers.resilience import coverage_of, losses_by, survey
from leeward.api.meta import Condition, find_condition
from leeward.api.names import LOSS_COVERED_CONDITION
from leeward.api.resource import CLUSTERS
from leeward.controllers.resilience import CONTROLLER
from leeward.core.loss_coverage import FleetNow, LossCoverage
from leeward.manager.settings import ManagerSettings
from leeward.sim.world import Mode, World
from tests.world.pictures import picture
from tests.world.stories import DEPLOYMENTS, POLICIES, apply, by_weight, deployment, in_world, play, policy

THREE: Mapping[str, Mode] = {"member1": "Push", "member2": "Push", "member3": "Push"}
ONLY_MEMBER1 = {
    "clusterAffinity": {"clusterNames": ["member1"]},
    "replicaScheduling": {"replicaSchedulingType": "Divided"},
}
SOLO = (
    "if this cluster is lost, 3 replicas of 1 application cannot move; Deployment default/solo "
    "loses the most replicas; "
)


class Looks:
    """Surveys as the control plane does, and remembers when it was asked about which clusters."""

    def __init__(self) -> None:
        self.asked: list[tuple[datetime, tuple[str, ...]]] = []

    def __call__(self, fleet: FleetNow, clusters: Sequence[str]) -> Sequence[LossCoverage]:
        self.asked.append((fleet.now, tuple(clusters)))
        return coverage_of(fleet, clusters)


def looking(looks: Looks) -> ManagerSettings:
    return ManagerSettings(survey_losses=looks)


async def populate(world: World) -> None:
    await apply(world.client, deployment("solo", 3), policy("solo", ONLY_MEMBER1))
    await apply(world.client, deployment("two", 4), policy("two", by_weight({"member1": 1, "member2": 1})))
    await world.until(lambda: all(world.assigned(f"{name}-deployment") for name in ("solo", "two")), 60)


async def coverage(world: World) -> dict[str, Condition | None]:
    found = (await world.client.list(CLUSTERS)).items
    return {each.name: find_condition(each.status.conditions, LOSS_COVERED_CONDITION) for each in found}


async def reasons(world: World) -> dict[str, str]:
    return {name: "" if said is None else said.reason for name, said in (await coverage(world)).items()}


def measured(world: World, name: str) -> dict[str, float | None]:
    """Values by cluster of `leeward_cluster_loss_unplaceable_NAME`."""
    read: Callable[..., float | None] = world.metrics.registry.get_sample_value
    metric = f"leeward_cluster_loss_unplaceable_{name}"
    return {member: read(metric, {"member_cluster": member}) for member in THREE}


@in_world(THREE, manager=looking(Looks()))
async def test_a_cluster_says_what_finds_no_room_when_it_is_lost_as_resilience_does(world: World) -> None:
    await populate(world)
    await world.sleep(130)
    assert await reasons(world) == {
        "member1": "RoomMissing",
        "member2": "RoomElsewhere",
        "member3": "NothingRunsHere",
    }
    said = (await coverage(world))["member1"]
    assert said is not None
    assert (said.status, said.message) == ("False", SOLO + "`leeward what-if --fail member1` says why")
    state = await picture(world)
    assert f"I{said.message[1:]}." in explain_cluster(state, "member1").why
    told = survey(state, losses_by(state, "cluster"))
    assert measured(world, "replicas") == {loss.loss: loss.missing for loss in told.losses}
    assert measured(world, "applications") == {loss.loss: loss.wanting for loss in told.losses}
    placement = {"replicaScheduling": {"replicaSchedulingType": "Divided"}}
    await world.client.patch(
        POLICIES, "solo", {"spec": {"placement": {**placement, "clusterAffinity": None}}}, "default"
    )
    await world.sleep(130)
    assert (await reasons(world))["member1"] == "RoomElsewhere"
    assert measured(world, "replicas")["member1"] == 0


@pytest.mark.long
def test_it_looks_once_a_minute_at_most_and_not_at_all_where_nothing_changes() -> None:
    looks = Looks()

    async def story(world: World) -> None:
        await populate(world)
        for count in range(60):
            await world.client.patch(DEPLOYMENTS, "two", {"spec": {"replicas": 4 + count % 2}}, "default")
            await world.sleep(5)
        instants = [at for at, _ in looks.asked]
        assert 3 <= len(instants) <= 6
        assert all(later - at >= timedelta(minutes=1) for at, later in pairwise(instants))
        await world.sleep(180)
        looks.asked.clear()
        before = {each.name: each.metadata.resource_version for each in (await world.client.list(CLUSTERS)).items}
        await world.sleep(1_800)
        after = {each.name: each.metadata.resource_version for each in (await world.client.list(CLUSTERS)).items}
        assert (after, looks.asked) == (before, [])

    play(story, THREE, manager=looking(looks))


def deploying(seconds: int) -> list[timedelta]:
    """Times from the first change to each survey, while seventeen applications change for so long."""
    looks, since = Looks(), list[timedelta]()

    async def story(world: World) -> None:
        everywhere = policy("all", by_weight({"member1": 1, "member2": 1}))
        everywhere["spec"]["resourceSelectors"] = [{"apiVersion": "apps/v1", "kind": "Deployment"}]
        await world.sleep(150)
        await apply(world.client, everywhere, *(deployment(f"web{number}", 1) for number in range(17)))
        await world.sleep(2)
        began = world.clock.now()
        for count in range(seconds // 8):
            for number in range(17):
                await world.client.patch(DEPLOYMENTS, f"web{number}", {"spec": {"replicas": 1 + count % 2}}, "default")
            await world.sleep(8)
        await world.sleep(100)
        since.extend(at - began for at, _ in looks.asked if at >= began)

    play(story, THREE, manager=looking(looks))
    return since


def test_it_looks_after_a_burst_and_not_within_it() -> None:
    looked = deploying(60)
    assert len(looked) == 1
    assert looked[0] > timedelta(seconds=60)


@pytest.mark.long
def test_a_burst_that_does_not_end_puts_it_off_for_some_minutes_alone() -> None:
    assert timedelta(minutes=5) <= deploying(480)[0] < timedelta(minutes=7)


@pytest.mark.long
def test_what_changes_in_one_place_is_looked_at_there_and_a_repeated_answer_is_not_written() -> None:
    looks = Looks()

    async def story(world: World) -> None:
        await populate(world)
        await world.sleep(400)
        looks.asked.clear()
        before = {each.name: each.metadata.resource_version for each in (await world.client.list(CLUSTERS)).items}
        await world.client.patch(POLICIES, "two", {"metadata": {"annotations": {"seen": "yes"}}}, "default")
        await world.sleep(120)
        assert looks.asked == []
        await world.client.patch(
            DEPLOYMENTS, "solo", {"spec": {"template": {"metadata": {"labels": {"v": "2"}}}}}, "default"
        )
        await world.sleep(120)
        assert {name for _, names in looks.asked for name in names} <= {"member1"}
        assert (await reasons(world))["member1"] == "RoomMissing"
        after = {each.name: each.metadata.resource_version for each in (await world.client.list(CLUSTERS)).items}
        assert after == before

    play(story, THREE, manager=looking(looks))


@in_world(THREE, manager=looking(Looks()))
async def test_it_goes_with_its_cluster_and_a_restart_says_it_anew_without_a_write(world: World) -> None:
    await populate(world)
    await world.sleep(400)
    before = {each.name: each.metadata.resource_version for each in (await world.client.list(CLUSTERS)).items}
    await world.stop_controllers()
    world.start_controllers()
    await world.sleep(200)
    after = {each.name: each.metadata.resource_version for each in (await world.client.list(CLUSTERS)).items}
    assert after == before
    assert measured(world, "replicas")["member1"] == 3
    await world.client.delete(CLUSTERS, "member3")
    await world.sleep(200)
    assert measured(world, "replicas")["member3"] is None


@in_world({"member1": "Push"}, manager=looking(Looks()))
async def test_of_one_cluster_alone_it_says_that_the_brake_would_hold_everything(world: World) -> None:
    await apply(world.client, deployment("web", 2), policy("web", by_weight({"member1": 1})))
    await world.sleep(130)
    said = (await coverage(world))["member1"]
    assert said is not None
    assert (said.status, said.reason) == ("False", "BrakeWouldHold")


def test_after_an_outage_the_answer_is_that_of_the_clusters_that_are_left() -> None:
    """The outage is no reason to look more often."""
    looks = Looks()

    async def story(world: World) -> None:
        await populate(world)
        await world.sleep(130)
        begun = world.clock.now()
        world.member("member2").pause()
        await world.sleep(900)
        assert world.assigned("two-deployment") == {"member1": 4}
        assert (await reasons(world))["member2"] == "NothingRunsHere"
        assert (await reasons(world))["member1"] == "RoomMissing"
        state = await picture(world)
        told = survey(state, losses_by(state, "cluster"))
        assert measured(world, "replicas") == {loss.loss: loss.missing for loss in told.losses}
        assert len([at for at, _ in looks.asked if at > begun]) <= 15

    play(story, THREE, manager=looking(looks))


def test_what_could_not_be_projected_or_written_is_looked_at_again() -> None:
    refused: list[str] = []

    class Failing(Looks):
        def __call__(self, fleet: FleetNow, clusters: Sequence[str]) -> Sequence[LossCoverage]:
            if not self.asked:
                self.asked.append((fleet.now, tuple(clusters)))
                raise RuntimeError("a projection that fails")
            return super().__call__(fleet, clusters)

    async def story(world: World) -> None:
        async def conflict_at_first(request: Request, answer: Callable[[], Answering]) -> Response | StreamResponse:
            if request.headers.get(HEADER) == CONTROLLER and len(refused) < 3:
                refused.append(request.path)
                return Response(409, b'{"kind":"Status","reason":"Conflict","code":409}')
            return await answer()

        world.place.audit = conflict_at_first
        await populate(world)
        await world.sleep(400)
        assert len(refused) == 3
        assert (await reasons(world))["member1"] == "RoomMissing"
        assert "" not in (await reasons(world)).values()

    play(story, THREE, manager=looking(Failing()))


def test_as_karmada_does_nothing_is_said_of_it() -> None:
    looks = Looks()

    async def story(world: World) -> None:
        await populate(world)
        await world.sleep(200)
        assert set((await coverage(world)).values()) == {None}
        assert looks.asked == []

    play(story, THREE, manager=looking(looks).karmada_exact())
