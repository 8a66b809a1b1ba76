"""Application failover as stories: a copy that cannot run leaves its cluster, a release that can run nowhere stays."""

import json
from typing import Any

import pytest

from kubeapi.core import EVENTS
from kubeapi.meta import Manifest
from kubecluster.kinds import NODES, PODS
from leeward.api.meta import find_condition
from leeward.api.names import EVICTION_HELD_CONDITION, MEMORY_ANNOTATION
from leeward.manager.gates import FeatureGates
from leeward.manager.settings import ManagerSettings
from leeward.sim.world import Mode, World
from tests.world.stories import DEPLOYMENTS, apply, deployment, in_world, policy, ready_replicas

THREE: dict[str, Mode] = {"member1": "Push", "member2": "Push", "member3": "Pull"}
TOLERATION = 120
BINDING = "web-deployment"


def web_policy(clusters: list[str], **application: Any) -> Manifest:
    """One copy, in one of these clusters."""
    placement = {
        "clusterAffinity": {"clusterNames": clusters},
        "spreadConstraints": [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}],
    }
    made = policy("web", placement)
    failover = {"application": {"decisionConditions": {"tolerationSeconds": TOLERATION}, **application}}
    made["spec"] |= {"propagateDeps": True, "failover": failover}
    return made


async def cordon_nodes(world: World, member: str, cordoned: bool = True) -> None:
    """No Pod starts in the member any more, although the cluster is well."""
    client = world.member(member).client
    for node in (await client.list(NODES)).items:
        await client.patch(NODES, node["metadata"]["name"], {"spec": {"unschedulable": cordoned or None}})


async def delete_pods(world: World, member: str) -> None:
    client = world.member(member).client
    for pod in (await client.list(PODS, "default")).items:
        await client.delete(PODS, pod["metadata"]["name"], "default")


def remembered(world: World) -> dict[str, Any]:
    binding = world.binding(BINDING)
    text = binding.metadata.annotations.get(MEMORY_ANNOTATION) if binding else None
    return json.loads(text) if text else {}


def is_unhealthy(world: World) -> bool:
    return any("unhealthySince" in row for row in remembered(world).get("clusters", {}).values())


def version(world: World) -> str:
    binding = world.binding(BINDING)
    return binding.metadata.resource_version if binding else ""


def held(world: World) -> str:
    """The reason for which an eviction is held, or nothing."""
    binding = world.binding(BINDING)
    condition = find_condition(binding.status.conditions, EVICTION_HELD_CONDITION) if binding else None
    return condition.reason if condition else ""


async def events(world: World, reason: str) -> list[str]:
    found = (await world.client.list(EVENTS, "default")).items
    return [e.message for e in found if e.reason == reason and e.involved_object.name == BINDING]


async def next_cluster(world: World, visited: frozenset[str]) -> str:
    """Waits for the one copy to be in a cluster that was not visited yet."""
    await world.until(lambda: bool(world.assigned(BINDING).keys() - visited), 600)
    (cluster,) = world.assigned(BINDING)
    return cluster


async def unhealthy_for(world: World) -> float:
    """Waits for the copy to be unhealthy, then for it to move. Returns how many seconds lie between."""
    await world.until(lambda: is_unhealthy(world), 120)
    before = world.assigned(BINDING)
    return await world.until(lambda: world.assigned(BINDING) != before, 600)


@in_world(THREE)
async def test_a_copy_that_cannot_run_in_one_cluster_moves_after_the_toleration(world: World) -> None:
    await cordon_nodes(world, "member1")
    await apply(world.client, deployment("web", 2), web_policy(list(THREE)))
    await world.until(lambda: world.assigned(BINDING) == {"member1": 2}, 30)
    assert TOLERATION <= await unhealthy_for(world) < TOLERATION + 2
    assert world.assigned(BINDING) == {"member2": 2}
    binding = world.binding(BINDING)
    assert binding is not None
    (task,) = binding.spec.graceful_eviction_tasks
    assert (task.from_cluster, task.reason, task.purge_mode) == ("member1", "ApplicationFailure", "Gracefully")
    assert task.producer == "resource-binding-application-failover-controller"
    assert await ready_replicas(world, "member1", "web") == 0
    await world.sleep(30)
    assert await ready_replicas(world, "member2", "web") == 2
    assert await ready_replicas(world, "member1", "web") == -1
    assert any("where the copy has failed" in m for m in await events(world, "EvictWorkloadFromClusterSucceed"))
    await world.sleep(600)
    assert (world.assigned(BINDING), remembered(world)) == ({"member2": 2}, {})


@pytest.mark.long
@in_world(THREE)
async def test_a_release_that_is_broken_everywhere_stays_after_one_round_and_says_so(world: World) -> None:
    await apply(world.client, deployment("web", 2, image="nginx:broken"), web_policy(list(THREE)))
    visited = list[str]()
    for _ in THREE:
        visited.append(await next_cluster(world, frozenset(visited)))
    assert sorted(visited) == list(THREE)
    await world.until(lambda: held(world) == "UnhealthyEverywhere", 600)
    await world.sleep(700)
    (told,) = {m for m in await events(world, "EvictWorkloadFromClusterFailed") if "bad release" in m}
    assert all(name in told for name in THREE)
    quiet = version(world)
    await world.sleep(2 * 3_600)
    assert version(world) == quiet
    assert (list(world.assigned(BINDING)), held(world)) == (visited[-1:], "UnhealthyEverywhere")

    repaired = deployment("web", 2)["spec"]
    await world.client.patch(DEPLOYMENTS, "web", {"spec": repaired}, "default")
    await world.until(lambda: held(world) == "", 60)
    await world.sleep(30)
    assert list(world.assigned(BINDING)) == visited[-1:]
    assert await ready_replicas(world, visited[-1], "web") == 2


@pytest.mark.long
@in_world(THREE)
async def test_a_copy_that_flaps_within_the_toleration_does_not_move(world: World) -> None:
    await apply(world.client, deployment("web", 2), web_policy(list(THREE)))
    await world.until(lambda: world.assigned(BINDING) == {"member1": 2}, 30)
    for _ in range(10):
        await cordon_nodes(world, "member1")
        await delete_pods(world, "member1")
        await world.until(lambda: bool(remembered(world)), 30)
        await world.sleep(TOLERATION - 10)
        await cordon_nodes(world, "member1", cordoned=False)
        await world.until(lambda: not remembered(world), 10)
    assert world.assigned(BINDING) == {"member1": 2}
    assert await events(world, "EvictWorkloadFromClusterSucceed") == []


@pytest.mark.parametrize(("away", "unwatched"), [(5, 0), (TOLERATION / 4, TOLERATION / 4)])
@in_world(THREE)
async def test_the_clock_of_an_unhealthy_copy_goes_on_over_a_restart(
    world: World, away: float, unwatched: float
) -> None:
    """Time between two looks counts; of a longer pause nothing does, and the clock is not begun anew for it."""
    await cordon_nodes(world, "member1")
    await apply(world.client, deployment("web", 2), web_policy(list(THREE)))
    await world.until(lambda: is_unhealthy(world), 30)
    began = world.seconds
    await world.sleep(TOLERATION / 2)
    await world.stop_controllers()
    await world.sleep(away)
    world.start_controllers()
    await world.until(lambda: world.assigned(BINDING) == {"member2": 2}, 600)
    assert TOLERATION + unwatched <= world.seconds - began < TOLERATION + unwatched + 5


@in_world(THREE)
async def test_a_copy_that_is_purged_directly_hands_its_state_over(world: World) -> None:
    rules = [{"aliasLabelName": "example.com/unavailable", "jsonPath": "{.unavailableReplicas}"}]
    failing = web_policy(list(THREE), purgeMode="Directly", statePreservation={"rules": rules})
    for name in THREE:
        await cordon_nodes(world, name)
    await apply(world.client, deployment("web", 2), failing)
    await world.until(lambda: world.assigned(BINDING) == {"member2": 2}, 600)
    await world.sleep(20)
    moved = await world.member("member2").client.get(DEPLOYMENTS, "web", "default")
    assert moved["metadata"]["labels"]["example.com/unavailable"] == "2"
    assert await ready_replicas(world, "member1", "web") == -1
    await world.until(lambda: world.assigned(BINDING) == {"member3": 2}, 600)
    binding = world.binding(BINDING)
    assert binding is not None
    assert [task.from_cluster for task in binding.spec.graceful_eviction_tasks] == ["member1", "member2"]
    assert binding.spec.graceful_eviction_tasks[-1].clusters_before_failover == ("member2",)


@in_world(THREE, manager=ManagerSettings(gates=FeatureGates({"StatefulFailoverInjection": False})))
async def test_no_state_is_handed_over_where_the_gate_is_off(world: World) -> None:
    rules = [{"aliasLabelName": "example.com/unavailable", "jsonPath": "{.unavailableReplicas}"}]
    failing = web_policy(list(THREE), purgeMode="Directly", statePreservation={"rules": rules})
    await cordon_nodes(world, "member1")
    await apply(world.client, deployment("web", 2), failing)
    await world.until(lambda: world.assigned(BINDING) == {"member2": 2}, 600)
    await world.sleep(20)
    moved = await world.member("member2").client.get(DEPLOYMENTS, "web", "default")
    assert "example.com/unavailable" not in moved["metadata"]["labels"]


@pytest.mark.long
@in_world(THREE)
async def test_never_keeps_the_failed_copy_until_someone_confirms(world: World) -> None:
    await cordon_nodes(world, "member1")
    await apply(world.client, deployment("web", 2), web_policy(list(THREE), purgeMode="Never"))
    await world.until(lambda: world.assigned(BINDING) == {"member2": 2}, 600)
    await world.sleep(1_800)
    assert await ready_replicas(world, "member2", "web") == 2
    assert await ready_replicas(world, "member1", "web") == 0
    assert held(world) == "DeletionSuppressed"


@in_world(THREE)
async def test_a_failed_copy_stays_where_there_is_no_place_to_go(world: World) -> None:
    await cordon_nodes(world, "member1")
    await apply(world.client, deployment("web", 2), web_policy(["member1"], purgeMode="Directly"))
    await world.until(lambda: held(world) == "NoPlaceToGo", 600)
    await world.sleep(600)
    assert world.assigned(BINDING) == {"member1": 2}
