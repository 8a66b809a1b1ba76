"""Duplicated templates on five members, and evictions that are held because there is no place to go."""

from kubeapi.core import EVENTS
from leeward.api.meta import find_condition
from leeward.api.names import EVICTION_HELD_CONDITION
from leeward.api.resource import CLUSTERS
from leeward.sim.world import Mode, World
from tests.world.stories import apply, deployment, in_world, policy, ready_replicas, scenario, tasks, without_room

FIVE: dict[str, Mode] = {
    "member1": "Push",
    "member2": "Push",
    "member3": "Pull",
    "member4": "Push",
    "member5": "Push",
}
CANDIDATES = {"member1", "member2", "member3", "member5"}


async def placed_on_two(world: World) -> set[str]:
    await apply(world.client, *scenario("duplicated.yaml"))
    await world.until(lambda: len(world.assigned("nginx-deployment")) == 2, 60)
    await world.sleep(10)
    chosen = world.assigned("nginx-deployment")
    assert set(chosen) <= CANDIDATES
    assert set(chosen.values()) == {2}
    return set(chosen)


async def cordon(world: World, *names: str) -> None:
    for name in names:
        taint = {"key": "cluster.karmada.io/unschedulable", "effect": "NoSchedule"}
        await world.client.patch(CLUSTERS, name, {"spec": {"taints": [taint]}})


@in_world(FIVE)
async def test_a_copy_that_is_lost_is_replaced_on_another_candidate(world: World) -> None:
    victim, survivor = sorted(await placed_on_two(world))
    await world.member(victim).stop()
    await world.until(lambda: victim not in world.assigned("nginx-deployment"))
    after = world.assigned("nginx-deployment")
    assert survivor in after
    assert len(after) == 2
    assert "member4" not in after
    await world.sleep(30)
    for name in after:
        assert await ready_replicas(world, name, "nginx") == 2
    await world.member(victim).start()
    await world.sleep(300)
    assert world.assigned("nginx-deployment") == after, "what was placed stays"
    assert await ready_replicas(world, victim, "nginx") == -1


@in_world(FIVE)
async def test_s11_where_too_few_candidates_are_left_nothing_is_evicted_and_it_says_why(world: World) -> None:
    chosen = await placed_on_two(world)
    victim = min(chosen)
    await cordon(world, *(CANDIDATES - chosen))
    await world.member(victim).stop()
    await world.sleep(39 + 300 + 300 + 60)
    binding = world.binding("nginx-deployment")
    assert binding is not None
    assert set(world.assigned("nginx-deployment")) == chosen
    assert binding.spec.graceful_eviction_tasks == ()
    held = find_condition(binding.status.conditions, EVICTION_HELD_CONDITION)
    assert held is not None
    assert (held.status, held.reason) == ("True", "NoPlaceToGo")
    events = (await world.client.list(EVENTS, "default")).items
    told = [event for event in events if event.reason == "EvictWorkloadFromClusterFailed"]
    assert {event.involved_object.name for event in told} == {"nginx-deployment", "nginx"}, "binding and template"
    assert victim in told[0].message

    spare = min(CANDIDATES - chosen)
    await world.client.patch(CLUSTERS, spare, {"spec": {"taints": None}})
    await world.until(lambda: set(world.assigned("nginx-deployment")) == chosen - {victim} | {spare}, 60)
    after = world.binding("nginx-deployment")
    assert after is not None
    await world.sleep(1)
    after = world.binding("nginx-deployment")
    assert after is not None
    assert find_condition(after.status.conditions, EVICTION_HELD_CONDITION) is None


@in_world(dict.fromkeys(("member1", "member2", "member3"), "Push"))
async def test_l1_a_copy_that_nothing_replaces_any_more_is_kept_when_its_cluster_is_back(world: World) -> None:
    one = [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}]
    placement = {"clusterAffinity": {"clusterNames": ["member1", "member2"]}, "spreadConstraints": one}
    await apply(world.client, deployment("web", 2), policy("web", placement))
    await world.until(lambda: set(world.assigned("web-deployment")) == {"member1"}, 60)
    await world.sleep(30)
    await without_room(world, "member2")
    await world.member("member1").stop()
    await world.until(lambda: set(world.assigned("web-deployment")) == {"member2"})
    await world.client.delete(CLUSTERS, "member2")
    await world.until(lambda: not world.assigned("web-deployment"), 60)
    await world.member("member1").start()
    await world.until(lambda: world.assigned("web-deployment") == {"member1": 2}, 120)
    assert tasks(world, "web-deployment") == []
