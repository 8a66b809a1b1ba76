"""Dependencies in trouble: nothing is taken from under a copy, and what cannot be seen is not gone."""

from collections.abc import Callable, Mapping

import pytest

from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeapi.status import Status
from kubeapi.transport import Response
from kubeclient import Request
from kubecluster.network import Answering
from kubeserver.errors import status_response
from kubeserver.handler import StreamResponse
from leeward.api.resource import RESOURCE_BINDINGS
from leeward.manager.gates import switch_gates
from leeward.manager.settings import ManagerSettings
from leeward.sim.world import Mode, World
from tests.world.stories import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    POLICIES,
    apply,
    by_weight,
    identities,
    in_world,
    policy,
    ready_replicas,
    tasks,
)
from tests.world.test_dependencies import TWO, config, followed, named, needed_in, one_of, reading, reasons

THREE_PUSH: Mapping[str, Mode] = {"member1": "Push", "member2": "Push", "member3": "Push"}
SLICES = Resource.of_manifests("discovery.k8s.io/v1", "endpointslices", "EndpointSlice", True)
IMPORTS = Resource.of_manifests("multicluster.x-k8s.io/v1alpha1", "serviceimports", "ServiceImport", True)
CRDS = Resource.of_manifests("apiextensions.k8s.io/v1", "customresourcedefinitions", "CustomResourceDefinition", False)
SERVICE = "kubernetes.io/service-name"


def service_imports() -> Manifest:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1alpha1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "serviceimports", "singular": "serviceimport", "kind": "ServiceImport"}
    spec = {"group": "multicluster.x-k8s.io", "scope": "Namespaced", "names": names, "versions": [version]}
    return {"metadata": {"name": "serviceimports.multicluster.x-k8s.io"}, "spec": spec}


def endpoints(name: str, service: str) -> Manifest:
    return {"metadata": {"name": name, "labels": {SERVICE: service}}, "addressType": "IPv4", "endpoints": []}


async def one_runs(world: World, *manifests: Manifest) -> tuple[str, str]:
    """Has the application run in one of two clusters: which, and the other one."""
    await apply(world.client, config("settings"), followed("web", one_of("member1", "member2")), *manifests)
    await world.until(lambda: bool(world.assigned("web-deployment")))
    await world.sleep(60)
    (here,) = world.assigned("web-deployment")
    (there,) = {"member1", "member2"} - {here}
    return here, there


@in_world(THREE_PUSH)
async def test_an_eviction_that_is_taken_back_has_changed_nothing_of_what_was_needed(world: World) -> None:
    """Holds: S12."""
    here, there = await one_runs(world, reading("web", "settings"))
    before = await identities(world, "settings", [here], CONFIG_MAPS)
    app = await identities(world, "web", [here])
    world.member(there).refuse_writes(403)
    await world.member(here).stop()
    await world.until(lambda: tasks(world, "web-deployment") == [here])
    await world.sleep(60)
    assert needed_in(world, "settings-configmap") == {"web-deployment": ["member1", "member2"]}
    await world.member(here).start()
    await world.until(lambda: world.assigned("web-deployment") == {here: 2} and not tasks(world, "web-deployment"))
    world.member(there).refuse_writes(None)
    await world.until(lambda: needed_in(world, "settings-configmap") == {"web-deployment": [here]})
    await world.sleep(60)
    assert await identities(world, "settings", resource=CONFIG_MAPS) == before
    assert await identities(world, "web") == app


@pytest.mark.long
@in_world(THREE_PUSH)
async def test_what_others_need_in_a_cluster_that_comes_back_keeps_its_uid(world: World) -> None:
    """Holds: S12."""
    stays = followed("api", {"clusterAffinity": {"clusterNames": ["member1", "member2"]}})
    await apply(world.client, stays, reading("api", "settings", replicas=1))
    here, there = await one_runs(world, reading("web", "settings"))
    before = await identities(world, "settings", resource=CONFIG_MAPS)
    assert set(before) == {here, there}
    await world.member(here).stop()
    await world.until(lambda: world.assigned("web-deployment") == {there: 2})
    await world.until(lambda: not tasks(world, "web-deployment"))
    await world.member(here).start()
    await world.until(lambda: named(world, here, "Deployment", "web") is None)
    await world.sleep(120)
    assert await identities(world, "settings", resource=CONFIG_MAPS) == before
    both = ["member1", "member2"]
    assert needed_in(world, "settings-configmap") == {"api-deployment": both, "web-deployment": [there]}


@in_world(THREE_PUSH)
async def test_what_leaves_directly_and_is_needed_where_it_was_is_made_anew_without_waiting_for_ever(
    world: World,
) -> None:
    """The dependency's Work stays for others: there is nothing to wait for."""
    directly = {"cluster": {"purgeMode": "Directly"}}
    own = policy("settings", one_of("member1", "member2"), "ConfigMap", "v1")
    own["spec"]["failover"] = directly
    await apply(world.client, config("settings"), own)
    await world.until(lambda: bool(world.assigned("settings-configmap")))
    (here,) = world.assigned("settings-configmap")
    (there,) = {"member1", "member2"} - {here}
    await apply(world.client, followed("web", {"clusterAffinity": {"clusterNames": [here]}}))
    await apply(world.client, reading("web", "settings"))
    await world.until(lambda: needed_in(world, "settings-configmap") == {"web-deployment": [here]})
    await world.sleep(60)
    before = await identities(world, "settings", resource=CONFIG_MAPS)
    await world.member(here).stop()
    await world.until(lambda: set(world.assigned("settings-configmap")) == {there})
    await world.sleep(60)
    assert set(await identities(world, "settings", [there], CONFIG_MAPS)) == {there}
    await world.member(here).start()
    await world.sleep(120)
    assert not tasks(world, "settings-configmap")
    assert await identities(world, "settings", [here], CONFIG_MAPS) == before


@in_world(THREE_PUSH, manager=ManagerSettings().karmada_exact())
async def test_as_in_karmada_what_is_needed_is_where_the_targets_are(world: World) -> None:
    """The differences of decision 83 can be switched off, with the other promises about old copies."""
    here, there = await one_runs(world, reading("web", "settings"))
    world.member(there).refuse_writes(403)
    await world.member(here).stop()
    await world.until(lambda: tasks(world, "web-deployment") == [here])
    await world.until(lambda: needed_in(world, "settings-configmap") == {"web-deployment": [there]})
    assert tasks(world, "web-deployment") == [here], "and its eviction has not ended"


@in_world()
async def test_what_a_preserved_copy_needs_is_preserved_with_it(world: World) -> None:
    kept = followed("web", by_weight(TWO), preserveResourcesOnDeletion=True)
    await apply(world.client, config("settings"), kept, reading("web", "settings"))
    await world.until(lambda: bool(needed_in(world, "settings-configmap")))
    await world.sleep(60)
    before = await identities(world, "settings", resource=CONFIG_MAPS)
    assert set(before) == set(TWO)
    await world.client.delete(DEPLOYMENTS, "web", "default")
    await world.until(lambda: world.binding("web-deployment") is None)
    await world.until(lambda: world.binding("settings-configmap") is None)
    await world.sleep(60)
    assert set(await identities(world, "web")) == set(TWO)
    assert await identities(world, "settings", resource=CONFIG_MAPS) == before


@pytest.mark.parametrize("crashes", [False, True])
@pytest.mark.long
@in_world()
async def test_a_restart_writes_nothing_about_dependencies(world: World, crashes: bool) -> None:
    await apply(world.client, config("settings"), followed("web", by_weight(TWO)), reading("web", "settings"))
    await world.until(lambda: bool(needed_in(world, "settings-configmap")))
    await world.sleep(60)
    before = {
        name: (await world.client.get(RESOURCE_BINDINGS, name, "default")).metadata.resource_version
        for name in ("web-deployment", "settings-configmap")
    }
    world.crash_controllers() if crashes else await world.stop_controllers()
    world.start_controllers()
    await world.sleep(120)
    for name, version in before.items():
        assert (await world.client.get(RESOURCE_BINDINGS, name, "default")).metadata.resource_version == version


@in_world()
async def test_a_dependant_that_goes_while_nobody_is_there_is_noticed(world: World) -> None:
    """The dependant's finalizer keeps it until what it needed is let go."""
    await apply(world.client, config("settings"), followed("web", by_weight(TWO)), reading("web", "settings"))
    await world.until(lambda: bool(needed_in(world, "settings-configmap")))
    await world.sleep(60)
    world.crash_controllers()
    await world.client.delete(DEPLOYMENTS, "web", "default")
    await world.sleep(30)
    assert world.binding("web-deployment") is not None
    world.start_controllers()
    await world.until(lambda: world.binding("web-deployment") is None)
    await world.until(lambda: world.binding("settings-configmap") is None)
    await world.sleep(30)
    assert not await identities(world, "settings", resource=CONFIG_MAPS)


@in_world()
async def test_an_object_that_cannot_be_read_is_not_gone(world: World) -> None:
    """Holds: S5."""
    await apply(world.client, config("settings"), followed("web", by_weight(TWO)), reading("web", "settings"))
    await world.until(lambda: bool(needed_in(world, "settings-configmap")))
    await world.sleep(60)
    before = await identities(world, "settings", resource=CONFIG_MAPS)
    world.crash_controllers()

    async def audit(request: Request, answer: Callable[[], Answering]) -> Response | StreamResponse:
        if request.method == "GET" and request.path.startswith("/api/v1/configmaps"):
            return status_response(Status(message="overloaded", reason="InternalError", code=500))
        return await answer()

    world.place.audit = audit
    world.start_controllers()
    wider = followed("web", by_weight({**TWO, "member3": 1}))["spec"]
    await world.client.patch(POLICIES, "web", {"spec": wider}, "default")
    await world.client.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 3}}, "default")
    await world.until(lambda: set(world.assigned("web-deployment")) == {"member1", "member2", "member3"})
    await world.sleep(60)
    assert needed_in(world, "settings-configmap") == {"web-deployment": ["member1", "member2"]}
    assert await identities(world, "settings", resource=CONFIG_MAPS) == before
    assert named(world, "member3", "Deployment", "web") is not None, "it did not wait for ever"
    told = (await reasons(world))["SyncScheduleResultToDependenciesFailed"]
    assert all("no list of configmaps yet" in message for message in told)
    world.place.audit = None
    await world.until(lambda: "member3" in needed_in(world, "settings-configmap")["web-deployment"])
    await world.sleep(30)
    assert {**before, **await identities(world, "settings", ["member1", "member2"], CONFIG_MAPS)} == before
    assert await identities(world, "settings", ["member3"], CONFIG_MAPS)


@in_world({"member1": "Push"})
async def test_what_is_selected_by_labels_follows_as_it_comes_and_goes(world: World) -> None:
    """The EndpointSlices of a ServiceImport have names that nobody knows beforehand."""
    for client in (world.client, *(member.client for member in world.members.values())):
        await client.create(CRDS, service_imports())
    wanted = followed("web", {"clusterAffinity": {"clusterNames": ["member1"]}})
    wanted["spec"]["resourceSelectors"] = [{"apiVersion": IMPORTS.api_version, "kind": IMPORTS.kind}]
    await apply(world.client, wanted)
    await world.client.create(SLICES, endpoints("first", "derived-web"), "default")
    await world.client.create(SLICES, endpoints("other", "derived-other"), "default")
    imported: Manifest = {"metadata": {"name": "web"}, "spec": {"type": "ClusterSetIP", "ports": []}}
    await world.client.create(IMPORTS, imported, "default")
    await world.until(lambda: needed_in(world, "first-endpointslice") == {"web-serviceimport": ["member1"]})
    await world.client.create(SLICES, endpoints("second", "derived-web"), "default")
    await world.until(lambda: needed_in(world, "second-endpointslice") == {"web-serviceimport": ["member1"]})
    await world.client.patch(SLICES, "first", {"metadata": {"labels": {SERVICE: "derived-other"}}}, "default")
    await world.until(lambda: world.binding("first-endpointslice") is None)
    await world.sleep(30)
    slices = [each["metadata"]["name"] for each in (await world.member("member1").client.list(SLICES)).items]
    assert [name for name in slices if name in ("first", "second", "other")] == ["second"]


@in_world()
async def test_what_has_followed_before_the_gate_was_closed_stays_and_goes_with_its_workload(world: World) -> None:
    off = ManagerSettings(gates=switch_gates([("PropagateDeps", False)]))
    await apply(world.client, config("settings"), followed("web", by_weight(TWO)), reading("web", "settings"))
    await world.until(lambda: bool(needed_in(world, "settings-configmap")))
    await world.sleep(60)
    await world.stop_controllers()
    world.use(off)
    world.start_controllers()
    before = await identities(world, "settings", resource=CONFIG_MAPS)
    await world.client.patch(POLICIES, "web", {"spec": followed("web", by_weight({"member1": 1}))["spec"]}, "default")
    await world.until(lambda: set(world.assigned("web-deployment")) == {"member1"})
    await world.sleep(60)
    assert await identities(world, "settings", resource=CONFIG_MAPS) == before
    await world.client.delete(DEPLOYMENTS, "web", "default")
    await world.until(lambda: world.binding("web-deployment") is None)
    await world.until(lambda: world.binding("settings-configmap") is None)
    await world.sleep(30)
    assert not await identities(world, "settings", resource=CONFIG_MAPS)


@pytest.mark.long
@in_world()
async def test_what_a_member_refuses_holds_up_no_copy(world: World) -> None:
    """A ConfigMap of somebody else is there already; the copy may run with it. Holds: S6."""
    await world.member("member1").client.create(CONFIG_MAPS, config("settings", "theirs"), "default")
    await apply(world.client, config("settings"), followed("web", by_weight({"member1": 1})))
    await apply(world.client, reading("web", "settings"))
    await world.until(lambda: named(world, "member1", "Deployment", "web") is not None)
    await world.sleep(10)
    assert await ready_replicas(world, "member1", "web") == 2
    found = await world.member("member1").client.get(CONFIG_MAPS, "settings", "default")
    assert found["data"] == {"value": "theirs"}
    assert "DependenciesMissing" not in await reasons(world)


@in_world()
async def test_a_member_that_does_not_answer_holds_up_a_copy_for_a_quarter_of_a_minute(world: World) -> None:
    await world.member("member3").stop_agent()
    await apply(world.client, config("settings"), followed("web", by_weight({"member3": 1})))
    await apply(world.client, reading("web", "settings"))
    await world.until(lambda: named(world, "member3", "ConfigMap", "settings") is not None)
    waited = await world.until(lambda: named(world, "member3", "Deployment", "web") is not None)
    assert 14 <= waited <= 16
    await world.sleep(1)
    assert (await reasons(world))["DependenciesMissing"] == [
        "The Work in member3 is written before the objects that it needs: ConfigMap settings."
    ]


@in_world()
async def test_a_copy_that_was_not_to_come_any_more_waits_anew_when_it_is(world: World) -> None:
    """The wait was counted from the first time that the cluster was a target, and was over long ago (seed 40130)."""

    async def wanted_in(*clusters: str) -> None:
        spec = followed("web", by_weight(dict.fromkeys(clusters, 1)))["spec"]
        await world.client.patch(POLICIES, "web", {"spec": spec}, "default")

    await apply(world.client, config("settings"), followed("web", by_weight({"member1": 1})))
    await apply(world.client, reading("web", "settings"))
    await world.until(lambda: named(world, "member1", "Deployment", "web") is not None)
    await world.member("member3").stop_agent()
    await wanted_in("member1", "member3")
    await world.until(lambda: named(world, "member3", "ConfigMap", "settings") is not None)
    await world.sleep(1)
    await wanted_in("member1")
    world.member("member3").start_agent()
    await world.until(lambda: named(world, "member3", "ConfigMap", "settings") is None)
    await world.sleep(60)
    await wanted_in("member1", "member3")
    await world.until(lambda: named(world, "member3", "Deployment", "web") is not None)
    assert named(world, "member3", "ConfigMap", "settings").applied is not None
    await world.sleep(1)
    assert "DependenciesMissing" not in await reasons(world)


@in_world()
async def test_the_services_of_an_ingress_follow_it(world: World) -> None:
    ingresses = Resource.of_manifests("networking.k8s.io/v1", "ingresses", "Ingress", True)
    services = Resource.of_manifests("v1", "services", "Service", True)
    port = {"port": 80, "targetPort": 80}
    made = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": {"ports": [port]}}
    await world.client.create(services, made, "default")
    path = {"path": "/", "pathType": "Prefix", "backend": {"service": {"name": "web", "port": {"number": 80}}}}
    ingress = {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {"name": "web"},
        "spec": {"rules": [{"http": {"paths": [path]}}]},
    }
    wanted = followed("web", {"clusterAffinity": {"clusterNames": ["member2"]}})
    wanted["spec"]["resourceSelectors"] = [{"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "name": "web"}]
    await apply(world.client, wanted)
    await world.client.create(ingresses, ingress, "default")
    await world.until(lambda: needed_in(world, "web-service") == {"web-ingress": ["member2"]})
    await world.sleep(30)
    assert set(await identities(world, "web", resource=services)) == {"member2"}
    assert set(await identities(world, "web", resource=ingresses)) == {"member2"}
