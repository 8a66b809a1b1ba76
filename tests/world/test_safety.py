"""Safe by default, as stories: the control plane is cut off, and clusters come back in the middle of an eviction."""

import pytest

from kubeapi.core import CONFIG_MAPS, EVENTS
from leeward.api.meta import find_condition
from leeward.api.names import BRAKE_NAME, EVICTION_HELD_CONDITION, SYSTEM_NAMESPACE
from leeward.core.cluster_health.brake import parse_brake
from leeward.operations.drain import start_drain
from leeward.sim.world import Mode, World
from tests.world.stories import (
    DEPLOYMENTS,
    apply,
    by_weight,
    deployment,
    identities,
    in_world,
    policy,
    ready_replicas,
    scenario,
)

FOUR: dict[str, Mode] = {"member1": "Push", "member2": "Push", "member3": "Pull", "member4": "Push"}
NO_EXECUTE = "cluster.karmada.io/not-ready:NoExecute"


async def brake_engaged(world: World) -> bool:
    page = await world.client.list(CONFIG_MAPS, SYSTEM_NAMESPACE)
    found = [config_map for config_map in page.items if config_map.name == BRAKE_NAME]
    return bool(found) and parse_brake(found[0].data).engaged


@pytest.mark.long
@in_world(FOUR)
async def test_s4_a_control_plane_that_is_cut_off_evicts_nothing(world: World) -> None:
    await apply(world.client, deployment("web", 6), policy("web", by_weight(dict.fromkeys(FOUR, 1))))
    await world.until(lambda: sum(world.assigned("web-deployment").values()) == 6, 60)
    await world.sleep(10)
    before, there = world.assigned("web-deployment"), await identities(world, "web")
    for name in FOUR:
        world.member(name).pause()
    await world.sleep(3_600)
    assert world.assigned("web-deployment") == before
    assert not [name for name in FOUR if NO_EXECUTE in world.taints(name)]
    assert await brake_engaged(world)
    told = [e.reason for e in (await world.client.list(EVENTS, SYSTEM_NAMESPACE)).items]
    assert told == ["BrakeEngaged"]

    for name in FOUR:
        world.member(name).resume()
    await world.sleep(200)
    assert not await brake_engaged(world)
    assert world.assigned("web-deployment") == before
    assert [name for name in FOUR if world.taints(name)] == []
    assert await identities(world, "web") == there, "nothing was made anew, nor changed"


@pytest.mark.long
@in_world(FOUR)
async def test_s4_evictions_that_were_due_are_held_until_the_fleet_is_back(world: World) -> None:
    await apply(world.client, *scenario("divided.yaml"))
    await world.until(lambda: len(world.assigned("nginx-deployment")) == 2, 60)
    await world.sleep(10)
    await world.member("member1").stop()
    await world.until(lambda: NO_EXECUTE in world.taints("member1"))
    for name in ("member3", "member4"):
        await world.member(name).stop()
    await world.sleep(600)
    assert world.assigned("nginx-deployment") == {"member1": 1, "member2": 2}
    binding = world.binding("nginx-deployment")
    assert binding is not None
    held = find_condition(binding.status.conditions, EVICTION_HELD_CONDITION)
    assert held is not None
    assert held.reason == "BrakeEngaged"
    for name in ("member3", "member4"):
        await world.member(name).start()
    await world.until(lambda: world.assigned("nginx-deployment") == {"member2": 3}, 600)


@in_world()
async def test_a_cluster_that_returns_before_its_replacement_is_ready_keeps_its_copy(world: World) -> None:
    manifests = (deployment("web", 3), policy("web", by_weight({"member1": 1, "member2": 2})))
    await apply(world.client, *manifests)
    await world.until(lambda: world.assigned("web-deployment") == {"member1": 1, "member2": 2}, 60)
    await world.sleep(30)
    there = await identities(world, "web", ["member1"])
    await world.member("member1").stop()
    await world.until(lambda: NO_EXECUTE in world.taints("member1"))
    world.member("member2").set_latency(4)
    await world.sleep(295)
    world.member("member2").place.link.hang()
    await world.until(lambda: world.assigned("web-deployment") == {"member2": 3}, 60)
    await world.member("member1").start()
    await world.until(lambda: world.assigned("web-deployment") == {"member1": 1, "member2": 2}, 120)
    binding = world.binding("web-deployment")
    assert binding is not None
    assert binding.spec.graceful_eviction_tasks == ()
    await world.sleep(5)
    assert await ready_replicas(world, "member1", "web") == 1
    assert await identities(world, "web", ["member1"]) == there, "it is the copy that was there"


@pytest.mark.parametrize("purge_mode", ["Gracefully", "Directly"])
@in_world()
async def test_what_is_evicted_does_not_run_twice_though_a_deleted_template_would_preserve_it(
    world: World, purge_mode: str
) -> None:
    preserving = policy("web", by_weight({"member1": 1, "member2": 2}))
    preserving["spec"]["preserveResourcesOnDeletion"] = True
    preserving["spec"]["failover"] = {"cluster": {"purgeMode": purge_mode}}
    await apply(world.client, deployment("web", 3), preserving)
    await world.until(lambda: world.assigned("web-deployment") == {"member1": 1, "member2": 2}, 60)
    await world.sleep(30)
    await world.member("member1").stop()
    await world.until(lambda: world.assigned("web-deployment") == {"member2": 3})
    await world.sleep(60)
    await start_drain(world.client, "member1", None)
    await world.member("member1").start()
    await world.until(lambda: world.is_ready("member1"))
    await world.sleep(30)
    assert await ready_replicas(world, "member1", "web") == -1
    await world.client.delete(DEPLOYMENTS, "web", "default")
    await world.sleep(60)
    assert await ready_replicas(world, "member2", "web") == 3, "this is what is preserved"
