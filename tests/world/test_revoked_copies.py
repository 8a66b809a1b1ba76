"""Copies that leave where a person does not want them any more, whatever others serve: they replace nothing there."""

from typing import Any

import pytest

from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from leeward.api.names import VOLUMES_FOLLOW_ANNOTATION
from leeward.operations.drain import start_drain
from leeward.sim.world import World
from tests.world.stories import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    POLICIES,
    apply,
    by_weight,
    deployment,
    identities,
    in_world,
    policy,
    ready_replicas,
    with_room,
    without_room,
)
from tests.world.test_restored import PUSHED

SECRETS = Resource.of_manifests("v1", "secrets", "Secret", True)
SERVICES = Resource.of_manifests("v1", "services", "Service", True)
ROLES = Resource.of_manifests("rbac.authorization.k8s.io/v1", "roles", "Role", True)
OBJECTS: dict[str, tuple[Resource[Manifest], dict[str, Any]]] = {
    "Secret": (SECRETS, {"data": {}}),
    "Role": (ROLES, {"rules": []}),
}


def on(*clusters: str) -> Manifest:
    return {"clusterAffinity": {"clusterNames": list(clusters)}}


@pytest.mark.parametrize("kind", [*OBJECTS])
@pytest.mark.parametrize("other", ["is dead", "refuses it"])
@in_world(PUSHED)
async def test_what_runs_nothing_is_revoked_while_another_cluster_lacks_it(world: World, kind: str, other: str) -> None:
    resource, content = OBJECTS[kind]
    manifest = {**content, "apiVersion": resource.api_version, "kind": kind, "metadata": {"name": "web"}}
    if other == "refuses it":
        await world.member("member2").client.create(resource, manifest, "default")
    await world.client.create(resource, manifest, "default")
    asked = policy("web", on("member1", "member2", "member3"), kind, resource.api_version)
    await world.client.create(POLICIES, asked, "default")
    await world.sleep(60)
    if other == "is dead":
        await world.member("member2").stop()
        await world.until(lambda: not world.is_ready("member2"), 120)
    fewer = {"spec": {"placement": on("member1", "member2")}}
    await world.client.patch(POLICIES, "web", fewer, "default")
    await world.sleep(60)
    if other == "is dead":
        await world.member("member2").start()
    found = await identities(world, "web", resource=resource)
    assert set(found) == {"member1", "member2"}


@pytest.mark.parametrize("how", ["Directly", "its volumes follow"])
@in_world(PUSHED)
async def test_s7_what_must_not_run_twice_does_not_wait_for_the_new_copy_when_a_person_moves_it(
    world: World, how: str
) -> None:
    """No Pod of the new copy finds a node. It may wait for a lock that the old one holds."""
    asked = policy("web", on("member1"))
    if how == "Directly":
        asked["spec"]["failover"] = {"cluster": {"purgeMode": "Directly"}}
    else:
        asked["metadata"]["annotations"] = {VOLUMES_FOLLOW_ANNOTATION: "true"}
    await apply(world.client, deployment("web", 2), asked)
    await world.sleep(60)
    await without_room(world, "member2")
    await world.client.patch(POLICIES, "web", {"spec": {"placement": on("member2")}}, "default")
    await world.sleep(60)
    assert await ready_replicas(world, "member1", "web") == -1


@pytest.mark.parametrize("division", ["divided", "copies"])
@in_world(PUSHED)
async def test_l2_a_copy_that_is_moved_away_does_not_wait_for_a_dead_target(world: World, division: str) -> None:
    """The target was dead before. What is moved serves elsewhere, and no place but that one takes what is dead."""

    def places(*names: str) -> Manifest:
        return by_weight(dict.fromkeys(names, 1)) if division == "divided" else on(*names)

    number = 4 if division == "divided" else 2
    await apply(world.client, deployment("web", number), policy("web", places("member1", "member2")))
    await world.sleep(60)
    await world.member("member2").stop()
    await world.until(lambda: not world.is_ready("member2"), 120)
    await world.client.patch(POLICIES, "web", {"spec": {"placement": places("member2", "member3")}}, "default")
    await world.sleep(120)
    assert [await ready_replicas(world, name, "web") for name in ("member1", "member3")] == [-1, 2]
    await without_room(world, "member1")
    await world.client.patch(POLICIES, "web", {"spec": {"placement": places("member2", "member1")}}, "default")
    await world.sleep(120)
    assert await ready_replicas(world, "member3", "web") == 2, "nothing serves in its stead"


def everything_on(*clusters: str) -> Manifest:
    """A policy for the application and what carries its traffic and its configuration."""
    asked = policy("web", on(*clusters))
    kinds = (("apps/v1", "Deployment"), ("v1", "Service"), ("v1", "ConfigMap"))
    asked["spec"]["resourceSelectors"] = [{"apiVersion": version, "kind": kind} for version, kind in kinds]
    return asked


@pytest.mark.parametrize("how", ["moved", "away"])
@in_world(PUSHED)
async def test_s1_what_a_held_copy_is_reached_and_configured_by_stays_beside_it(world: World, how: str) -> None:
    """One policy selects all of them, and the new copy finds no node. A Service of another application goes."""
    web = deployment("web", 2)
    web["spec"]["template"]["spec"]["containers"][0]["envFrom"] = [{"configMapRef": {"name": "conf"}}]
    made: list[Manifest] = [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "conf"}, "data": {"a": "1"}},
        service("web"),
        service("other"),
    ]
    await world.client.create(CONFIG_MAPS, made[0], "default")
    for each in made[1:]:
        await world.client.create(SERVICES, each, "default")
    await apply(world.client, web, everything_on("member1"))
    await world.sleep(60)
    await without_room(world, "member2")
    if how == "away":
        await world.member("member1").stop()
        await world.until(lambda: not world.is_ready("member1"), 120)
    moved = {"spec": {"placement": on("member2")}}
    await world.client.patch(POLICIES, "web", moved, "default")
    await world.sleep(60)
    if how == "away":
        await world.member("member1").start()
        await world.until(lambda: world.is_ready("member1"), 120)
    for _ in range(60):
        await world.sleep(1)
        assert await ready_replicas(world, "member1", "web") == 2
        assert "member1" in await identities(world, "web", resource=SERVICES)
        assert "member1" in await identities(world, "conf", resource=CONFIG_MAPS)
    assert "member1" not in await identities(world, "other", resource=SERVICES), "nothing there uses it"
    await with_room(world, "member2")
    await world.sleep(120)
    for name, resource in (("web", DEPLOYMENTS), ("web", SERVICES), ("conf", CONFIG_MAPS)):
        assert set(await identities(world, name, resource=resource)) == {"member2"}


def service(name: str) -> Manifest:
    spec = {"selector": {"app": name}, "ports": [{"port": 80}]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}


HPAS = Resource.of_manifests("autoscaling/v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler", True)
RBAC, NETWORKING = "rbac.authorization.k8s.io/v1", "networking.k8s.io/v1"
COMPANIONS: list[tuple[Resource[Manifest], dict[str, Any]]] = [
    (SERVICES, {"spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]}}),
    (Resource.of_manifests("v1", "serviceaccounts", "ServiceAccount", True), {}),
    (SECRETS, {"data": {}}),
    (ROLES, {"rules": []}),
    (
        Resource.of_manifests(RBAC, "rolebindings", "RoleBinding", True),
        {
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "web"},
            "subjects": [{"kind": "ServiceAccount", "name": "web", "namespace": "default"}],
        },
    ),
    (
        Resource.of_manifests(NETWORKING, "ingresses", "Ingress", True),
        {"spec": {"defaultBackend": {"service": {"name": "web", "port": {"number": 80}}}}},
    ),
    (
        Resource.of_manifests(NETWORKING, "networkpolicies", "NetworkPolicy", True),
        {"spec": {"podSelector": {"matchLabels": {"app": "web"}}, "policyTypes": ["Ingress"]}},
    ),
    (
        HPAS,
        {
            "spec": {
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
                "minReplicas": 2,
                "maxReplicas": 4,
            }
        },
    ),
    (
        Resource.of_manifests("policy/v1", "poddisruptionbudgets", "PodDisruptionBudget", True),
        {"spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}},
    ),
]
"""Objects that run nothing, and without which the copy beside them may serve nobody."""
CLUSTER_ROLES = Resource.of_manifests(RBAC, "clusterroles", "ClusterRole", False)
CLUSTER_POLICIES = Resource.of_manifests(
    "policy.karmada.io/v1alpha1", "clusterpropagationpolicies", "ClusterPropagationPolicy", False
)
ONE_OF_TWO = {
    **on("member1", "member2"),
    "spreadConstraints": [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}],
}


async def with_companions(world: World, policies: str, placement: Manifest = ONE_OF_TWO) -> None:
    """The application with this placement, and its companions: by one policy, or by one for each object."""
    await world.client.create(DEPLOYMENTS, deployment("web", 2), "default")
    beside: list[tuple[Resource[Manifest], dict[str, Any]]] = [*COMPANIONS, (CLUSTER_ROLES, {"rules": []})]
    for resource, content in beside:
        manifest = {**content, "apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": "web"}}
        await world.client.create(resource, manifest, "default" if resource.namespaced else "")
    own = [DEPLOYMENTS, *(resource for resource, _ in COMPANIONS)]
    selectors = [{"apiVersion": each.api_version, "kind": each.kind, "name": "web"} for each in own]
    for number, chosen in enumerate([selectors] if policies == "one" else [[each] for each in selectors]):
        asked = policy(f"web-{number}", ONE_OF_TWO if number else placement)
        asked["spec"]["resourceSelectors"] = chosen
        await world.client.create(POLICIES, asked, "default")
    asked = {**policy("web", ONE_OF_TWO, "ClusterRole", RBAC), "kind": "ClusterPropagationPolicy"}
    await world.client.create(CLUSTER_POLICIES, asked)
    await world.sleep(60)


async def kinds_in(world: World, member: str) -> set[str]:
    """The kinds of the application and its companions that are in a member."""
    found = set[str]()
    for resource in (DEPLOYMENTS, CLUSTER_ROLES, *(each for each, _ in COMPANIONS)):
        if await identities(world, "web", [member], resource, "default" if resource.namespaced else ""):
            found.add(resource.kind)
    return found


@pytest.mark.parametrize(
    ("policies", "room"), [("one", "on paper"), ("many", "on paper"), ("many", "nowhere")], ids=lambda each: each
)
@in_world(PUSHED)
async def test_s1_what_a_copy_needs_stays_while_a_drain_waits_for_its_replacement(
    world: World, policies: str, room: str
) -> None:
    """The new copy finds no node, or no cluster may take it at all. What serves another application alone goes."""
    await with_companions(world, policies, {**ONE_OF_TWO, **on("member1")} if room == "nowhere" else ONE_OF_TWO)
    there = await kinds_in(world, "member1")
    assert len(there) == 2 + len(COMPANIONS)
    await world.client.create(SERVICES, service("other"), "default")
    await world.client.create(POLICIES, policy("other", ONE_OF_TWO, "Service", "v1"), "default")
    await without_room(world, "member2")
    await world.sleep(5)
    await start_drain(world.client, "member1", None)
    for _ in range(60):
        await world.sleep(20)
        assert await ready_replicas(world, "member1", "web") == 2
        assert await kinds_in(world, "member1") == there
    assert set(await identities(world, "other", resource=SERVICES)) == {"member2"}
    await with_room(world, "member2")
    await world.client.patch(POLICIES, "web-0", {"spec": {"placement": ONE_OF_TWO}}, "default")
    await world.sleep(900)
    assert await ready_replicas(world, "member2", "web") == 2
    assert [await kinds_in(world, name) for name in ("member1", "member2")] == [set(), there]
