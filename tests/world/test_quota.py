"""FederatedResourceQuota: limits in clusters, what is used over all of them, and who keeps out of whose Works."""

from collections.abc import Mapping
from typing import Any

from kubeapi.core import EVENTS
from kubeapi.meta import Manifest, labels_of
from kubeapi.resource import Resource
from kubeclient import NotFound
from leeward.api.names import execution_space, work_name
from leeward.api.resource import FEDERATED_RESOURCE_QUOTAS, WORKS
from leeward.sim.world import World
from tests.world.stories import DEPLOYMENTS, POLICIES, apply, deployment, in_world, policy

QUOTAS = Resource.of_manifests("v1", "resourcequotas", "ResourceQuota", namespaced=True)
WORK = work_name("ResourceQuota", "team", "default")
NOT_SYNCED = "SyncWorkFailed"


def quota(overall: Mapping[str, str], static: Mapping[str, Mapping[str, str]] | None = None) -> Manifest:
    assignments = [{"clusterName": name, "hard": dict(hard)} for name, hard in (static or {}).items()]
    spec = {"overall": dict(overall), **({"staticAssignments": assignments} if static else {})}
    return {"metadata": {"name": "team"}, "spec": spec}


async def create_quota(
    world: World, overall: Mapping[str, str], static: Mapping[str, Mapping[str, str]] | None = None
) -> None:
    await world.client.create(FEDERATED_RESOURCE_QUOTAS, quota(overall, static), "default")


async def change_quota(world: World, spec: Manifest) -> None:
    await world.client.patch(FEDERATED_RESOURCE_QUOTAS, "team", {"spec": spec}, "default")


async def quota_status(world: World) -> Any:
    """Status as it is served."""
    resource = Resource.of_manifests(
        FEDERATED_RESOURCE_QUOTAS.api_version, FEDERATED_RESOURCE_QUOTAS.plural, FEDERATED_RESOURCE_QUOTAS.kind, True
    )
    return (await world.client.get(resource, "team", "default")).get("status", {})


async def limit_in(world: World, member: str) -> Mapping[str, str] | None:
    """The limit of the ResourceQuota in a member; None when it is not there."""
    try:
        found = await world.member(member).client.get(QUOTAS, "team", "default")
    except NotFound:
        return None
    return found["spec"]["hard"]


@in_world()
async def test_each_cluster_has_its_assignment_as_a_resource_quota_and_loses_it_with_it(world: World) -> None:
    both = {"cpu": "4", "memory": "1Gi"}
    await create_quota(world, {"cpu": "10", "memory": "9Gi"}, {"member1": both, "member3": {"cpu": "2"}})
    await world.sleep(20)
    assert [await limit_in(world, name) for name in world.members] == [both, None, {"cpu": "2"}]
    work = await world.client.get(WORKS, WORK, execution_space("member1"))
    assert dict(work.metadata.labels) | {"work.karmada.io/permanent-id": ""} == {
        "federatedresourcequota.karmada.io/namespace": "default",
        "federatedresourcequota.karmada.io/name": "team",
        "karmada.io/managed": "true",
        "work.karmada.io/permanent-id": "",
    }
    there = await world.member("member1").client.get(QUOTAS, "team", "default")
    assert labels_of(there)["karmada.io/managed"] == "true"

    assignments = [
        {"clusterName": "member1", "hard": {"cpu": "5"}},
        {"clusterName": "member2", "hard": {"cpu": "0"}},
    ]
    await change_quota(world, {"staticAssignments": assignments})
    await world.sleep(20)
    assert [await limit_in(world, name) for name in world.members] == [{"cpu": "5"}, {"cpu": "0"}, None]
    changed = await world.member("member1").client.get(QUOTAS, "team", "default")
    assert changed["metadata"]["uid"] == there["metadata"]["uid"]

    await world.client.delete(FEDERATED_RESOURCE_QUOTAS, "team", "default")
    await world.sleep(20)
    assert [await limit_in(world, name) for name in world.members] == [None, None, None]
    assert not [work for work in (await world.client.list(WORKS)).items if work.name == WORK]


def asking(name: str, replicas: int, cpu: str = "1") -> Manifest:
    """A Deployment whose Pods ask for so much."""
    manifest = deployment(name, replicas)
    manifest["spec"]["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": cpu, "memory": "1Gi"}}
    return manifest


DUPLICATED = {"clusterAffinity": {"clusterNames": ["member1", "member2"]}}


@in_world()
async def test_the_status_adds_up_what_the_clusters_report_of_their_quotas(world: World) -> None:
    limits = {name: {"cpu": "4", "memory": "8Gi"} for name in ("member1", "member3")}
    await create_quota(world, {"cpu": "10", "memory": "16Gi"}, limits)
    everywhere = {"clusterAffinity": {"clusterNames": list(world.members)}}
    await apply(world.client, asking("web", 2, "500m"), policy("web", everywhere))
    await world.sleep(60)
    report = {"hard": {"cpu": "4", "memory": "8Gi"}, "used": {"cpu": "1", "memory": "2Gi"}}
    assert await quota_status(world) == {
        "overall": {"cpu": "10", "memory": "16Gi"},
        "overallUsed": {"cpu": "2", "memory": "4Gi"},
        "aggregatedStatus": [{"clusterName": name, **report} for name in ("member1", "member3")],
    }


@in_world()
async def test_without_static_assignments_the_status_counts_what_is_assigned(world: World) -> None:
    await create_quota(world, {"cpu": "10"})
    await apply(world.client, asking("web", 3, "500m"), policy("web", DUPLICATED))
    await world.sleep(20)
    assert await quota_status(world) == {"overall": {"cpu": "10"}, "overallUsed": {"cpu": "3"}}
    await world.client.delete(DEPLOYMENTS, "web", "default")
    await world.sleep(60)
    assert await quota_status(world) == {"overall": {"cpu": "10"}}


@in_world()
async def test_a_work_of_somebody_else_is_left_alone_and_so_is_that_of_a_quota(world: World) -> None:
    """A user propagates a ResourceQuota of the same name: who comes first has the Works."""
    mine = {"metadata": {"name": "team"}, "spec": {"hard": {"cpu": "3"}}}
    await world.client.create(QUOTAS, mine, "default")
    placement = {"clusterAffinity": {"clusterNames": ["member1"]}}
    await apply(world.client, policy("team", placement, "ResourceQuota", "v1"))
    await world.sleep(20)
    assert await limit_in(world, "member1") == {"cpu": "3"}

    await create_quota(world, {"cpu": "10"}, {"member1": {"cpu": "4"}, "member2": {"cpu": "4"}})
    await world.sleep(20)
    assert [await limit_in(world, name) for name in ("member1", "member2")] == [{"cpu": "3"}, {"cpu": "4"}]
    messages = [event.message for event in (await world.client.list(EVENTS)).items if event.reason == NOT_SYNCED]
    assert messages == [f"Work {execution_space('member1')}/{WORK} is another's, and is left as it is"]

    both = {"clusterAffinity": {"clusterNames": ["member1", "member2"]}}
    await world.client.patch(POLICIES, "team", {"spec": {"placement": both}}, "default")
    await world.sleep(60)
    assert [await limit_in(world, name) for name in ("member1", "member2")] == [{"cpu": "3"}, {"cpu": "4"}]

    await world.client.delete(FEDERATED_RESOURCE_QUOTAS, "team", "default")
    await world.sleep(60)
    assert [await limit_in(world, name) for name in ("member1", "member2")] == [{"cpu": "3"}, {"cpu": "3"}]


@in_world()
async def test_a_quota_that_goes_while_nobody_watches_takes_its_works_along(world: World) -> None:
    await create_quota(world, {"cpu": "10"}, {"member1": {"cpu": "4"}})
    await world.sleep(20)
    await world.stop_controllers()
    await world.client.delete(FEDERATED_RESOURCE_QUOTAS, "team", "default")
    world.start_controllers()
    await world.sleep(60)
    assert await limit_in(world, "member1") is None


@in_world()
async def test_a_work_that_somebody_changes_or_deletes_is_brought_back(world: World) -> None:
    await create_quota(world, {"cpu": "10"}, {"member1": {"cpu": "4"}})
    await world.sleep(20)
    there = await world.member("member1").client.get(QUOTAS, "team", "default")
    space = execution_space("member1")
    manifests = (await world.client.get(WORKS, WORK, space)).spec.workload.manifests
    wider = {"spec": {"workload": {"manifests": [{**manifests[0], "spec": {"hard": {"cpu": "99"}}}]}}}
    await world.client.patch(WORKS, WORK, wider, space)
    await world.sleep(20)
    assert await limit_in(world, "member1") == {"cpu": "4"}
    after = await world.member("member1").client.get(QUOTAS, "team", "default")
    assert after["metadata"]["uid"] == there["metadata"]["uid"]
    await world.client.delete(WORKS, WORK, space)
    await world.sleep(60)
    assert await limit_in(world, "member1") == {"cpu": "4"}


@in_world()
async def test_a_namespace_that_is_not_propagated_has_no_limits_in_clusters_and_says_so(world: World) -> None:
    limits = quota({"cpu": "9"}, {"member1": {"cpu": "4"}})
    await world.client.create(FEDERATED_RESOURCE_QUOTAS, limits, "kube-public")
    await world.sleep(20)
    names = [work.name for work in (await world.client.list(WORKS)).items]
    assert work_name("ResourceQuota", "team", "kube-public") not in names
    messages = [event.message for event in (await world.client.list(EVENTS)).items if event.reason == NOT_SYNCED]
    assert messages == ["namespace kube-public is not propagated, and so is no quota of it"]
