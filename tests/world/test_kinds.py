"""Any kind propagates: namespaced or not, with a Work per cluster, and custom resources after their definition."""

from typing import Any

from kubeapi.core import NAMESPACES
from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeclient import Client, NotFound, Request, Response
from leeward.api.names import work_name
from leeward.api.resource import CLUSTER_RESOURCE_BINDINGS
from leeward.sim.world import World
from tests.world.stories import CONFIG_MAPS, DEPLOYMENTS, apply, by_weight, deployment, in_world, policy, ready_replicas
from tests.world.test_detection import answers, status

CLUSTER_POLICIES = Resource.of_manifests(
    "policy.karmada.io/v1alpha1", "clusterpropagationpolicies", "ClusterPropagationPolicy", False
)
POLICIES = Resource.of_manifests("policy.karmada.io/v1alpha1", "propagationpolicies", "PropagationPolicy", True)
CLUSTER_ROLES = Resource.of_manifests("rbac.authorization.k8s.io/v1", "clusterroles", "ClusterRole", False)
JOBS = Resource.of_manifests("batch/v1", "jobs", "Job", True)
SERVICES = Resource.of_manifests("v1", "services", "Service", True)
DEFINITIONS = Resource.of_manifests(
    "apiextensions.k8s.io/v1", "customresourcedefinitions", "CustomResourceDefinition", False
)
CRON_TABS = Resource.of_manifests("stable.example.com/v1", "crontabs", "CronTab", True)
SCHEMA = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
CRON_TAB_DEFINITION: Manifest = {
    "metadata": {"name": "crontabs.stable.example.com"},
    "spec": {
        "group": "stable.example.com",
        "scope": "Namespaced",
        "names": {"plural": "crontabs", "singular": "crontab", "kind": "CronTab"},
        "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": SCHEMA}}],
    },
}


def selecting(kind: Resource[Manifest], name: str, *clusters: str) -> Manifest:
    """A policy that puts one object onto all of these clusters."""
    return {
        "metadata": {"name": name},
        "spec": {
            "resourceSelectors": [{"apiVersion": kind.api_version, "kind": kind.kind, "name": name}],
            "placement": {"clusterAffinity": {"clusterNames": list(clusters)}},
        },
    }


async def appears(world: World, member: str, kind: Resource[Manifest], name: str, namespace: str = "") -> Manifest:
    return await eventually(world, world.member(member).client, kind, name, namespace)


async def eventually(world: World, client: Client, kind: Resource[Any], name: str, namespace: str = "") -> Any:
    for _ in range(60):
        try:
            return await client.get(kind, name, namespace)
        except NotFound:
            await world.sleep(1)
    raise AssertionError(f"{kind.kind} {name} does not appear")


@in_world()
async def test_a_config_map_is_copied_and_follows_its_template(world: World) -> None:
    await world.client.create(CONFIG_MAPS, {"metadata": {"name": "settings"}, "data": {"a": "1"}}, "default")
    await world.client.create(POLICIES, selecting(CONFIG_MAPS, "settings", "member1", "member3"), "default")
    for member in ("member1", "member3"):
        assert (await appears(world, member, CONFIG_MAPS, "settings", "default"))["data"] == {"a": "1"}
    await world.client.patch(CONFIG_MAPS, "settings", {"data": {"a": None, "b": "2"}}, "default")
    await world.sleep(5)
    assert (await appears(world, "member3", CONFIG_MAPS, "settings", "default"))["data"] == {"b": "2"}


@in_world()
async def test_a_service_keeps_the_address_that_its_member_gave_it(world: World) -> None:
    service = {"metadata": {"name": "web"}, "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]}}
    await world.client.create(SERVICES, service, "default")
    await world.client.create(POLICIES, selecting(SERVICES, "web", "member1", "member2"), "default")
    first = await appears(world, "member1", SERVICES, "web", "default")
    await world.client.patch(SERVICES, "web", {"spec": {"sessionAffinity": "ClientIP"}}, "default")
    await world.sleep(5)
    after = await appears(world, "member1", SERVICES, "web", "default")
    assert after["spec"]["sessionAffinity"] == "ClientIP"
    assert after["spec"]["clusterIP"] == first["spec"]["clusterIP"]


@in_world()
async def test_a_finished_job_goes_everywhere_when_its_time_is_over(world: World) -> None:
    pod = {"containers": [{"name": "main", "image": "image:1"}], "restartPolicy": "Never"}
    job = {"metadata": {"name": "once"}, "spec": {"ttlSecondsAfterFinished": 120, "template": {"spec": pod}}}
    await world.client.create(JOBS, job, "default")
    await world.client.create(POLICIES, selecting(JOBS, "once", "member1", "member3"), "default")
    await appears(world, "member3", JOBS, "once", "default")
    await world.sleep(100)
    assert (await world.client.get(JOBS, "once", "default"))["status"]["succeeded"] == 2
    await world.sleep(100)
    for client in (world.client, world.member("member1").client, world.member("member3").client):
        assert not (await client.list(JOBS, "default")).items


@in_world()
async def test_a_cluster_role_has_a_cluster_resource_binding(world: World) -> None:
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]
    await world.client.create(CLUSTER_ROLES, {"metadata": {"name": "readers"}, "rules": rules})
    await world.client.create(CLUSTER_POLICIES, selecting(CLUSTER_ROLES, "readers", "member1", "member2"))
    assert (await appears(world, "member2", CLUSTER_ROLES, "readers"))["rules"] == rules
    binding = await eventually(world, world.client, CLUSTER_RESOURCE_BINDINGS, "readers-clusterrole")
    assert sorted(target.name for target in binding.spec.clusters) == ["member1", "member2"]


@in_world()
async def test_a_custom_resource_follows_its_definition(world: World) -> None:
    name = "crontabs.stable.example.com"
    await world.client.create(DEFINITIONS, CRON_TAB_DEFINITION)
    await world.client.create(CLUSTER_POLICIES, selecting(DEFINITIONS, name, "member1", "member2"))
    await appears(world, "member1", DEFINITIONS, name)
    await world.sleep(30)
    await world.client.create(CRON_TABS, {"metadata": {"name": "nightly"}, "spec": {"at": "02:00"}}, "default")
    await world.client.create(POLICIES, selecting(CRON_TABS, "nightly", "member1", "member2"), "default")
    assert (await appears(world, "member2", CRON_TABS, "nightly", "default"))["spec"] == {"at": "02:00"}


@in_world()
async def test_l5_a_null_stays_in_a_work_that_is_updated_so_that_it_is_not_found_wanting_for_ever(world: World) -> None:
    for client in (world.client, world.member("member1").client):
        await client.create(DEFINITIONS, CRON_TAB_DEFINITION)
    await world.sleep(30)
    await world.client.create(CRON_TABS, {"metadata": {"name": "nightly"}, "spec": {"at": "02:00"}}, "default")
    await world.client.create(POLICIES, selecting(CRON_TABS, "nightly", "member1"), "default")
    await world.sleep(30)
    present = await world.client.get(CRON_TABS, "nightly", "default")
    changed = {**present, "spec": {"at": "03:00", "until": None}}
    await world.client.update(CRON_TABS, changed, "nightly", "default")
    await world.sleep(30)
    work = world.work("member1", work_name("CronTab", "nightly", "default"))
    assert work is not None
    assert work.spec.workload.manifests[0]["spec"] == {"at": "03:00", "until": None}


@in_world()
async def test_a_namespace_appears_in_every_member_before_what_is_in_it(world: World) -> None:
    await world.client.create(NAMESPACES, {"metadata": {"name": "shop"}})
    for member in ("member1", "member2", "member3"):
        await appears(world, member, Resource.of_manifests("v1", "namespaces", "Namespace", False), "shop")
    placement = by_weight({"member1": 1, "member3": 1})
    await world.client.create(
        Resource.of_manifests("apps/v1", "deployments", "Deployment", True), deployment("web", 2), "shop"
    )
    await world.client.create(POLICIES, policy("web", placement), "shop")
    await world.until(lambda: world.assigned("web-deployment", "shop") == {"member1": 1, "member3": 1})
    await world.sleep(10)
    assert await ready_replicas(world, "member3", "web", "shop") == 1


@in_world({"member1": "Push"})
async def test_a_kind_that_a_member_does_not_list_holds_up_no_other(world: World) -> None:
    """Each look at a Work of that kind waited ten seconds for the list, and what came after it waited, too."""
    for client in (world.client, world.member("member1").client):
        await client.create(DEFINITIONS, CRON_TAB_DEFINITION)
    await world.sleep(30)
    one = {"clusterAffinity": {"clusterNames": ["member1"]}}
    every = policy("all", one, "CronTab", "stable.example.com/v1")
    del every["spec"]["resourceSelectors"][0]["name"]
    await apply(world.client, every, policy("web", one), deployment("web", 2))
    for number in range(40):
        tab = {"apiVersion": "stable.example.com/v1", "kind": "CronTab", "metadata": {"name": f"tab{number}"}}
        await world.client.create(CRON_TABS, tab, "default")
    await world.sleep(60)
    await world.stop_controllers()

    def unlisted(request: Request) -> Response | None:
        is_list = request.method == "GET" and request.path.endswith("/crontabs")
        return status(403, "Forbidden") if is_list else None

    answers(world.member("member1").place, unlisted)
    world.start_controllers()
    await world.sleep(300)
    world.member("member1").place.link.cut()
    await world.until(lambda: not world.is_ready("member1"), 300)
    world.member("member1").place.link.mend()
    await world.until(lambda: world.is_ready("member1"), 300)
    await world.sleep(1)
    await world.client.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 3}}, "default")
    await world.sleep(15)
    there = await world.member("member1").client.get(DEPLOYMENTS, "web", "default")
    assert there["spec"]["replicas"] == 3
