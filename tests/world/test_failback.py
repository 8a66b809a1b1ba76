"""Failback: what an outage has moved returns, step by step, and never with fewer healthy replicas than asked."""

from collections.abc import Callable, Mapping

import pytest

from kubeapi.core import EVENTS, NODES
from kubeapi.meta import Manifest
from kubeclient import Unreachable
from leeward.api.names import (
    FAILBACK_AFTER_ANNOTATION,
    FAILBACK_ANNOTATION,
    FAILBACK_PACE_ANNOTATION,
    HOME_ANNOTATION,
)
from leeward.sim.world import Mode, World
from tests.variants import mostly_long
from tests.world.stories import (
    DEPLOYMENTS,
    POLICIES,
    apply,
    by_weight,
    deployment,
    in_world,
    policy,
    ready_replicas,
    with_room,
)

MEMBERS: Mapping[str, Mode] = {"member1": "Push", "member2": "Push", "member3": "Pull"}
WEB = "web-deployment"
ONE_TO_ONE = by_weight({"member1": 1, "member2": 1})


def among(*names: str, **strategy: object) -> Manifest:
    return {"clusterAffinity": {"clusterNames": list(names)}, "replicaScheduling": strategy}


DYNAMIC = among(
    "member1",
    "member2",
    replicaSchedulingType="Divided",
    replicaDivisionPreference="Weighted",
    weightPreference={"dynamicWeight": "AvailableReplicas"},
)
AGGREGATED = among("member1", "member2", replicaSchedulingType="Divided", replicaDivisionPreference="Aggregated")
TWO_OF_THREE = {
    **among("member1", "member2", "member3", replicaSchedulingType="Duplicated"),
    "spreadConstraints": [{"spreadByField": "cluster", "minGroups": 2, "maxGroups": 2}],
}


def returning(placement: Manifest, **annotations: str) -> Manifest:
    """The policy of `web` that asks for failback."""
    wanted = policy("web", placement)
    wanted["metadata"]["annotations"] = {FAILBACK_ANNOTATION: "Automatic", **annotations}
    return wanted


async def placed(world: World, replicas: int, wanted: Manifest) -> dict[str, int]:
    await apply(world.client, deployment("web", replicas), wanted)
    await world.until(lambda: bool(world.assigned(WEB)), 60)
    await world.sleep(30)
    return world.assigned(WEB)


async def lose(world: World, member: str) -> None:
    """Stops the member, and waits until nothing of `web` is assigned to it, and all that replaces it runs."""
    await world.member(member).stop()
    await world.until(lambda: member not in world.assigned(WEB))
    await world.sleep(30)


async def all_ready(world: World) -> int:
    """Replicas that are ready in the members that answer."""
    ready = 0
    for name in MEMBERS:
        try:
            ready += max(0, await ready_replicas(world, name, "web"))
        except Unreachable:
            continue
    return ready


async def watched(world: World, until: Callable[[], bool], at_least: int) -> None:
    """Waits, and looks every half second that never fewer replicas are ready than that."""
    for _ in range(4_000):
        if until():
            return
        await world.sleep(0.5)
        assert await all_ready(world) >= at_least
    raise AssertionError("it does not return")


async def without_room(world: World, member: str) -> None:
    client = world.member(member).client
    for node in (await client.list(NODES)).items:
        await client.patch(NODES, node.name, {"spec": {"unschedulable": True}})


def tasks(world: World) -> list[tuple[str, str]]:
    binding = world.binding(WEB)
    return [(task.from_cluster, task.reason) for task in binding.spec.graceful_eviction_tasks] if binding else []


def has_home(world: World) -> bool:
    binding = world.binding(WEB)
    return binding is not None and HOME_ANNOTATION in binding.metadata.annotations


@pytest.mark.long
@pytest.mark.parametrize(
    "placement",
    mostly_long([ONE_TO_ONE, DYNAMIC, AGGREGATED], ONE_TO_ONE),
    ids=["static", "dynamic", "aggregated"],
)
@in_world(MEMBERS)
async def test_s1_divided_replicas_return_in_steps_and_none_is_missed(world: World, placement: Manifest) -> None:
    before = await placed(world, 4, returning(placement))
    member = sorted(before)[0]
    await lose(world, member)
    assert sum(world.assigned(WEB).values()) == 4
    assert has_home(world)
    await world.member(member).start()
    await world.until(lambda: world.is_ready(member))
    ready = world.seconds
    await watched(world, lambda: member in world.assigned(WEB), 4)
    assert world.seconds - ready == pytest.approx(600, abs=1.5), "ten minutes of health"
    assert world.assigned(WEB)[member] == 1, "a quarter in one step"
    await watched(world, lambda: world.assigned(WEB) == before and not tasks(world), 4)
    await world.until(lambda: not has_home(world), 10)
    await world.sleep(10)
    assert {name: await ready_replicas(world, name, "web") for name in before} == before
    told = [event.reason for event in (await world.client.list(EVENTS, "default")).items]
    assert "FailbackStarted" in told


@pytest.mark.long
@in_world(MEMBERS)
async def test_s1_a_duplicated_copy_returns_and_its_stand_in_goes_when_it_is_healthy(world: World) -> None:
    before = await placed(world, 2, returning(TWO_OF_THREE))
    (stand_in,) = set(MEMBERS) - set(before)
    lost = sorted(before)[0]
    await lose(world, lost)
    assert stand_in in world.assigned(WEB)
    await world.member(lost).start()
    await world.until(lambda: world.is_ready(lost))
    await watched(world, lambda: world.assigned(WEB) == before, 4)
    assert tasks(world) == [(stand_in, "Failback")]
    await watched(world, lambda: not tasks(world), 4)
    await world.sleep(10)
    assert await ready_replicas(world, stand_in, "web") == -1
    assert not has_home(world)


@pytest.mark.long
@in_world(MEMBERS)
async def test_by_default_nothing_moves_back(world: World) -> None:
    await placed(world, 4, policy("web", ONE_TO_ONE))
    await lose(world, "member1")
    assert not has_home(world)
    await world.member("member1").start()
    await world.sleep(1_800)
    assert world.assigned(WEB) == {"member2": 4}


@pytest.mark.long
@in_world(MEMBERS)
async def test_s1_a_cluster_that_dies_again_in_the_middle_of_a_failback_loses_nothing(world: World) -> None:
    await placed(world, 4, returning(ONE_TO_ONE, **{FAILBACK_PACE_ANNOTATION: "2"}))
    await lose(world, "member1")
    await world.member("member1").start()
    await world.until(lambda: "member1" in world.assigned(WEB))
    assert tasks(world) == [("member2", "Failback")]
    await world.member("member1").stop()
    await watched(world, lambda: not world.is_ready("member1"), 4)
    await watched(world, lambda: world.assigned(WEB) == {"member2": 4}, 4)
    assert tasks(world) == []
    assert has_home(world), "it is tried again"
    await world.member("member1").start()
    await world.until(lambda: world.is_ready("member1"))
    await watched(world, lambda: world.assigned(WEB) == {"member1": 2, "member2": 2} and not tasks(world), 4)


@pytest.mark.long
@in_world(MEMBERS)
async def test_c1_nothing_returns_to_a_cluster_that_is_held_down(world: World) -> None:
    await placed(world, 4, returning(ONE_TO_ONE))
    for _ in range(2):
        await world.member("member1").stop()
        await world.sleep(720)
        await world.member("member1").start()
        await world.sleep(120)
    assert world.assigned(WEB) == {"member2": 4}
    await world.sleep(1_800)
    assert world.assigned(WEB) == {"member2": 4}
    await world.until(lambda: world.assigned(WEB) == {"member1": 2, "member2": 2}, 3_600)


@pytest.mark.long
@in_world(MEMBERS)
async def test_a_failback_that_does_not_become_healthy_is_given_up(world: World) -> None:
    await placed(world, 4, returning(ONE_TO_ONE, **{FAILBACK_AFTER_ANNOTATION: "1m"}))
    await lose(world, "member1")
    await world.member("member1").start()
    await world.until(lambda: world.is_ready("member1"))
    await without_room(world, "member1")
    await world.until(lambda: "member1" in world.assigned(WEB))
    await watched(world, lambda: world.assigned(WEB) == {"member2": 4}, 4)
    assert not has_home(world)


@pytest.mark.long
@in_world(MEMBERS)
async def test_another_placement_is_a_new_home(world: World) -> None:
    await placed(world, 4, returning(ONE_TO_ONE))
    await lose(world, "member1")
    wanted = by_weight({"member2": 1, "member3": 1})
    await world.client.patch(POLICIES, "web", {"spec": {"placement": wanted}}, "default")
    await world.until(lambda: world.assigned(WEB) == {"member2": 2, "member3": 2}, 60)
    await world.until(lambda: not has_home(world), 10)
    await world.member("member1").start()
    await world.sleep(1_800)
    assert world.assigned(WEB) == {"member2": 2, "member3": 2}


@pytest.mark.long
@in_world(MEMBERS)
async def test_s3_scaling_in_the_middle_of_a_failback_keeps_every_replica_and_goes_on(world: World) -> None:
    await placed(world, 4, returning(ONE_TO_ONE))
    await lose(world, "member1")
    await world.member("member1").start()
    await world.until(lambda: "member1" in world.assigned(WEB))
    assert tasks(world) == [("member2", "Failback")]
    await world.client.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 6}}, "default")
    await watched(world, lambda: sum(world.assigned(WEB).values()) == 6, 4)
    await watched(world, lambda: not tasks(world) and not has_home(world), 4)
    await world.sleep(30)
    assert world.assigned(WEB) == {"member1": 3, "member2": 3}
    assert await all_ready(world) == 6


@pytest.mark.long
@in_world(MEMBERS)
async def test_s13_what_was_not_watched_does_not_count_for_a_cluster_that_is_to_get_something_back(
    world: World,
) -> None:
    home = await placed(world, 4, returning(ONE_TO_ONE, **{FAILBACK_AFTER_ANNOTATION: "5m"}))
    await lose(world, "member1")
    await world.member("member1").start()
    await world.until(lambda: world.is_ready("member1"), 120)
    await world.sleep(60)
    away = world.assigned(WEB)
    await world.stop_controllers()
    await world.sleep(3600)
    world.start_controllers()
    for _ in range(200):
        await world.sleep(1)
        assert world.assigned(WEB) == away, "it has been well for a minute that somebody watched"
    await world.until(lambda: world.assigned(WEB) == home, 600)


@pytest.mark.long
@in_world(MEMBERS)
async def test_s13_a_way_home_is_not_given_up_for_time_in_which_nobody_watched(world: World) -> None:
    home = await placed(world, 4, returning(ONE_TO_ONE, **{FAILBACK_AFTER_ANNOTATION: "30s"}))
    await lose(world, "member1")
    await world.member("member1").start()
    await without_room(world, "member1")
    await world.until(lambda: "member1" in world.assigned(WEB), 600)
    await world.sleep(10)
    before = world.assigned(WEB)
    await world.stop_controllers()
    await world.sleep(3600)
    world.start_controllers()
    await world.sleep(120)
    assert world.assigned(WEB) == before, "it has had seconds of its ten minutes"
    await with_room(world, "member1")
    await world.until(lambda: world.assigned(WEB) == home and not tasks(world), 600)
    await world.sleep(60)
    assert await all_ready(world) == 4
