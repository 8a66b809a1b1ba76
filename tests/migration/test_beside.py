"""Karmada's kinds that Leeward does not have, and its programs that go on for them: what they keep is not touched."""

from collections.abc import Awaitable, Callable

from kubeapi.codec import from_wire
from kubeapi.core import LEASES
from kubeapi.loop.supervisor import Supervisor
from kubeapi.loop.virtual import run_virtual
from kubeapi.meta import Manifest, format_micro_time
from kubeapi.resource import Resource
from kubeclient import NotFound
from leeward.api.names import POLICY_ID_LABEL, execution_space
from leeward.api.resource import CLUSTERS, RESOURCE_BINDINGS, WORKS
from leeward.api.schema import CUSTOM_KINDS, custom_resource_definitions
from leeward.app.install.manifests import DEFINITIONS
from leeward.app.migration.adopting import adopt, plan
from leeward.app.migration.handing_back import hand_back
from leeward.app.migration.review import refusals
from leeward.sim.world import World
from leeward.webhook.configurations import MUTATING, VALIDATING
from tests.migration.aggregated import AggregatedWorld
from tests.world.stories import CONFIG_MAPS, DEPLOYMENTS, apply, deployment, play

HPAS: Resource[Manifest] = Resource.of_manifests(
    "autoscaling.karmada.io/v1alpha1", "federatedhpas", "FederatedHPA", True
)
EXPORTS: Resource[Manifest] = Resource.of_manifests(
    "multicluster.x-k8s.io/v1alpha1", "serviceexports", "ServiceExport", True
)
NAMESPACES: Resource[Manifest] = Resource.of_manifests("v1", "namespaces", "Namespace", False)
MANAGER, APART = "karmada-controller-manager", "karmada-autoscaling"
OF_KARMADA_ALONE = {
    *("FederatedHPA", "CronFederatedHPA", "MultiClusterService", "MultiClusterIngress", "ServiceExport"),
    *("ServiceImport", "ResourceRegistry", "Remedy"),
}
ANYTHING: Manifest = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}


def definition_of(kind: Resource[Manifest]) -> Manifest:
    names = {"plural": kind.plural, "singular": kind.kind.lower(), "kind": kind.kind, "listKind": f"{kind.kind}List"}
    version = {"name": kind.version, "served": True, "storage": True, "schema": ANYTHING}
    spec = {"group": kind.group, "scope": "Namespaced", "names": names, "versions": [version]}
    marks = {"annotations": {"controller-gen.kubebuilder.io/version": "v0.20.0"}}
    return {"metadata": {"name": f"{kind.plural}.{kind.group}", **marks}, "spec": spec}


async def with_kinds_of_karmada(world: AggregatedWorld) -> None:
    """A kind that is not ours with an object, and the older version of the bindings."""
    for kind in (MUTATING, VALIDATING):
        for configured in (await world.client.list(kind)).items:
            await world.client.delete(kind, configured["metadata"]["name"])
    for kind in (HPAS, EXPORTS):
        await world.client.create(DEFINITIONS, definition_of(kind))
    await world.sleep(5)
    await world.client.create(EXPORTS, {"metadata": {"name": "web"}}, "default")
    await world.client.create(HPAS, {"metadata": {"name": "web"}, "spec": {"maxReplicas": 9}}, "default")
    bindings = await world.client.get(DEFINITIONS, RESOURCE_BINDINGS.group_resource)
    bindings["spec"]["versions"].append({"name": "v1alpha1", "served": True, "storage": False, "schema": ANYTHING})
    await world.client.update(DEFINITIONS, bindings, RESOURCE_BINDINGS.group_resource)


async def versions(world: AggregatedWorld) -> dict[str, str]:
    """The resourceVersions of what Karmada has brought."""
    found = [await world.client.get(DEFINITIONS, f"{HPAS.plural}.{HPAS.group}")]
    found.append(await world.client.get(DEFINITIONS, RESOURCE_BINDINGS.group_resource))
    found.append(await world.client.get(HPAS, "web", "default"))
    return {each["metadata"]["name"]: each["metadata"]["resourceVersion"] for each in found}


def play_beside(story: Callable[[AggregatedWorld], Awaitable[None]]) -> None:
    async def run() -> None:
        async with AggregatedWorld(applications=False) as world:
            await world.sleep(5)
            await story(world)

    run_virtual(run())


def test_kinds_that_leeward_does_not_have_are_neither_installed_nor_touched_there_and_back() -> None:
    async def story(world: AggregatedWorld) -> None:
        await with_kinds_of_karmada(world)
        before = await versions(world)
        said = {remark.about: remark for remark in (await plan(world.user, world.clock)).remarks}
        assert "can go on being served by Karmada's own program" in said[HPAS.group_resource].sentence
        assert "--controllers=federatedHorizontalPodAutoscaler" in said[HPAS.group_resource].next
        assert "--feature-gates=PropagateDeps=false --controllers=serviceExport" in said[EXPORTS.group_resource].next
        await adopt(world.user, world.clock, lambda _: None)
        assert await versions(world) == before
        await hand_back(world.user, world.clock, lambda _: None)
        assert await versions(world) == before

    play_beside(story)


def test_the_conditions_of_templates_go_with_leeward_and_no_others() -> None:
    """Nobody would keep them true."""

    async def story(world: AggregatedWorld) -> None:
        words = {
            "Available": ("MinimumReplicasAvailable", "every cluster has the replicas that it needs at least"),
            "Progressing": ("NewReplicaSetAvailable", "every cluster has rolled out the present template"),
        }
        ours = [{"type": kind, "status": "True", "reason": r, "message": said} for kind, (r, said) in words.items()]
        kubernetes = {**ours[0], "message": "Deployment has minimum availability."}
        other = {"type": "example.com/Mine", "status": "True"}
        claimed = deployment("claimed", 2)
        claimed["metadata"]["labels"][POLICY_ID_LABEL] = "3d"
        status = {"replicas": 2, "conditions": [*ours, other]}
        own = {"replicas": 2, "conditions": [kubernetes, other]}
        for each in (claimed, deployment("own", 2), {**claimed, "metadata": {**claimed["metadata"], "name": "quiet"}}):
            await apply(world.client, each)
        for name, told_by in (("claimed", status), ("own", own)):
            await world.client.patch(DEPLOYMENTS, name, {"status": told_by}, "default", subresource="status")
        await adopt(world.user, world.clock, lambda _: None)
        before = {name: await world.client.get(DEPLOYMENTS, name, "default") for name in ("own", "quiet")}
        told: list[str] = []
        await hand_back(world.user, world.clock, told.append)
        assert "taking the conditions of 1 templates away" in told
        left = (await world.client.get(DEPLOYMENTS, "claimed", "default"))["status"]
        assert left["replicas"] == 2
        assert [each["type"] for each in left["conditions"]] == ["example.com/Mine"]
        assert {name: await world.client.get(DEPLOYMENTS, name, "default") for name in before} == before

    play_beside(story)


def test_no_definition_of_ours_is_of_a_kind_that_leeward_does_not_have() -> None:
    kinds = {definition["spec"]["names"]["kind"] for definition in custom_resource_definitions()}
    assert kinds == {kind.resource.kind for kind in CUSTOM_KINDS}
    assert kinds.isdisjoint(OF_KARMADA_ALONE)
    served = {
        version["name"]
        for definition in custom_resource_definitions()
        if definition["spec"]["names"]["kind"] in ("ResourceBinding", "ClusterResourceBinding")
        for version in definition["spec"]["versions"]
    }
    assert served == {"v1alpha2"}


def test_a_program_of_karmadas_with_a_lease_elsewhere_is_not_in_the_way() -> None:
    """`--leader-elect-resource-namespace` of its own: of several replicas one works, and Leeward's lease is another."""

    async def story(world: AggregatedWorld) -> None:
        await with_kinds_of_karmada(world)
        await world.client.create(NAMESPACES, {"metadata": {"name": APART}})
        holder = {"holderIdentity": "karmada-0_1", "leaseDurationSeconds": 15}

        async def renew() -> None:
            while True:
                spec = {**holder, "renewTime": format_micro_time(world.clock.now())}
                try:
                    await world.client.patch(LEASES, MANAGER, {"spec": spec}, APART)
                except NotFound:
                    await world.client.create(LEASES, {"metadata": {"name": MANAGER}, "spec": spec}, APART)
                await world.sleep(2)

        async with Supervisor("a program of Karmada's") as supervisor:
            supervisor.start(renew(), "lease")
            assert not refusals((await plan(world.user, world.clock)).remarks)
            await adopt(world.user, world.clock, lambda _: None)
            lease = await world.client.get(LEASES, MANAGER, APART)
            assert lease.spec.holder_identity == "karmada-0_1"

    play_beside(story)


def test_works_of_others_are_carried_out_and_stay_and_what_they_say_of_a_cluster_does_too() -> None:
    async def story(world: World) -> None:
        space = execution_space("member1")
        for name, suspended in (("slice", False), ("collected", True)):
            manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}}
            labels = {"multiclusterservice.karmada.io/permanent-id": "3d"}
            spec = {"workload": {"manifests": [manifest]}, "suspendDispatching": suspended}
            work = {"apiVersion": WORKS.api_version, "kind": "Work", "metadata": {"name": name, "labels": labels}}
            await world.client.create(WORKS, from_wire({**work, "spec": spec}, WORKS.object_type), space)
        await world.client.patch(CLUSTERS, "member1", {"status": {"remedyActions": ["A"]}}, subresource="status")
        await world.sleep(30)
        specs = {work.name: work.spec for work in (await world.client.list(WORKS, space)).items}
        assert set(specs) == {"slice", "collected"}
        await world.stop_controllers()
        world.start_controllers()
        await world.sleep(600)
        assert {work.name: work.spec for work in (await world.client.list(WORKS, space)).items} == specs
        there = {each["metadata"]["name"] for each in (await world.member("member1").client.list(CONFIG_MAPS)).items}
        assert "slice" in there
        assert "collected" not in there
        assert world.cluster("member1").status.remedy_actions == ("A",)

    play(story, {"member1": "Push"})
