"""Rehearsals as a user has them: of a picture of a world, from the file of a scenario."""

import json
from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from pathlib import Path

import pytest

from kubeapi.codec import parse_yaml
from kubeapi.resource import Resource
from kubecluster.kinds import PODS, VOLUMES
from leeward.answers.fleet_state import BindingName, FleetState
from leeward.operations.brake import read_brake
from leeward.sim.rehearsal.copied_world import SETTLING_SECONDS
from leeward.sim.rehearsal.fleet_recorder import Happening
from leeward.sim.rehearsal.rehearsal import RehearsalReport, rehearse
from leeward.sim.rehearsal.scenario_file import parse_scenario
from leeward.sim.world import Mode, World
from tests.world.pictures import picture
from tests.world.stories import PUSH_PUSH_PULL, apply, by_weight, deployment, play, policy

CLUSTER_POLICIES = Resource.of_manifests(
    "policy.karmada.io/v1alpha1", "clusterpropagationpolicies", "ClusterPropagationPolicy", False
)
VOLUME = {
    "apiVersion": "v1",
    "kind": "PersistentVolume",
    "metadata": {"name": "data"},
    "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/data"}},
}
EXAMPLES = Path(__file__).parents[2] / "examples"
FIVE: dict[str, Mode] = {f"member{number}": "Push" for number in range(1, 6)}


def picture_with(example: str, members: Mapping[str, Mode]) -> FleetState:
    taken: list[FleetState] = []

    async def story(world: World) -> None:
        await apply(world.client, *parse_yaml((EXAMPLES / f"{example}.yaml").read_text()))
        await world.sleep(60)
        taken.append(await picture(world))

    play(story, members)
    return taken[0]


def rehearsed(example: str, members: Mapping[str, Mode]) -> RehearsalReport:
    scenario = parse_scenario((EXAMPLES / f"rehearsals/{example}.yaml").read_bytes())
    return rehearse(picture_with(example, members), scenario)


@pytest.mark.long
@pytest.mark.parametrize(
    ("example", "members"), [("divided", PUSH_PUSH_PULL), ("duplicated", FIVE), ("pull", PUSH_PUSH_PULL)]
)
def test_the_scenarios_that_ship_hold(example: str, members: Mapping[str, Mode]) -> None:
    report = rehearsed(example, members)
    assert [verdict.shortfalls for verdict in report.verdicts] == [[]] * len(report.verdicts)
    assert (report.left_out, report.differs) == ([], [])


def played(state: FleetState, steps: str, duration: str = "15m") -> RehearsalReport:
    """Steps as a file has them, of which nothing is expected."""
    head = f"apiVersion: leeward.dev/v1alpha1\nkind: Rehearsal\nspec:\n  duration: {duration}\n  steps:\n"
    return rehearse(state, parse_scenario((head + steps).encode()))


def application(report: RehearsalReport, name: str):
    return next(each for each in report.applications if each.workload.endswith(f"/{name}"))


def taken(story: Callable[[World], Awaitable[None]], members: Mapping[str, Mode] = PUSH_PUSH_PULL) -> FleetState:
    """The picture at the end of a story."""
    states: list[FleetState] = []

    async def tell(world: World) -> None:
        await story(world)
        states.append(await picture(world))

    play(tell, members)
    return states[0]


async def web_and_solo(world: World) -> None:
    solo = {"clusterAffinity": {"clusterNames": ["member1"]}, "replicaScheduling": {"replicaSchedulingType": "Divided"}}
    await apply(world.client, deployment("web", 4), policy("web", by_weight({"member1": 1, "member2": 1})))
    await apply(world.client, deployment("solo", 2), policy("solo", solo))
    await world.sleep(60)


@pytest.mark.long
def test_a_picture_of_an_outage_goes_on_in_the_copy_where_it_stood() -> None:
    """Two minutes before the copies are due they are due in two minutes there, too, and the cluster may come back."""

    async def story(world: World) -> None:
        await web_and_solo(world)
        await world.member("member1").stop()
        await world.until(lambda: "cluster.karmada.io/not-ready:NoExecute" in world.taints("member1"))
        await world.sleep(180)

    state = taken(story)
    report = played(state, "  - {at: 10m, return: [member1]}\n")
    moved = next(each for each in report.timeline if each.what is Happening.MOVED)
    assert moved.after_seconds == pytest.approx(300 - 180 - SETTLING_SECONDS + 5, abs=1)
    assert (application(report, "web").before, application(report, "web").after) == (
        {"member1": 2, "member2": 2},
        {"member2": 4},
    )
    assert application(report, "solo").fewest == 0
    assert [each.sentence for each in report.timeline if each.what is Happening.DELETED] == [
        "Deployment default/web is deleted in member1"
    ]
    assert (application(report, "solo").after, application(report, "solo").held) == ({"member1": 2}, "")
    assert (report.left_out, report.differs) == ([], [])


@pytest.mark.long
def test_what_has_left_a_cluster_that_is_still_down_is_deleted_there_when_it_returns() -> None:
    async def story(world: World) -> None:
        await web_and_solo(world)
        await world.member("member1").stop()
        await world.until(lambda: world.assigned("web-deployment") == {"member2": 4})
        await world.sleep(60)

    report = played(taken(story), "  - {at: 2m, return: [member1]}\n")
    assert [each.sentence for each in report.timeline if each.what is Happening.DELETED] == [
        "Deployment default/web is deleted in member1"
    ]
    assert application(report, "web").fewest == 4
    assert application(report, "solo").longest_seconds == pytest.approx(120, abs=1)


@pytest.mark.long
def test_an_engaged_brake_is_engaged_in_the_copy() -> None:
    async def story(world: World) -> None:
        await web_and_solo(world)
        for name in world.members:
            await world.member(name).stop()
        await world.sleep(120)
        assert (await read_brake(world.client)).brake.engaged

    state = taken(story)
    report = played(state, "  - {at: 14m, cordon: [member2]}\n")
    assert [each for each in report.timeline if each.what in (Happening.MOVED, Happening.BRAKE)] == []
    report = played(state, "  - {at: 1m, return: [member2, member3]}\n", "20m")
    assert [each.sentence for each in report.timeline if each.what is Happening.BRAKE] == ["the brake is released"]
    assert application(report, "web").after == {"member2": 4}


@pytest.mark.long
def test_copies_that_are_not_ready_are_not_ready_in_the_copy() -> None:
    async def story(world: World) -> None:
        await web_and_solo(world)
        client = world.member("member2").client
        pod = (await client.list(PODS, "default")).items[0]["metadata"]["name"]
        status = {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}
        await client.patch(PODS, pod, status, "default", subresource="status")
        await world.sleep(30)

    report = played(taken(story), "  - {at: 14m, cordon: [member3]}\n")
    assert (application(report, "web").fewest, application(report, "web").longest_seconds) == (3, None)
    assert application(report, "solo").fewest == 2


@pytest.mark.parametrize(
    ("step", "moves", "fewest"),
    [
        ("fail: [member1]", True, 2),
        pytest.param("partition: [member1]", True, 4, marks=pytest.mark.long),
        pytest.param("unready: [member1]", True, 4, marks=pytest.mark.long),
        ("slow: {clusters: [member1], by: 2s}", False, 4),
        ("refuseWrites: [member1]", False, 4),
        ("nodesDown: {clusters: [member1], nodes: 1}", False, 3),
        ("drain: [member1]", True, 4),
        ("cordon: [member1]", False, 4),
        ("scale: {application: deploy/web, replicas: 6}", True, 4),
    ],
)
def test_each_step_does_what_it_says(step: str, moves: bool, fewest: int) -> None:
    """A cluster that is cut off goes on serving; what moves of it runs twice for a while."""
    report = played(picture_of_two(), f"  - {{at: 0s, {step}}}\n")
    moved = [each for each in report.timeline if each.what is Happening.MOVED and "web" in each.sentence]
    assert (bool(moved), application(report, "web").fewest) == (moves, fewest)
    assert report.differs == []


@cache
def picture_of_two() -> FleetState:
    return taken(web_and_solo)


@pytest.mark.long
def test_a_policy_that_is_applied_moves_what_it_selects() -> None:
    wider = policy("web", by_weight({"member2": 1, "member3": 3}))
    wider["metadata"]["namespace"] = "default"
    report = played(picture_of_two(), f"  - {{at: 1m, apply: [{json.dumps(wider)}]}}\n")
    assert application(report, "web").after == {"member2": 1, "member3": 3}


@pytest.mark.long
def test_what_is_attached_comes_along_and_what_cannot_be_rebuilt_is_named() -> None:
    async def story(world: World) -> None:
        web = deployment("web", 2)
        web["spec"]["template"]["spec"]["containers"][0]["envFrom"] = [{"configMapRef": {"name": "config"}}]
        follows = policy("web", by_weight({"member1": 1, "member2": 1}))
        follows["spec"]["propagateDeps"] = True
        config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "config"}, "data": {"a": "b"}}
        volume = policy("data", {"clusterAffinity": {"clusterNames": ["member1"]}}, "PersistentVolume", "v1")
        await apply(world.client, config, web, follows)
        await world.client.create(
            CLUSTER_POLICIES, {**volume, "kind": "ClusterPropagationPolicy", "metadata": {"name": "data"}}
        )
        await world.client.create(VOLUMES, VOLUME)
        await world.sleep(60)

    state = taken(story)
    assert BindingName("default", "config-configmap") in state.bindings
    report = played(state, "  - {at: 0s, fail: [member1]}\n")
    assert report.left_out == ["PersistentVolume data: what a PersistentVolume does is not in a picture"]
    assert report.differs == []
    assert (application(report, "web").after, application(report, "web").longest_seconds) == (
        {"member2": 2},
        pytest.approx(637, abs=1),
    )


def test_a_bad_change_of_an_application_with_stages_is_rehearsed() -> None:
    """The change stops in the canary, and whatever serves beside it goes on serving."""

    async def staged_web(world: World) -> None:
        wanted = policy("web", by_weight({"member1": 1, "member2": 1, "member3": 1}))
        stages = "{stages: [{name: canary, clusters: [member1], healthyFor: 1m}, {name: rest, healthyFor: 1m}]}"
        wanted["metadata"]["annotations"] = {"leeward.dev/rollout": stages}
        await apply(world.client, deployment("web", 6), wanted)
        await world.sleep(120)

    bad = deployment("web", 6, "nginx:broken")
    bad["metadata"]["namespace"] = "default"
    steps = f"    - at: 5m\n      apply:\n      - {json.dumps(bad)}\n"
    report = played(taken(staged_web), steps, "30m")
    told = [event.sentence for event in report.timeline if event.what is Happening.ROLLOUT]
    assert "Stage canary has revision" in told[-2]
    assert "does not serve in member1 after 600 s: no other cluster gets it." in told[-1]
    assert told[-1].endswith("(Failed)")
    assert application(report, "web").fewest == 6
