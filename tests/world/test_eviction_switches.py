"""Flags and gates of eviction, with the default timings: what leaves when, and what stays."""

from dataclasses import replace

import pytest

from kubeapi.meta import Manifest, format_time
from kubeapi.resource import Resource
from leeward.api.meta import find_condition
from leeward.api.names import EVICTION_HELD_CONDITION
from leeward.api.purge_mode import PurgeMode
from leeward.api.resource import CLUSTER_RESOURCE_BINDINGS, CLUSTERS, RESOURCE_BINDINGS
from leeward.api.work import ClusterResourceBinding
from leeward.manager.gates import FeatureGates
from leeward.manager.settings import EvictionSettings, ManagerSettings
from leeward.manager.timing import Timing
from leeward.sim.world import World
from tests.world.stories import (
    DEPLOYMENTS,
    apply,
    by_weight,
    deployment,
    held,
    in_world,
    play,
    policy,
    ready_replicas,
    tasks,
)

WEB = "web-deployment"
NO_SCHEDULE, NO_EXECUTE = "cluster.karmada.io/not-ready:NoSchedule", "cluster.karmada.io/not-ready:NoExecute"
CLUSTER_ROLES = Resource.of_manifests("rbac.authorization.k8s.io/v1", "clusterroles", "ClusterRole", False)
CLUSTER_POLICIES = Resource.of_manifests(
    "policy.karmada.io/v1alpha1", "clusterpropagationpolicies", "ClusterPropagationPolicy", False
)


def gates(text: str) -> ManagerSettings:
    name, _, value = text.partition("=")
    return ManagerSettings(gates=FeatureGates({name: value == "true"}))


async def web_runs(world: World, **failover: Manifest) -> None:
    weighted = policy("web", by_weight({"member1": 1, "member2": 2}))
    weighted["spec"].update(failover)
    await apply(world.client, deployment("web", 3), weighted)
    await world.until(lambda: world.assigned(WEB) == {"member1": 1, "member2": 2}, 60)
    await world.sleep(30)


@pytest.mark.long
@in_world(manager=gates("Failover=false"))
async def test_without_gate_failover_a_dead_cluster_keeps_its_copies_and_gets_no_new_ones(world: World) -> None:
    await web_runs(world)
    await world.member("member1").stop()
    await world.sleep(1_800)
    assert world.taints("member1") == {NO_SCHEDULE}
    assert world.assigned(WEB) == {"member1": 1, "member2": 2}
    await world.client.patch(CLUSTERS, "member2", {"spec": {"taints": [{"key": "x", "effect": "NoExecute"}]}})
    await world.sleep(60)
    assert world.assigned(WEB) == {"member1": 1, "member2": 2}, "whoever has set it"


@pytest.mark.long
@pytest.mark.parametrize("switch", ["taint_manager", "no_execute"])
def test_without_the_taint_manager_taints_are_set_and_nothing_leaves(switch: str) -> None:
    async def story(world: World) -> None:
        await web_runs(world)
        await world.member("member1").stop()
        await world.sleep(1_800)
        assert world.taints("member1") == {NO_SCHEDULE, NO_EXECUTE}
        assert world.assigned(WEB) == {"member1": 1, "member2": 2}

    play(story, manager=ManagerSettings(eviction=replace(EvictionSettings(), **{switch: False})))


@in_world(manager=gates("GracefulEviction=false"))
async def test_without_gate_graceful_eviction_the_cluster_is_simply_removed(world: World) -> None:
    await web_runs(world)
    await world.member("member1").stop()
    stopped = world.seconds
    await world.until(lambda: "member1" not in world.assigned(WEB))
    assert world.seconds - stopped < 650
    assert (world.assigned(WEB), tasks(world, WEB)) == ({"member2": 3}, [])
    await world.member("member1").start()
    await world.until(lambda: world.is_ready("member1"))
    await world.sleep(5)
    assert await ready_replicas(world, "member1", "web") == -1, "what it left behind is removed"
    assert await ready_replicas(world, "member2", "web") == 3


@pytest.mark.parametrize(
    ("flag", "asked", "mode"), [("Directly", "", "Directly"), ("Directly", "Gracefully", "Gracefully")]
)
def test_the_purge_mode_is_the_policys_else_the_flags(flag: str, asked: str, mode: str) -> None:
    async def story(world: World) -> None:
        await web_runs(world, **({"failover": {"cluster": {"purgeMode": asked}}} if asked else {}))
        await world.member("member1").stop()
        await world.until(lambda: tasks(world, WEB) == ["member1"])
        binding = world.binding(WEB)
        assert binding is not None
        assert [task.purge_mode for task in binding.spec.graceful_eviction_tasks] == [mode]

    play(story, manager=ManagerSettings(eviction=EvictionSettings(purge_mode=PurgeMode(flag))))


@pytest.mark.parametrize("seconds", [0, 30])
@in_world()
async def test_a_toleration_ends_to_the_second(world: World, seconds: int) -> None:
    placement = by_weight({"member1": 1, "member2": 2})
    keys = ("cluster.karmada.io/not-ready", "cluster.karmada.io/unreachable")
    toleration = {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds}
    placement["clusterTolerations"] = [{"key": key, **toleration} for key in keys]
    await apply(world.client, deployment("web", 3), policy("web", placement))
    await world.until(lambda: world.assigned(WEB) == {"member1": 1, "member2": 2}, 60)
    await world.member("member1").stop()
    await world.until(lambda: NO_EXECUTE in world.taints("member1"))
    (added,) = [taint.time_added for taint in world.cluster("member1").spec.taints if str(taint) == NO_EXECUTE]
    await world.until(lambda: "member1" not in world.assigned(WEB))
    assert added is not None
    assert 0 <= (world.clock.now() - added).total_seconds() - seconds < 1


@in_world()
async def test_l4_who_tolerates_for_the_largest_number_of_seconds_stays_and_is_decided_about(world: World) -> None:
    """Application that stays and grows elsewhere. An error here ended the record of the outage for everybody, too."""
    placement = by_weight({"member1": 1, "member2": 2})
    toleration = {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 2**63 - 1}
    await apply(world.client, deployment("web", 3), policy("web", placement | {"clusterTolerations": [toleration]}))
    await world.until(lambda: world.assigned(WEB) == {"member1": 1, "member2": 2}, 60)
    await world.member("member1").stop()
    await world.until(lambda: NO_EXECUTE in world.taints("member1"))
    await world.client.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 6}}, "default")
    await world.sleep(600)
    assert world.assigned(WEB) == {"member1": 1, "member2": 5}


@in_world()
async def test_a_toleration_ends_of_what_was_placed_beside_the_taint(world: World) -> None:
    """Nothing else happens to the binding: its first placement alone tells when it is to leave."""
    added = world.clock.now()
    taint = {"key": "example.com/leaving", "effect": "NoExecute", "timeAdded": format_time(added)}
    await world.client.patch(CLUSTERS, "member1", {"spec": {"taints": [taint]}})
    await world.sleep(10)
    terms = [{"affinityName": name, "clusterNames": [name]} for name in ("member1", "member2")]
    toleration = {"key": taint["key"], "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
    placement = {"clusterAffinities": terms, "clusterTolerations": [toleration]}
    await apply(world.client, deployment("web", 2), policy("web", placement))
    await world.until(lambda: "member1" in world.assigned(WEB), 60)
    await world.until(lambda: [*world.assigned(WEB)] == ["member2"], 400)
    assert abs((world.clock.now() - added).total_seconds() - 300) < 2


@in_world()
async def test_a_cluster_scoped_template_fails_over_too(world: World) -> None:
    selector = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "name": "viewer"}
    placement = {
        "clusterAffinity": {"clusterNames": ["member1", "member2"]},
        "spreadConstraints": [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}],
    }
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]
    await world.client.create(CLUSTER_ROLES, {"metadata": {"name": "viewer"}, "rules": rules})
    spec = {"resourceSelectors": [selector], "placement": placement}
    await world.client.create(CLUSTER_POLICIES, {"metadata": {"name": "viewer"}, "spec": spec})
    await world.sleep(30)

    async def found() -> ClusterResourceBinding:
        return await world.client.get(CLUSTER_RESOURCE_BINDINGS, "viewer-clusterrole")

    (first,) = (target.name for target in (await found()).spec.clusters)
    await world.member(first).stop()
    await world.sleep(700)
    (second,) = (target.name for target in (await found()).spec.clusters)
    assert second != first
    assert (await found()).spec.graceful_eviction_tasks == (), "its replacement is there"
    assert (await world.member(second).client.get(CLUSTER_ROLES, "viewer"))["rules"] == rules


@in_world()
async def test_a_binding_whose_scheduling_is_suspended_stays_and_says_so(world: World) -> None:
    await web_runs(world)
    suspended = {"spec": {"suspension": {"scheduling": True}}}
    await world.client.patch(RESOURCE_BINDINGS, WEB, suspended, "default")
    await world.member("member1").stop()
    await world.sleep(700)
    assert world.assigned(WEB) == {"member1": 1, "member2": 2}
    assert held(world, WEB) == "NoPlaceToGo"
    binding = world.binding(WEB)
    condition = find_condition(binding.status.conditions, EVICTION_HELD_CONDITION) if binding else None
    assert condition is not None
    assert "scheduling of this binding is suspended" in condition.message
    await world.client.patch(RESOURCE_BINDINGS, WEB, {"spec": {"suspension": None}}, "default")
    await world.until(lambda: world.assigned(WEB) == {"member2": 3}, 10)
    await world.until(lambda: held(world, WEB) == "", 5)


@in_world(timing=replace(Timing.karmada(), failover_eviction_timeout=60))
async def test_another_failover_eviction_timeout_is_kept(world: World) -> None:
    await world.member("member1").stop()
    await world.until(lambda: not world.is_ready("member1"))
    lost = world.seconds
    await world.until(lambda: NO_EXECUTE in world.taints("member1"))
    assert 59 <= world.seconds - lost <= 61
