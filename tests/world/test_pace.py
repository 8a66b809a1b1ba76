"""Evictions at a pace: a drain with a budget, its undoing, and a configured rate (C4)."""

import itertools

import pytest

from leeward.api.meta import find_condition
from leeward.api.names import DRAIN_BUDGET_ANNOTATION, DRAIN_TAINT, EVICTION_HELD_CONDITION
from leeward.api.resource import CLUSTERS
from leeward.manager.settings import EvictionSettings, ManagerSettings
from leeward.sim.world import World
from tests.variants import mostly_long
from tests.world.stories import apply, by_weight, deployment, in_world, play, policy

APPS = [f"app{number}" for number in range(6)]
OUTAGE = ("cluster.karmada.io/not-ready", "cluster.karmada.io/unreachable")
DRAIN = {"key": DRAIN_TAINT, "effect": "NoExecute"}


async def apps_run(world: World, **placement: object) -> None:
    """Each with one replica in member1 and one in member2."""
    for name in APPS:
        evenly = {**by_weight({"member1": 1, "member2": 1}), **placement}
        await apply(world.client, deployment(name, 2), policy(name, evenly))
    await world.until(lambda: in_member1(world) == len(APPS), 60)
    await world.sleep(30)


async def drain(world: World, budget: int) -> None:
    annotations = {DRAIN_BUDGET_ANNOTATION: str(budget)}
    await world.client.patch(
        CLUSTERS, "member1", {"metadata": {"annotations": annotations}, "spec": {"taints": [DRAIN]}}
    )


def in_member1(world: World) -> int:
    return sum("member1" in world.assigned(f"{name}-deployment") for name in APPS)


def under_way(world: World) -> int:
    """Number of bindings that are on their way out of member1."""
    bindings = (world.binding(f"{name}-deployment") for name in APPS)
    return sum(bool(binding and binding.spec.graceful_eviction_tasks) for binding in bindings)


def reason_held(world: World, name: str) -> str:
    binding = world.binding(f"{name}-deployment")
    held = find_condition(binding.status.conditions, EVICTION_HELD_CONDITION) if binding is not None else None
    return held.reason if held is not None else ""


@pytest.mark.long
def test_a_drain_moves_no_more_than_its_budget_at_a_time_until_all_has_moved() -> None:
    async def story(world: World) -> None:
        await apps_run(world)
        most = 0

        def is_drained() -> bool:
            nonlocal most
            most = max(most, under_way(world))
            return in_member1(world) == 0 and under_way(world) == 0

        await drain(world, budget=2)
        await world.until(lambda: under_way(world) == 2, 10)
        await world.until(lambda: sum(reason_held(world, name) == "WaitingForTurn" for name in APPS) == 4, 10)
        await world.until(is_drained, 300)
        assert most == 2
        assert {reason_held(world, name) for name in APPS} == {""}

    play(story)


@pytest.mark.long
@in_world()
async def test_a_drain_that_is_undone_leaves_what_has_not_begun_to_move(world: World) -> None:
    await apps_run(world)
    await drain(world, budget=1)
    await world.until(lambda: in_member1(world) <= 4, 60)
    undone = {"metadata": {"annotations": {DRAIN_BUDGET_ANNOTATION: None}}, "spec": {"taints": None}}
    await world.client.patch(CLUSTERS, "member1", undone)
    await world.until(lambda: under_way(world) == 0, 60)
    left = in_member1(world)
    assert left >= 4
    await world.sleep(600)
    assert in_member1(world) == left
    assert {reason_held(world, name) for name in APPS} == {""}


@pytest.mark.long
@in_world()
async def test_a_drained_cluster_that_dies_is_left_at_once(world: World) -> None:
    await apps_run(world)
    await drain(world, budget=1)
    await world.member("member1").stop()
    await world.until(lambda: not world.is_ready("member1"), 120)
    await world.until(lambda: in_member1(world) == 0, 5)


@pytest.mark.long
@in_world(manager=ManagerSettings(eviction=EvictionSettings(per_second=0.1)))
async def test_c4_a_rate_of_one_in_ten_seconds_is_kept_in_a_failover(world: World) -> None:
    await apps_run(world)
    await world.member("member1").stop()
    await world.until(lambda: in_member1(world) < len(APPS), 900)
    instants = [world.seconds]
    for left in range(len(APPS) - 2, -1, -1):
        await world.until(lambda left=left: in_member1(world) <= left, 60)
        instants.append(world.seconds)
    pauses = [later - earlier for earlier, later in itertools.pairwise(instants)]
    assert all(9.9 < pause < 10.5 for pause in pauses), pauses


@pytest.mark.long
@pytest.mark.parametrize("step_seconds", mostly_long([3_600, -3_600], 3_600))
@in_world(manager=ManagerSettings(eviction=EvictionSettings(per_second=0.05)))
async def test_c4_a_step_of_the_wall_clock_neither_hurries_the_rate_nor_holds_it_up(
    world: World, step_seconds: int
) -> None:
    """All six turns are given when member1 is lost; the clock steps in between."""
    at_once = [{"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 0} for key in OUTAGE]
    await apps_run(world, clusterTolerations=at_once)
    await world.member("member1").stop()
    await world.until(lambda: in_member1(world) == len(APPS) - 2, 900)
    world.controllers_clock.skew_seconds += step_seconds
    for left in range(len(APPS) - 3, -1, -1):
        waited = await world.until(lambda left=left: in_member1(world) <= left, 25)
        assert in_member1(world) == left
        assert waited > 15
