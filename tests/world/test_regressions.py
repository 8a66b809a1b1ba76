"""Stories of what once went wrong."""

import pytest

from kubeapi.core import NAMESPACES
from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from leeward.api.resource import CLUSTERS, RESOURCE_BINDINGS
from leeward.operations.drain import start_drain
from leeward.sim.world import World
from tests.world.stories import DEPLOYMENTS, POLICIES, apply, by_weight, deployment, in_world, policy, ready_replicas

NAMESPACE_MANIFESTS = Resource.of_manifests("v1", "namespaces", "Namespace", False)
ONE_TO_TWO = by_weight({"member1": 1, "member2": 2})
IN_BOTH: Manifest = {
    "clusterAffinity": {"clusterNames": ["member1", "member2"]},
    "spreadConstraints": [{"spreadByField": "cluster", "minGroups": 2, "maxGroups": 2}],
    "replicaScheduling": {"replicaSchedulingType": "Duplicated"},
}


async def placed(world: World, replicas: int = 3) -> None:
    """`web` is divided over member1 and member2, and runs."""
    await apply(world.client, deployment("web", replicas), policy("web", ONE_TO_TWO))
    await world.until(lambda: sum(world.assigned("web-deployment").values()) == replicas, 60)
    await world.sleep(15)


@in_world()
async def test_a_template_that_is_deleted_and_made_again_is_propagated_again(world: World) -> None:
    await placed(world)
    await world.client.delete(DEPLOYMENTS, "web", "default")
    await apply(world.client, deployment("web", 3))
    await world.sleep(60)
    assert world.assigned("web-deployment") == {"member1": 1, "member2": 2}
    assert await ready_replicas(world, "member2", "web") == 2


@in_world()
async def test_a_binding_that_someone_deletes_is_made_again(world: World) -> None:
    await placed(world)
    await world.client.delete(RESOURCE_BINDINGS, "web-deployment", "default")
    await world.sleep(60)
    assert world.assigned("web-deployment") == {"member1": 1, "member2": 2}
    assert await ready_replicas(world, "member2", "web") == 2


@pytest.mark.long
@in_world()
async def test_s11_a_dead_target_is_no_place_to_go_and_bars_no_recovery(world: World) -> None:
    await placed(world)
    await world.member("member2").stop()
    await world.sleep(60)
    await world.member("member1").stop()
    await world.sleep(900)
    assert world.assigned("web-deployment") == {"member1": 1, "member2": 2}, "nothing moves onto the dead"
    await world.member("member2").start()
    await world.until(lambda: world.assigned("web-deployment") == {"member2": 3}, 300)
    await world.sleep(30)
    assert await ready_replicas(world, "member2", "web") == 3


@pytest.mark.long
@in_world()
async def test_s1_time_takes_no_healthy_copy_away_whose_replacement_is_dead(world: World) -> None:
    await placed(world)
    taint = {"key": "example.com/maintenance", "effect": "NoExecute"}
    await world.member("member2").stop()
    await world.client.patch(CLUSTERS, "member1", {"spec": {"taints": [taint]}})
    await world.sleep(1_500)
    assert await ready_replicas(world, "member1", "web") == 1


@in_world()
async def test_a_held_eviction_does_not_hold_back_scaling(world: World) -> None:
    await apply(world.client, deployment("web", 1), policy("web", IN_BOTH))
    await world.sleep(15)
    await world.member("member1").stop()
    await world.sleep(700)
    await world.client.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 4}}, "default")
    await world.sleep(30)
    assert await ready_replicas(world, "member2", "web") == 4


@in_world()
async def test_a_cluster_that_leaves_holds_back_no_other(world: World) -> None:
    await apply(world.client, deployment("web", 1), policy("web", IN_BOTH))
    await world.sleep(15)
    await world.client.delete(CLUSTERS, "member1")
    await world.sleep(60)
    await world.client.patch(DEPLOYMENTS, "web", {"spec": {"minReadySeconds": 7}}, "default")
    await world.sleep(60)
    assert set(world.assigned("web-deployment")) == {"member2"}
    updated = await world.member("member2").client.get(DEPLOYMENTS, "web", "default")
    assert updated["spec"]["minReadySeconds"] == 7


@in_world()
async def test_a_namespace_that_is_made_again_while_a_member_is_down_comes_back_there(world: World) -> None:
    await world.client.create(NAMESPACES, {"metadata": {"name": "shop"}})
    await world.sleep(10)
    await world.member("member1").stop()
    await world.sleep(60)
    await world.client.delete(NAMESPACES, "shop")
    await world.sleep(10)
    await world.client.create(NAMESPACES, {"metadata": {"name": "shop"}})
    await world.member("member1").start()
    await world.sleep(120)
    found = await world.member("member1").client.get(NAMESPACE_MANIFESTS, "shop")
    assert found["status"]["phase"] == "Active"


@in_world()
async def test_a_kind_that_is_not_there_holds_back_neither_the_others_nor_the_policys_deletion(world: World) -> None:
    both = policy("web", ONE_TO_TWO)
    unknown = {"apiVersion": "stable.example.com/v1", "kind": "CronTab", "name": "web"}
    both["spec"]["resourceSelectors"] = [unknown, *both["spec"]["resourceSelectors"]]
    await apply(world.client, deployment("web", 3), both)
    await world.until(lambda: world.assigned("web-deployment") == {"member1": 1, "member2": 2}, 60)
    await world.client.delete(POLICIES, "web", "default")
    await world.sleep(30)
    assert not (await world.client.list(POLICIES, "default")).items
    assert world.assigned("web-deployment") == {"member1": 1, "member2": 2}, "the application stays"


@in_world()
async def test_a_claimed_template_stays_with_its_policy(world: World) -> None:
    await placed(world)
    greedy = policy("greedy", by_weight({"member3": 1}))
    greedy["spec"]["resourceSelectors"][0]["name"] = "web"
    greedy["spec"]["priority"] = 100
    await apply(world.client, greedy)
    await world.sleep(30)
    assert world.assigned("web-deployment") == {"member1": 1, "member2": 2}


@in_world()
async def test_scheduling_that_someone_suspended_stays_suspended(world: World) -> None:
    await placed(world)
    suspension = {"spec": {"suspension": {"scheduling": True}}}
    await world.client.patch(RESOURCE_BINDINGS, "web-deployment", suspension, "default")
    await world.client.patch(DEPLOYMENTS, "web", {"metadata": {"labels": {"touched": "yes"}}}, "default")
    await world.sleep(30)
    binding = world.binding("web-deployment")
    assert binding is not None
    assert binding.spec.suspension is not None
    assert binding.spec.suspension.scheduling is True


@in_world()
async def test_fields_that_someone_adds_in_a_member_are_taken_away_again(world: World) -> None:
    await placed(world)
    extra = {"spec": {"paused": True}, "metadata": {"labels": {"their": "label"}}}
    await world.member("member2").client.patch(DEPLOYMENTS, "web", extra, "default")
    await world.sleep(30)
    found = await world.member("member2").client.get(DEPLOYMENTS, "web", "default")
    assert "paused" not in found["spec"]
    assert found["metadata"]["labels"]["their"] == "label", "S9: what others own stays"


@pytest.mark.long
@in_world()
async def test_s7_with_directly_no_copy_grows_before_the_old_one_is_gone(world: World) -> None:
    directly = policy("web", ONE_TO_TWO)
    directly["spec"]["failover"] = {"cluster": {"purgeMode": "Directly"}}
    await apply(world.client, deployment("web", 3), directly)
    await world.sleep(15)
    world.member("member1").pause()
    await world.until(lambda: world.assigned("web-deployment") == {"member2": 3}, 1_000)
    await world.sleep(1_500)
    assert await ready_replicas(world, "member2", "web") == 2
    await start_drain(world.client, "member1", None)
    world.member("member1").resume()
    await world.sleep(120)
    assert await ready_replicas(world, "member2", "web") == 3
    assert await ready_replicas(world, "member1", "web") == -1


@in_world()
async def test_l3_what_a_member_brings_back_from_its_past_is_removed_again(world: World) -> None:
    await placed(world)
    restored = world.member("member1")
    member = restored.client
    past = await member.get(DEPLOYMENTS, "web", "default")
    backup = await restored.contents()
    await world.client.delete(DEPLOYMENTS, "web", "default")
    await world.sleep(30)
    assert not (await member.list(DEPLOYMENTS, "default")).items
    await restored.stop()
    restored.medium.replace(backup)
    await restored.start()
    assert (await member.list(DEPLOYMENTS, "default")).items
    await world.sleep(60)
    assert not (await member.list(DEPLOYMENTS, "default")).items

    kept = {key: past["metadata"][key] for key in ("name", "labels", "annotations")}
    foreign: Manifest = {**kept, "labels": {}, "annotations": {}}
    await member.create(DEPLOYMENTS, {**past, "metadata": foreign}, "default")
    await world.sleep(30)
    assert (await member.list(DEPLOYMENTS, "default")).items, "S6: what does not say that it is ours stays"
