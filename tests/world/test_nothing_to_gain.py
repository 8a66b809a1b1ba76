"""An outage changes nothing that did not have to change: what nothing replaces keeps its objects, and their uids."""

from typing import Any

import pytest

from kubeapi.core import NAMESPACES, PODS
from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeclient import NotFound
from leeward.api.meta import find_condition
from leeward.api.names import EVICT_SHARED_ANNOTATION, EVICTION_HELD_CONDITION
from leeward.api.resource import CLUSTER_RESOURCE_BINDINGS, CLUSTERS
from leeward.sim.world import Mode, World
from tests.variants import mostly_long
from tests.world.stories import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    apply,
    deployment,
    held,
    in_world,
    play,
    policy,
    ready_replicas,
    tasks,
)

TWO: dict[str, Mode] = {"member1": "Push", "member2": "Pull"}
THREE: dict[str, Mode] = {**TWO, "member3": "Push"}
FOUR: dict[str, Mode] = {**THREE, "member4": "Push"}
WEB = "web-deployment"
SERVICES = Resource.of_manifests("v1", "services", "Service", True)
CRDS = Resource.of_manifests("apiextensions.k8s.io/v1", "customresourcedefinitions", "CustomResourceDefinition", False)
WIDGETS = Resource.of_manifests("example.com/v1", "widgets", "Widget", True)
POLICIES = Resource.of_manifests(
    "policy.karmada.io/v1alpha1", "clusterpropagationpolicies", "ClusterPropagationPolicy", False
)
TAINT_POLICIES = Resource.of_manifests(
    "policy.karmada.io/v1alpha1", "clustertaintpolicies", "ClusterTaintPolicy", False
)
BY_HAND: Manifest = {"spec": {"taints": [{"key": "example.com/maintenance", "effect": "NoExecute"}]}}


def everywhere(*names: str, most: int = 0) -> Manifest:
    placement: Manifest = {"clusterAffinity": {"clusterNames": list(names)}}
    if most:
        placement["spreadConstraints"] = [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": most}]
    return placement


def cluster_policy(placement: Manifest, *selectors: tuple[str, str, str], **metadata: Any) -> Manifest:
    chosen = [{"apiVersion": version, "kind": kind, "name": name} for version, kind, name in selectors]
    return {
        "apiVersion": POLICIES.api_version,
        "kind": POLICIES.kind,
        "metadata": {"name": "all", **metadata},
        "spec": {"resourceSelectors": chosen, "placement": placement},
    }


def widget_definition() -> Manifest:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"}
    return {
        "apiVersion": CRDS.api_version,
        "kind": CRDS.kind,
        "metadata": {"name": "widgets.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]},
    }


def service() -> Manifest:
    spec = {"selector": {"app": "web"}, "ports": [{"port": 80}]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": spec}


async def application(world: World) -> None:
    """A Namespace, a Deployment, a Service and a definition on both members, and what others made there."""
    await world.client.create(NAMESPACES, {"metadata": {"name": "shop"}})
    await world.client.create(CRDS, widget_definition())
    await world.client.create(DEPLOYMENTS, deployment("web", 2), "shop")
    await world.client.create(SERVICES, service(), "shop")
    selectors = (
        ("v1", "Namespace", "shop"),
        (CRDS.api_version, CRDS.kind, "widgets.example.com"),
        ("apps/v1", "Deployment", "web"),
        ("v1", "Service", "web"),
    )
    await world.client.create(POLICIES, cluster_policy(everywhere("member1", "member2"), *selectors))
    await world.sleep(60)
    member = world.member("member1").client
    await member.create(CONFIG_MAPS, {"metadata": {"name": "theirs"}, "data": {"a": "b"}}, "shop")
    await member.create(WIDGETS, {"metadata": {"name": "theirs"}}, "shop")


async def identities(world: World, member: str) -> dict[str, str]:
    """The uids of all that is in the Namespace `shop` of a member, of it, and of the definition; and the address."""
    client = world.member(member).client
    found: dict[str, Manifest] = {
        "definition": await client.get(CRDS, "widgets.example.com"),
        "deployment": await client.get(DEPLOYMENTS, "web", "shop"),
        "service": await client.get(SERVICES, "web", "shop"),
        "their widget": await client.get(WIDGETS, "theirs", "shop"),
        "their config": await client.get(CONFIG_MAPS, "theirs", "shop"),
    }
    uids = {what: each["metadata"]["uid"] for what, each in found.items()}
    pods = {pod.name: pod.metadata.uid for pod in (await client.list(PODS, "shop")).items}
    assert len(pods) == 2
    namespace = (await client.get(NAMESPACES, "shop")).metadata.uid
    return {**uids, **pods, "namespace": namespace, "address": found["service"]["spec"]["clusterIP"]}


async def unready(world: World, name: str) -> None:
    world.member(name).set_ready(False)


async def ready(world: World, name: str) -> None:
    world.member(name).set_ready(True)


async def pause(world: World, name: str) -> None:
    world.member(name).pause()


async def resume(world: World, name: str) -> None:
    world.member(name).resume()


async def stop(world: World, name: str) -> None:
    await world.member(name).stop()


async def start(world: World, name: str) -> None:
    await world.member(name).start()


OUTAGES = {"unready": (unready, ready), "pause": (pause, resume), "stop": (stop, start)}


@pytest.mark.parametrize("outage", mostly_long(OUTAGES, "unready", "stop"))
@in_world(TWO)
async def test_s12_after_outage_and_return_everything_is_the_object_that_it_was(world: World, outage: str) -> None:
    begin, end = OUTAGES[outage]
    await application(world)
    before = {name: await identities(world, name) for name in ("member1",)}
    await begin(world, "member1")
    await world.until(lambda: any("NoExecute" in taint for taint in world.taints("member1")))
    await world.sleep(900)
    assert world.assigned(WEB, "shop") == {"member1": 2, "member2": 2}
    assert reason_of(world, WEB) == "NothingToGain"
    await end(world, "member1")
    await world.until(lambda: world.is_ready("member1"), 120)
    await world.sleep(300)
    assert {name: await identities(world, name) for name in before} == before
    assert reason_of(world, WEB) == ""


def reason_of(world: World, name: str) -> str:
    binding = world.binding(name, "shop")
    assert binding is not None
    condition = find_condition(binding.status.conditions, EVICTION_HELD_CONDITION)
    return condition.reason if condition else ""


async def copies(world: World, placement: Manifest) -> None:
    await apply(world.client, deployment("web", 2), policy("web", placement))
    await world.until(lambda: bool(world.assigned(WEB)), 60)
    await world.sleep(60)


async def lose(world: World, *names: str) -> None:
    for name in names:
        await world.member(name).stop()
    await world.until(lambda: all("NoExecute" in str(world.taints(name)) for name in names))
    await world.sleep(330)


@pytest.mark.long
@in_world(THREE)
async def test_s12_a_copy_that_a_new_cluster_replaces_leaves(world: World) -> None:
    await copies(world, everywhere(*THREE, most=2))
    kept, lost = sorted(world.assigned(WEB))
    (free,) = THREE.keys() - {kept, lost}
    await lose(world, lost)
    assert set(world.assigned(WEB)) == {kept, free}
    assert await ready_replicas(world, free, "web") == 2


@in_world(FOUR)
async def test_s12_of_two_lost_copies_one_leaves_where_one_new_cluster_is_free(world: World) -> None:
    await copies(world, everywhere(*FOUR, most=3))
    kept, *lost = sorted(world.assigned(WEB), key=lambda name: name != "member4")
    (free,) = FOUR.keys() - world.assigned(WEB).keys()
    await lose(world, *lost)
    assert {kept, free} < set(world.assigned(WEB)) < set(FOUR)
    assert held(world, WEB) == "NothingToGain"
    (left,) = FOUR.keys() - world.assigned(WEB).keys()
    assert left in lost
    assert len(tasks(world, WEB)) <= 1


@in_world(TWO)
async def test_what_a_person_asks_for_is_done_although_nothing_replaces_it(world: World) -> None:
    await copies(world, everywhere("member1", "member2"))
    await world.client.patch(CLUSTERS, "member1", BY_HAND)
    await world.until(lambda: list(world.assigned(WEB)) == ["member2"], 60)
    await world.sleep(60)
    assert await ready_replicas(world, "member1", "web") == -1


@in_world(TWO)
async def test_a_policy_that_taints_a_living_cluster_is_no_person(world: World) -> None:
    await copies(world, everywhere("member1", "member2"))
    condition = {"conditionType": "Ready", "operator": "NotIn", "statusValues": ["True"]}
    taint = {"key": "example.com/down", "effect": "NoExecute"}
    spec = {"taints": [taint], "addOnConditions": [condition]}
    await world.client.create(TAINT_POLICIES, {"metadata": {"name": "down"}, "spec": spec})
    uid = (await world.member("member1").client.get(DEPLOYMENTS, "web", "default"))["metadata"]["uid"]
    world.member("member1").set_ready(False)
    await world.until(lambda: "example.com/down" in str(world.taints("member1")), 120)
    await world.sleep(30)
    assert held(world, WEB) == "NothingToGain"
    world.member("member1").set_ready(True)
    await world.until(lambda: world.is_ready("member1"), 120)
    await world.sleep(60)
    assert set(world.assigned(WEB)) == {"member1", "member2"}
    assert (await world.member("member1").client.get(DEPLOYMENTS, "web", "default"))["metadata"]["uid"] == uid


@pytest.mark.parametrize("asked", [False, True])
@in_world(THREE)
async def test_no_taint_evicts_what_others_live_in_unless_its_policy_says_so(world: World, asked: bool) -> None:
    await world.client.create(CRDS, widget_definition())
    annotations = {"annotations": {EVICT_SHARED_ANNOTATION: "true"}} if asked else {}
    selector = (CRDS.api_version, CRDS.kind, "widgets.example.com")
    placement = everywhere("member1", "member3", most=1)
    await world.client.create(POLICIES, cluster_policy(placement, selector, **annotations))
    await world.sleep(30)
    (binding,) = (await world.client.list(CLUSTER_RESOURCE_BINDINGS)).items
    (old,) = [target.name for target in binding.spec.clusters]
    uid = (await world.member(old).client.get(CRDS, "widgets.example.com"))["metadata"]["uid"]
    await world.client.patch(CLUSTERS, old, BY_HAND)
    await world.sleep(120)
    (binding,) = (await world.client.list(CLUSTER_RESOURCE_BINDINGS)).items
    condition = find_condition(binding.status.conditions, EVICTION_HELD_CONDITION)
    if asked:
        assert [target.name for target in binding.spec.clusters] != [old]
        with pytest.raises(NotFound):
            await world.member(old).client.get(CRDS, "widgets.example.com")
    else:
        assert [target.name for target in binding.spec.clusters] == [old]
        assert condition is not None
        assert condition.reason == "SharedResource"
        assert EVICT_SHARED_ANNOTATION in condition.message
        assert (await world.member(old).client.get(CRDS, "widgets.example.com"))["metadata"]["uid"] == uid


@pytest.mark.parametrize("preserved", [False, True])
@in_world(THREE)
async def test_what_has_no_replicas_is_preserved_in_a_failover_where_its_policy_says_so(
    world: World, preserved: bool
) -> None:
    placement = everywhere("member1", "member3", most=1)
    chosen = policy("settings", placement, "ConfigMap", "v1")
    chosen["spec"]["preserveResourcesOnDeletion"] = preserved
    settings = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"a": "b"}}
    await apply(world.client, settings, chosen)
    await world.until(lambda: bool(world.assigned("settings-configmap")), 60)
    await world.sleep(30)
    (old,) = world.assigned("settings-configmap")
    uid = (await world.member(old).client.get(CONFIG_MAPS, "settings", "default"))["metadata"]["uid"]
    await lose(world, old)
    await world.sleep(60)
    (new,) = world.assigned("settings-configmap")
    assert new != old
    await world.member(old).start()
    await world.until(lambda: world.is_ready(old), 120)
    await world.sleep(60)
    if preserved:
        assert (await world.member(old).client.get(CONFIG_MAPS, "settings", "default"))["metadata"]["uid"] == uid
    else:
        with pytest.raises(NotFound):
            await world.member(old).client.get(CONFIG_MAPS, "settings", "default")


def finite(name: str) -> Manifest:
    pod = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox"}]}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": {"template": {"spec": pod}}}


@pytest.mark.parametrize("mode", mostly_long(["Push", "Pull"], "Push"))
def test_s12_a_job_that_has_ended_does_not_run_once_more_for_the_loss_of_its_cluster(mode: Mode) -> None:
    """A migration of a database was done again in another cluster, and the first one was deleted on return."""

    async def story(world: World) -> None:
        jobs = Resource.of_manifests("batch/v1", "jobs", "Job", True)
        wanted = policy("migration", everywhere(*TWO, most=1), "Job", "batch/v1")
        await world.client.create(jobs, finite("migration"), "default")
        await apply(world.client, wanted)
        await world.until(lambda: bool(world.assigned("migration-job")), 30)
        await world.sleep(60)
        (old,) = world.assigned("migration-job")
        before = (await world.member(old).client.get(jobs, "migration", "default"))["metadata"]["uid"]
        await world.member(old).stop()
        await world.until(lambda: held(world, "migration-job") == "NothingToGain", 900)
        await world.sleep(600)
        assert (list(world.assigned("migration-job")), tasks(world, "migration-job")) == ([old], [])
        await world.member(old).start()
        await world.until(lambda: world.is_ready(old), 120)
        await world.sleep(60)
        assert held(world, "migration-job") == ""
        assert (await world.member(old).client.get(jobs, "migration", "default"))["metadata"]["uid"] == before
        await world.client.patch(CLUSTERS, old, BY_HAND)
        await world.until(lambda: held(world, "migration-job") == "NothingToGain", 60)
        assert list(world.assigned("migration-job")) == [old]

    play(story, dict.fromkeys(TWO, mode))
