"""--karmada-exact and the metrics that show each safety switch at work, as stories."""

import pytest

from kubeapi.quantity import parse_quantity
from leeward.manager.settings import ManagerSettings
from leeward.sim.world import Mode, World
from tests.world.stories import apply, by_weight, deployment, in_world, policy

FOUR: dict[str, Mode] = {"member1": "Push", "member2": "Push", "member3": "Pull", "member4": "Push"}
NO_EXECUTE = "cluster.karmada.io/not-ready:NoExecute"


def metric(world: World, name: str, **labels: str) -> float:
    return world.metrics.registry.get_sample_value(name, labels) or 0.0


async def cut_off(world: World) -> None:
    await apply(world.client, deployment("web", 6), policy("web", by_weight(dict.fromkeys(FOUR, 1))))
    await world.until(lambda: sum(world.assigned("web-deployment").values()) == 6, 60)
    await world.sleep(10)
    for name in FOUR:
        world.member(name).pause()
    await world.sleep(1_200)


@in_world(FOUR, manager=ManagerSettings().karmada_exact())
async def test_karmada_exact_evicts_everything_when_the_control_plane_is_cut_off(world: World) -> None:
    await cut_off(world)
    assert NO_EXECUTE in world.taints("member1")
    assert world.assigned("web-deployment") == {}
    assert metric(world, "leeward_brake_engaged") == 0


@pytest.mark.long
@in_world(FOUR)
async def test_by_default_the_brake_is_seen_to_hold(world: World) -> None:
    await cut_off(world)
    assert sum(world.assigned("web-deployment").values()) == 6
    assert metric(world, "leeward_brake_engaged") == 1
    looks = "controller_runtime_reconcile_total"
    assert metric(world, looks, controller="brake-controller", result="success") > 0


@pytest.mark.long
@in_world()
async def test_an_eviction_without_a_place_is_counted_and_counted_once(world: World) -> None:
    await apply(world.client, deployment("web", 2), policy("web", by_weight({"member1": 1})))
    await world.until(lambda: world.assigned("web-deployment") == {"member1": 2}, 60)
    await world.member("member1").stop()
    await world.sleep(2_000)
    assert world.assigned("web-deployment") == {"member1": 2}
    assert metric(world, "leeward_evictions_held_total", reason="NoPlaceToGo") == 1
    assert metric(world, "leeward_held_evictions", reason="NoPlaceToGo") == 1
    await world.stop_controllers()
    world.start_controllers()
    await world.sleep(60)
    assert metric(world, "leeward_held_evictions", reason="NoPlaceToGo") == 1
    await world.member("member1").start()
    await world.sleep(300)
    assert metric(world, "leeward_held_evictions", reason="NoPlaceToGo") == 0


@in_world()
async def test_a_members_capacity_is_measured(world: World) -> None:
    await world.sleep(30)
    resources = world.cluster("member1").status.resource_summary
    assert resources is not None
    cores = metric(world, "cluster_cpu_allocatable_number", member_cluster="member1")
    assert cores == float(parse_quantity(resources.allocatable["cpu"])) > 0
    assert metric(world, "cluster_pod_allocatable_number", member_cluster="member1") > 0
    assert metric(world, "cluster_memory_allocatable_bytes", member_cluster="member1") > 0
    assert metric(world, "cluster_sync_status_duration_seconds_count", member_cluster="member1") > 1
    assert metric(world, "leeward_cluster_status_uncollected", member_cluster="member1") == 0


@pytest.mark.long
@in_world()
async def test_an_eviction_that_is_withdrawn_is_counted(world: World) -> None:
    await apply(world.client, deployment("web", 3), policy("web", by_weight({"member1": 1, "member2": 2})))
    await world.until(lambda: world.assigned("web-deployment") == {"member1": 1, "member2": 2}, 60)
    await world.sleep(30)
    await world.member("member1").stop()
    await world.until(lambda: NO_EXECUTE in world.taints("member1"))
    await world.sleep(295)
    world.member("member2").place.link.hang()
    await world.until(lambda: world.assigned("web-deployment") == {"member2": 3}, 60)
    await world.member("member1").start()
    await world.until(lambda: world.assigned("web-deployment") == {"member1": 1, "member2": 2}, 120)
    await world.sleep(1)
    assert metric(world, "leeward_evictions_withdrawn_total") == 1
