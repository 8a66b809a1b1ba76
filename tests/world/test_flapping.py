"""A cluster comes and goes, and is held down for that. The bound on moves is in `docs/decisions/0009-flapping.md`."""

import pytest

from kubeapi.core import EVENTS
from leeward.api.names import FLAPPING_TAINT
from leeward.core.cluster_health.flap_damping import parse_flapping
from leeward.sim.world import Mode, World
from tests.variants import mostly_long
from tests.world.stories import apply, by_weight, deployment, in_world, policy, ready_replicas

TWO: dict[str, Mode] = {"member1": "Push", "member2": "Push"}
WEB = "web-deployment"
HELD_DOWN = f"{FLAPPING_TAINT}:NoSchedule"


async def outage(world: World, member: str, down_seconds: float = 720, up_seconds: float = 120) -> None:
    await world.member(member).stop()
    await world.sleep(down_seconds)
    await world.member(member).start()
    await world.sleep(up_seconds)


@pytest.mark.long
@in_world(TWO)
async def test_c1_a_cluster_that_flaps_takes_nothing_in_until_its_hold_down_is_over(world: World) -> None:
    await apply(world.client, deployment("web", 2), policy("web", by_weight({"member1": 1, "member2": 1})))
    await world.until(lambda: world.assigned(WEB) == {"member1": 1, "member2": 1}, 60)
    await world.sleep(30)
    await outage(world, "member1")
    assert world.taints("member1") == set(), "a first outage costs nothing"
    assert world.assigned(WEB) == {"member2": 2}
    await outage(world, "member1")
    assert world.taints("member1") == {HELD_DOWN}
    told = [event.reason for event in (await world.client.list(EVENTS, "default")).items]
    assert told.count("ClusterFlapping") == 1

    await apply(world.client, deployment("new", 2), policy("new", by_weight({"member1": 1, "member2": 1})))
    await world.until(lambda: world.assigned("new-deployment") == {"member2": 2}, 60)
    await world.stop_controllers()
    world.start_controllers()
    memory = parse_flapping(world.cluster("member1"))
    assert memory is not None
    assert memory.until is not None
    seconds_left = (memory.until - world.clock.now()).total_seconds()
    await world.sleep(seconds_left - 1)
    assert world.taints("member1") == {HELD_DOWN}
    await world.until(lambda: world.taints("member1") == set(), 2)


@pytest.mark.long
@in_world(TWO)
async def test_l2_a_cluster_that_is_held_down_is_the_last_resort_of_a_workload_that_has_lost_all_else(
    world: World,
) -> None:
    await apply(world.client, deployment("web", 2), policy("web", by_weight({"member1": 1, "member2": 1})))
    await world.sleep(30)
    await outage(world, "member1")
    await outage(world, "member1")
    assert world.assigned(WEB) == {"member2": 2}
    await world.member("member2").stop()
    await world.until(lambda: "NoExecute" in str(world.taints("member2")))
    tainted = world.seconds
    await world.until(lambda: world.assigned(WEB) == {"member1": 2})
    assert 1_800 <= world.seconds - tainted < 1_801
    await world.sleep(30)
    assert await ready_replicas(world, "member1", "web") == 2


@pytest.mark.long
@pytest.mark.parametrize("step_seconds", mostly_long([7_200, -7_200], 7_200))
@in_world(TWO)
async def test_s13_a_step_of_the_wall_clock_neither_ends_a_hold_down_nor_prolongs_it(
    world: World, step_seconds: int
) -> None:
    await outage(world, "member1")
    await outage(world, "member1", up_seconds=0)
    await world.until(lambda: world.taints("member1") == {HELD_DOWN}, 120)
    world.controllers_clock.skew_seconds += step_seconds
    memory = parse_flapping(world.cluster("member1"))
    assert memory is not None
    assert memory.until is not None
    held_down_for = (memory.until - memory.at).total_seconds()
    await world.sleep(held_down_for - 30)
    assert world.taints("member1") == {HELD_DOWN}
    await world.until(lambda: world.taints("member1") == set(), 60)
