"""Copies that are purged Directly and are not known to be gone: nothing new is made, and nothing that serves goes."""

from typing import Any

import pytest
from msgspec import to_builtins

from kubeapi.meta import Manifest
from kubecluster.network import Link
from leeward.api.meta import find_condition
from leeward.api.names import REMOVAL_BLOCKED_CONDITION, TIME_TO_START_ANNOTATION, execution_space
from leeward.api.resource import CLUSTERS, WORKS
from leeward.operations.applications import ServiceLevel, application_row
from leeward.operations.drain import start_drain
from leeward.sim.member import agent_of
from leeward.sim.world import Mode, World
from tests.world.stories import (
    DEPLOYMENTS,
    POLICIES,
    apply,
    by_weight,
    deployment,
    identities,
    in_world,
    play,
    policy,
    ready_replicas,
    tasks,
    without_room,
)
from tests.world.test_application_failover import delete_pods
from tests.world.test_kinds import CRON_TABS
from tests.world.test_returning_copies import NIGHTLY, one_judged_copy
from tests.world.test_stateful_sets import STATEFUL_SETS, pods, stateful_set

FOUR: dict[str, Mode] = {"member1": "Push", "member2": "Push", "member3": "Push", "member4": "Push"}
THREE: dict[str, Mode] = {"member1": "Push", "member2": "Push", "member3": "Push"}
WEB = "web-deployment"


async def is_purged_in_member1(world: World) -> None:
    """Two replicas in each of member1, which dies and is purged, and member2."""
    made = policy("web", by_weight({"member1": 1, "member2": 1}))
    made["spec"]["failover"] = {"cluster": {"purgeMode": "Directly"}}
    await apply(world.client, deployment("web", 4), made)
    await world.until(lambda: world.assigned(WEB) == {"member1": 2, "member2": 2}, 60)
    await world.sleep(40)
    await world.member("member1").stop()
    await world.until(lambda: tasks(world, WEB) == ["member1"])


async def place(world: World, *members: str) -> None:
    placement = by_weight(dict.fromkeys(members, 1))
    await world.client.patch(POLICIES, "web", {"spec": {"placement": placement}}, "default")


def blocked(world: World) -> tuple[str, str]:
    found = world.binding(WEB)
    condition = find_condition(found.status.conditions, REMOVAL_BLOCKED_CONDITION) if found else None
    return (condition.reason, condition.message) if condition else ("", "")


@in_world(FOUR)
async def test_s1_what_serves_stays_where_it_is_while_nothing_may_be_made_elsewhere(world: World) -> None:
    await is_purged_in_member1(world)
    before = await identities(world, "web", ["member2"])
    await place(world, "member3")
    await world.sleep(120)
    assert await identities(world, "web", ["member2"]) == before
    assert [await ready_replicas(world, name, "web") for name in ("member2", "member3")] == [2, -1]
    why = "no new copy is made before the purged copy is known to be gone"
    assert blocked(world) == ("WaitingForPurge", f"Not removed from member2, because {why}.")
    await world.member("member1").start()
    await world.until(lambda: not tasks(world, WEB), 300)
    await world.sleep(10)
    assert [await ready_replicas(world, f"member{n}", "web") for n in (1, 2, 3)] == [-1, -1, 4]
    assert blocked(world) == ("", "")


@in_world(FOUR)
async def test_what_serves_is_told_while_a_copy_is_purged(world: World) -> None:
    """The copy in member2 is to grow, and is left as it is until the other one is known to be gone."""
    await is_purged_in_member1(world)
    await world.sleep(120)
    assert await ready_replicas(world, "member2", "web") == 2
    binding, template = world.binding(WEB), await world.client.get(DEPLOYMENTS, "web", "default")
    assert binding is not None
    told = {item.cluster_name: (item.applied, item.health) for item in binding.status.aggregated_status}
    assert told == {"member2": (True, "Healthy")}
    assert template["status"]["readyReplicas"] == 2
    fully = find_condition(binding.status.conditions, "FullyApplied")
    assert fully is not None
    assert fully.status == "False"
    assert application_row(binding).serving is ServiceLevel.FEWER


@in_world(FOUR)
async def test_s1_what_serves_is_not_made_less_while_nothing_may_be_made_elsewhere(world: World) -> None:
    await is_purged_in_member1(world)
    before = await identities(world, "web", ["member2"])
    await place(world, "member1", "member2", "member3", "member4")
    await world.until(lambda: world.assigned(WEB).get("member2") == 1, 60)
    await world.sleep(60)
    assert [await ready_replicas(world, f"member{n}", "web") for n in (2, 3, 4)] == [2, -1, -1]
    assert await identities(world, "web", ["member2"]) == before


@in_world(FOUR)
async def test_s1_volumes_that_follow_leave_what_is_well_until_the_lost_copy_is_known_to_be_gone(world: World) -> None:
    """Volumes have one writer at a time, so that what is well is purged, too; not before anything can replace it."""
    terms = [
        {"affinityName": "first", "clusterNames": ["member1", "member2"]},
        {"affinityName": "second", "clusterNames": ["member3", "member4"]},
    ]
    two = [{"spreadByField": "cluster", "minGroups": 2, "maxGroups": 2}]
    wanted = policy("db", {"clusterAffinities": terms, "spreadConstraints": two}, "StatefulSet")
    wanted["metadata"]["annotations"] = {"leeward.dev/volumes-follow": "true"}
    await world.client.create(STATEFUL_SETS, stateful_set(), "default")
    await apply(world.client, wanted)
    await world.until(lambda: set(world.assigned("db-statefulset")) == {"member1", "member2"}, 60)
    await world.sleep(60)
    way = world.link("controllers", "member1")
    way.cut()
    await world.until(lambda: tasks(world, "db-statefulset") == ["member1", "member2"])
    await world.sleep(120)
    assert [len(await pods(world, f"member{n}")) > 0 for n in (2, 3, 4)] == [True, False, False]
    await without_room(world, "member1")
    await delete_pods(world, "member1")
    await world.sleep(10)
    way.mend()
    await world.until(lambda: not tasks(world, "db-statefulset"), 900)
    assert [len(await pods(world, f"member{n}")) > 0 for n in (1, 2, 3, 4)] == [False, False, True, True]


@pytest.mark.parametrize("time_to_start", ["", "30m"])
@in_world(THREE)
async def test_c1_what_has_no_replicas_and_starts_nowhere_is_tried_once_in_each_cluster(
    world: World, time_to_start: str
) -> None:
    """A script judges it, as a job of Flink: it is Unhealthy until it runs."""
    first = await one_judged_copy(world)
    options = {TIME_TO_START_ANNOTATION: time_to_start} if time_to_start else {}
    failover = {"failover": {"cluster": {"purgeMode": "Directly"}}}
    await world.client.patch(POLICIES, "nightly", {"metadata": {"annotations": options}, "spec": failover}, "default")
    await world.sleep(20)
    await world.client.patch(CLUSTERS, first, {"spec": {"taints": [{"key": "gone", "effect": "NoExecute"}]}})
    began, moves = world.seconds, list[tuple[str, float]]()
    while world.seconds < began + 4 * 3600:
        await world.sleep(30)
        (target,) = world.assigned(NIGHTLY) or [first]
        if target != (moves[-1][0] if moves else first):
            moves.append((target, world.seconds - began))
    assert [target for target, _ in moves] == sorted(set(THREE) - {first}), "each of the others, once"
    assert moves[1][1] == pytest.approx(1830 if time_to_start else 630, abs=40)


ONE: dict[str, Any] = {
    "clusterAffinity": {"clusterNames": [*THREE]},
    "spreadConstraints": [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}],
}


async def is_cut_off_and_purged(world: World, placement: Manifest, mode: Mode = "Push") -> Link:
    """Four replicas, of which at least two are in member1."""
    made = policy("web", placement)
    made["spec"]["failover"] = {"cluster": {"purgeMode": "Directly"}}
    await apply(world.client, deployment("web", 4), made)
    await world.sleep(60)
    way = world.link("controllers", "member1") if mode == "Push" else world.link(agent_of("member1"), world.NAME)
    way.cut()
    await world.until(lambda: tasks(world, WEB) == ["member1"])
    await world.sleep(120)
    return way


@pytest.mark.parametrize("division", ["divided", "one copy"])
@pytest.mark.parametrize("mode", ["Push", "Pull"])
def test_s1_a_copy_that_was_cut_off_and_is_well_is_not_purged_any_more(mode: Mode, division: str) -> None:
    """Nothing was made elsewhere. The order to purge it ends with its reason, the taint."""

    async def story(world: World) -> None:
        placement = by_weight({"member1": 1, "member2": 1}) if division == "divided" else ONE
        way = await is_cut_off_and_purged(world, placement, mode)
        before = await identities(world, "web", ["member1"])
        assert before
        way.mend()
        for _ in range(180):
            await world.sleep(1)
            assert await identities(world, "web", ["member1"]) == before
        assert tasks(world, WEB) == []
        assert world.assigned(WEB) == ({"member1": 2, "member2": 2} if division == "divided" else {"member1": 4})

    play(story, {**THREE, "member1": mode})


@pytest.mark.parametrize("why", ["drained", "empty", "cordoned", "ordered"])
@in_world(THREE)
async def test_s7_what_was_cut_off_is_purged_where_it_cannot_come_back(world: World, why: str) -> None:
    """A purge is carried out where the taint stands, nothing serves, nothing new may come, or an order was given."""
    way = await is_cut_off_and_purged(world, ONE)
    if why == "drained":
        await start_drain(world.client, "member1", None)
    elif why == "cordoned":
        home = await world.client.get(CLUSTERS, "member1")
        taints = [to_builtins(taint) for taint in home.taints] + [{"key": "cordoned", "effect": "NoSchedule"}]
        await world.client.patch(CLUSTERS, "member1", {"spec": {"taints": taints}})
    elif why == "ordered":
        (work,) = (await world.client.list(WORKS, execution_space("member1"))).items
        await world.client.delete(WORKS, work.name, work.namespace)
    else:
        await without_room(world, "member1")
        await delete_pods(world, "member1")
        await world.sleep(10)
    way.mend()
    await world.until(lambda: not tasks(world, WEB), 900)
    await world.sleep(60)
    (target,) = world.assigned(WEB)
    assert target != "member1"
    assert [await ready_replicas(world, name, "web") for name in ("member1", target)] == [-1, 4]


@in_world(THREE)
async def test_preserved_state_goes_along_over_every_move(world: World) -> None:
    """The second copy never tells anything, and the controllers begin anew in the middle."""
    first = await one_judged_copy(world)
    rules = [{"aliasLabelName": "example.com/checkpoint", "jsonPath": "{.checkpoint}"}]
    failover = {"cluster": {"purgeMode": "Directly", "statePreservation": {"rules": rules}}}
    await world.client.patch(POLICIES, "nightly", {"spec": {"failover": failover}}, "default")

    async def label(name: str) -> str | None:
        found = await world.member(name).client.get(CRON_TABS, "nightly", "default")
        return found["metadata"]["labels"].get("example.com/checkpoint")

    async def tell(name: str, checkpoint: str) -> None:
        status = {"status": {"done": 1, "checkpoint": checkpoint}}
        await world.member(name).client.patch(CRON_TABS, "nightly", status, "default")
        await world.sleep(30)

    async def leave(name: str) -> str:
        taints = {"spec": {"taints": [{"key": "gone", "effect": "NoExecute"}]}}
        await world.client.patch(CLUSTERS, name, taints)
        await world.until(lambda: list(world.assigned(NIGHTLY)) not in ([], [name]), 120)
        await world.sleep(30)
        return next(iter(world.assigned(NIGHTLY)))

    await tell(first, "7")
    second = await leave(first)
    assert await label(second) == "7"
    await world.stop_controllers()
    world.start_controllers()
    await world.until(lambda: second not in world.assigned(NIGHTLY), 1200)
    await world.sleep(30)
    (third,) = world.assigned(NIGHTLY)
    assert (third != first, await label(third)) == (True, "7")
    await tell(third, "8")
    assert tasks(world, NIGHTLY) == []
    assert await leave(third) == second
    assert await label(second) == "8"
    await world.client.patch(CLUSTERS, third, {"spec": {"taints": None}})
    assert await leave(second) == third
    assert await label(third) == "8", "the copy between them has told nothing"
