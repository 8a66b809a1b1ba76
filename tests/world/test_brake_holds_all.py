"""The brake holds evictions of every shape: shared replicas, a copy that moves as a whole, a cluster-wide object."""

import pytest

from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from leeward.api.meta import find_condition
from leeward.api.names import EVICTION_HELD_CONDITION, REMOVAL_BLOCKED_CONDITION
from leeward.api.resource import CLUSTER_RESOURCE_BINDINGS, RESOURCE_BINDINGS
from leeward.api.work import Binding
from leeward.sim.world import Mode, World
from tests.variants import mostly_long
from tests.world.stories import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    POLICIES,
    by_weight,
    deployment,
    identities,
    in_world,
    play,
    policy,
    tasks,
)
from tests.world.test_safety import brake_engaged

FOUR: dict[str, Mode] = {"member1": "Push", "member2": "Push", "member3": "Pull", "member4": "Push"}
NO_EXECUTE = "cluster.karmada.io/not-ready:NoExecute"
ROLES = Resource.of_manifests("rbac.authorization.k8s.io/v1", "clusterroles", "ClusterRole", False)
CLUSTER_POLICIES = Resource.of_manifests(
    "policy.karmada.io/v1alpha1", "clusterpropagationpolicies", "ClusterPropagationPolicy", False
)
ONE_OF_TWO: Manifest = {
    "clusterAffinity": {"clusterNames": ["member1", "member2"]},
    "spreadConstraints": [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}],
    "replicaScheduling": {"replicaSchedulingType": "Duplicated"},
}


def role(name: str) -> Manifest:
    return {"apiVersion": ROLES.api_version, "kind": "ClusterRole", "metadata": {"name": name}, "rules": []}


def config_map(name: str) -> Manifest:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"key": "value"}}


def cluster_policy(name: str) -> Manifest:
    rule = policy(name, ONE_OF_TWO, "ClusterRole", ROLES.api_version)
    return {**rule, "kind": CLUSTER_POLICIES.kind}


SHAPES: dict[str, tuple[Resource[Manifest], Manifest, Resource[Manifest], Manifest]] = {
    "divided": (DEPLOYMENTS, deployment("web", 4), POLICIES, policy("web", by_weight({"member1": 1, "member2": 1}))),
    "duplicated": (DEPLOYMENTS, deployment("web", 2), POLICIES, policy("web", ONE_OF_TWO)),
    "without replicas": (CONFIG_MAPS, config_map("web"), POLICIES, policy("web", ONE_OF_TWO, "ConfigMap", "v1")),
    "cluster-wide": (ROLES, role("web"), CLUSTER_POLICIES, cluster_policy("web")),
}


async def bound(world: World, resource: Resource[Manifest]) -> Binding:
    if resource.namespaced:
        return (await world.client.list(RESOURCE_BINDINGS, "default")).items[0]
    return (await world.client.list(CLUSTER_RESOURCE_BINDINGS)).items[0]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.long
@in_world(FOUR)
async def test_s4_nothing_of_any_shape_leaves_while_the_brake_is_engaged(world: World, shape: str) -> None:
    resource, template, policies, rule = SHAPES[shape]
    namespace = "default" if resource.namespaced else ""

    async def uid(world: World, member: str) -> str:
        return (await world.member(member).client.get(resource, "web", namespace))["metadata"]["uid"]

    await world.client.create(policies, rule, "default" if policies.namespaced else "")
    await world.client.create(resource, template, namespace)
    await world.sleep(60)
    before = (await bound(world, resource)).spec
    victim = before.clusters[0].name
    copy = await uid(world, victim)
    await world.member(victim).stop()
    await world.until(lambda: NO_EXECUTE in world.taints(victim))
    others = [name for name in FOUR if name not in (victim, "member1", "member2")]
    for name in others:
        await world.member(name).stop()
    await world.sleep(1_800)
    assert await brake_engaged(world)
    held = await bound(world, resource)
    assert held.spec.clusters == before.clusters
    assert held.spec.graceful_eviction_tasks == ()
    condition = find_condition(held.status.conditions, EVICTION_HELD_CONDITION)
    assert condition is not None
    assert condition.reason == "BrakeEngaged"

    for name in (victim, *others):
        await world.member(name).start()
    await world.sleep(600)
    after = await bound(world, resource)
    assert (after.spec.clusters, after.spec.graceful_eviction_tasks) == (before.clusters, ())
    assert await uid(world, victim) == copy


@pytest.mark.parametrize("shape", mostly_long(SHAPES, "divided"))
@in_world(FOUR)
async def test_each_of_these_leaves_a_dead_cluster_where_no_brake_holds_it(world: World, shape: str) -> None:
    """Copies that the story above holds are due, and have a place to go to."""
    resource, template, policies, rule = SHAPES[shape]
    await world.client.create(policies, rule, "default" if policies.namespaced else "")
    await world.client.create(resource, template, "default" if resource.namespaced else "")
    await world.sleep(60)
    victim = (await bound(world, resource)).spec.clusters[0].name
    await world.member(victim).stop()
    await world.sleep(900)
    left = (await bound(world, resource)).spec.clusters
    assert [target.name for target in left] == [name for name in ("member1", "member2") if name != victim]


FIVE: dict[str, Mode] = {"member1": "Push", "member2": "Push", "member3": "Pull", "member4": "Push", "member5": "Push"}


@pytest.mark.parametrize("mode", ["Push", "Pull"])
@pytest.mark.long
def test_s4_what_was_to_go_from_a_cluster_that_was_away_stays_while_the_brake_is_engaged(mode: Mode) -> None:
    """The removal was decided before; that its replacement is well is seen by a control plane that is in doubt now."""

    async def story(world: World) -> None:
        await world.client.create(POLICIES, policy("web", ONE_OF_TWO), "default")
        await world.client.create(DEPLOYMENTS, deployment("web", 2), "default")
        await world.until(lambda: len(world.assigned("web-deployment")) == 1, 60)
        await world.sleep(60)
        (old,) = world.assigned("web-deployment")
        before = await identities(world, "web", [old])
        await world.member(old).stop()
        await world.until(lambda: old not in world.assigned("web-deployment"))
        (new,) = world.assigned("web-deployment")
        await world.until(lambda: tasks(world, "web-deployment") == [])
        await world.sleep(30)
        others = [name for name in FIVE if name not in (old, new)]
        for name in others:
            await world.member(name).stop()
        await world.sleep(120)
        assert await brake_engaged(world)
        await world.member(old).start()
        await world.until(lambda: world.is_ready(old))
        await world.sleep(600)
        assert await brake_engaged(world)
        assert await identities(world, "web", [old]) == before
        blocked = find_condition((await bound(world, DEPLOYMENTS)).status.conditions, REMOVAL_BLOCKED_CONDITION)
        assert blocked is not None
        assert (blocked.reason, blocked.message) == (
            "BrakeEngaged",
            f"Not removed from {old}, because the brake is engaged.",
        )

        for name in others:
            await world.member(name).start()
        await world.sleep(300)
        assert not await brake_engaged(world)
        assert await identities(world, "web", [old]) == {}, "and then what was decided is done"
        assert list(world.assigned("web-deployment")) == [new]

    play(story, {**FIVE, "member1": mode, "member2": mode})


@in_world(FIVE)
async def test_what_a_person_takes_from_a_cluster_that_is_there_is_removed_while_the_brake_is_engaged(
    world: World,
) -> None:
    await world.client.create(POLICIES, policy("web", by_weight({"member1": 1, "member2": 1})), "default")
    await world.client.create(DEPLOYMENTS, deployment("web", 2), "default")
    await world.sleep(60)
    for name in ("member3", "member4", "member5"):
        await world.member(name).stop()
    await world.sleep(120)
    assert await brake_engaged(world)
    moved = {"spec": {"placement": by_weight({"member2": 1})}}
    await world.client.patch(POLICIES, "web", moved, "default")
    await world.sleep(30)
    assert await identities(world, "web", ["member1"]) == {}
