"""A ResourceBinding reaches only its own namespace.

The attacker has: every right to ResourceBindings in the namespace `tenant`, nothing else in the control plane; and
whatever is readable in member2, where they are an administrator.
They do: write bindings that name templates of others (Secrets of `karmada-cluster`, ConfigMaps of another tenant,
Namespaces, ClusterRoleBindings), or the template of a living binding.
They must not get: any object that is not of `tenant` into a member, a change of anybody's object there, a Work of
another binding, an event in somebody's namespace, nor a control plane that writes without end.

Each attack is made twice: where admission is asked, and where it is not (a kube-apiserver whose webhook was away).
"""

import base64
from collections.abc import Mapping
from typing import Any

import pytest

from kubeapi.core import EVENTS, NAMESPACES, SECRETS
from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeclient import Client, Invalid, NotFound
from kubecluster.network import LinkedTransport
from kubeserver.handler import User
from leeward.api.meta import Condition, find_condition
from leeward.api.names import (
    AGENT_GROUP,
    AGENT_USER_PREFIX,
    BINDING_NAME_ANNOTATION,
    BINDING_NAMESPACE_ANNOTATION,
    REFUSED_CONDITION,
    execution_space,
    work_name,
)
from leeward.api.resource import RESOURCE_BINDINGS, WORKS
from leeward.api.work import Work
from leeward.sim.world import Mode, World
from tests.security.worlds import RBAC, UnaskedWorld, namespaces, play_in, user_with, written
from tests.world.stories import CONFIG_MAPS, apply, policy

TWO: Mapping[str, Mode] = {"member1": "Push", "member2": "Push"}
CLUSTER_ROLE_BINDINGS = Resource.of_manifests(f"{RBAC}/v1", "clusterrolebindings", "ClusterRoleBinding", False)
OUT_OF_REACH, TAKEN = "TemplateOutOfReach", "WorkOfAnotherBinding"

ATTACKS: Mapping[str, tuple[str, str, str, str]] = {
    "secret-of-the-control-plane": ("v1", "Secret", "karmada-cluster", "stolen"),
    "secret-of-the-system": ("v1", "Secret", "karmada-system", "stolen"),
    "secret-of-kube-system": ("v1", "Secret", "kube-system", "stolen"),
    "work": ("work.karmada.io/v1alpha1", "Work", "karmada-es-member1", "stolen"),
    "config-map-of-another": ("v1", "ConfigMap", "victim", "settings"),
    "namespace": ("v1", "Namespace", "", "victim"),
    "namespace-as-own": ("v1", "Namespace", "tenant", "victim"),
    "right": (f"{RBAC}/v1", "ClusterRoleBinding", "", "everything"),
    "right-as-own": (f"{RBAC}/v1", "ClusterRoleBinding", "tenant", "everything"),
    "karmadas-own-kind": ("policy.karmada.io/v1alpha1", "PropagationPolicy", "tenant", "some"),
    "path": ("v1/namespaces/karmada-cluster/secrets/stolen?", "Secret", "tenant", "stolen"),
    "path-up": ("../api/v1", "Secret", "tenant", "../../karmada-cluster/secrets/stolen"),
    "version": ("V1", "Secret", "tenant", "stolen"),
}


def evil(binding: str, reference: tuple[str, str, str, str], **spec: Any) -> Manifest:
    resource = dict(zip(("apiVersion", "kind", "namespace", "name"), reference, strict=True))
    targets = [{"name": "member1"}, {"name": "member2"}]
    placement = {"clusterAffinity": {"clusterNames": list(TWO)}}
    return {
        "metadata": {"name": binding, "finalizers": ["karmada.io/binding-controller"]},
        "spec": {
            "resource": resource,
            "clusters": targets,
            "placement": placement,
            "conflictResolution": "Overwrite",
            **spec,
        },
    }


async def prepare(world: World) -> Client:
    """Prepares what there is to steal and to break. Returns the attacker's client."""
    await namespaces(world, "tenant", "victim")
    token = {"metadata": {"name": "stolen"}, "data": {"token": base64.b64encode(b"hunter2").decode()}}
    for namespace in ("karmada-cluster", "karmada-system", "kube-system"):
        await world.client.create(SECRETS, token, namespace)
    await world.client.create(CONFIG_MAPS, {"metadata": {"name": "settings"}, "data": {"of": "hub"}}, "victim")
    rule = {"apiGroup": RBAC, "kind": "ClusterRole", "name": "cluster-admin"}
    everything: Manifest = {"metadata": {"name": "everything"}, "roleRef": rule, "subjects": []}
    await world.client.create(CLUSTER_ROLE_BINDINGS, everything)
    await world.sleep(10)
    for member in world.members.values():
        settings = {"metadata": {"name": "settings"}, "data": {"of": "member"}}
        await member.client.create(CONFIG_MAPS, settings, "victim")
        patch = {"metadata": {"labels": {"of": "member"}}}
        await member.client.patch(NAMESPACES, "victim", patch)
    return await user_with(world, "mallory", "tenant", "work.karmada.io", "resourcebindings")


async def spoils(world: World) -> list[str]:
    """Spoils that the attacker has got: everything in a member that is not as it was."""
    found: list[str] = []
    for name, member in world.members.items():
        for secret in (await member.client.list(SECRETS)).items:
            if secret.metadata.name == "stolen":
                found.append(f"{name}: a Secret of {secret.metadata.namespace}")
        settings = await member.client.get(CONFIG_MAPS, "settings", "victim")
        if settings["data"] != {"of": "member"} or settings["metadata"].get("annotations"):
            found.append(f"{name}: the ConfigMap of victim")
        if (await member.client.get(NAMESPACES, "victim")).metadata.labels.get("of") != "member":
            found.append(f"{name}: the Namespace victim")
        try:
            await member.client.get(CLUSTER_ROLE_BINDINGS, "everything")
            found.append(f"{name}: a ClusterRoleBinding")
        except NotFound:
            pass
    return found


async def refused(client: Client, name: str, namespace: str = "tenant") -> Condition | None:
    binding = await client.get(RESOURCE_BINDINGS, name, namespace)
    return find_condition(binding.status.conditions, REFUSED_CONDITION)


def test_a_binding_of_a_foreign_template_is_refused_at_admission() -> None:
    async def story(world: World) -> None:
        mallory = await prepare(world)
        for attack, reference in ATTACKS.items():
            with pytest.raises(Invalid, match=r"spec\.resource\."):
                await mallory.create(RESOURCE_BINDINGS, evil(attack, reference), "tenant")
        await mallory.create(RESOURCE_BINDINGS, evil("good", ("v1", "ConfigMap", "tenant", "own")), "tenant")
        for reference in ATTACKS.values():
            resource = dict(zip(("apiVersion", "kind", "namespace", "name"), reference, strict=True))
            with pytest.raises(Invalid, match=r"spec\.resource\."):
                await mallory.patch(RESOURCE_BINDINGS, "good", {"spec": {"resource": resource}}, "tenant")
        assert [binding.name for binding in (await mallory.list(RESOURCE_BINDINGS, "tenant")).items] == ["good"]

    play_in(World, story, {})


def test_nothing_of_others_reaches_a_member_where_admission_was_not_asked() -> None:
    async def story(world: World) -> None:
        mallory = await prepare(world)
        for attack, reference in ATTACKS.items():
            await mallory.create(RESOURCE_BINDINGS, evil(attack, reference), "tenant")
        await world.sleep(60)
        assert await spoils(world) == []
        said = {attack: await refused(world.client, attack) for attack in ATTACKS}
        assert {attack: told.reason for attack, told in said.items() if told is not None} == dict.fromkeys(
            ATTACKS, OUT_OF_REACH
        )
        events = (await world.client.list(EVENTS)).items
        of_attacks = [event for event in events if event.involved_object.name in ATTACKS]
        assert sorted(e.involved_object.name for e in of_attacks if e.reason == "BindingRefused") == sorted(ATTACKS)
        assert not [e for e in events if e.involved_object.name in ("stolen", "settings", "everything")]
        writes = written(world, "/namespaces/tenant/")
        await world.sleep(600)
        assert writes == []
        for attack in ATTACKS:
            await mallory.delete(RESOURCE_BINDINGS, attack, "tenant")
        await world.sleep(30)
        assert (await mallory.list(RESOURCE_BINDINGS, "tenant")).items == ()
        assert await spoils(world) == []

    play_in(UnaskedWorld, story, TWO)


SETTINGS = work_name("ConfigMap", "settings", "tenant")
COLLIDING = ("team-549599", "team-712382")
"""Two namespaces in which a ConfigMap `settings` has Works of one name."""


def settings_of(namespace: str) -> Manifest:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"of": namespace}}


def hand_made(name: str, *clusters: str, namespace: str = "tenant") -> Manifest:
    """A binding that somebody has written, of the ConfigMap `settings`."""
    resource = {"apiVersion": "v1", "kind": "ConfigMap", "namespace": namespace, "name": "settings"}
    placement = {"clusterAffinity": {"clusterNames": list(clusters)}}
    metadata = {"name": name, "finalizers": ["karmada.io/binding-controller"]}
    return {"metadata": metadata, "spec": {"resource": resource, "placement": placement}}


def settings_on(*clusters: str) -> Manifest:
    return policy("settings", {"clusterAffinity": {"clusterNames": list(clusters)}}, "ConfigMap", "v1")


async def copy(world: World, member: str, namespace: str = "tenant") -> tuple[str, str, str]:
    """The ConfigMap in a member: uid, resourceVersion, contents."""
    found = await world.member(member).client.get(CONFIG_MAPS, "settings", namespace)
    return found["metadata"]["uid"], found["metadata"]["resourceVersion"], found["data"]["of"]


def owner(work: Work | None) -> tuple[str, str]:
    assert work is not None
    annotations = work.metadata.annotations
    return annotations[BINDING_NAMESPACE_ANNOTATION], annotations[BINDING_NAME_ANNOTATION]


@pytest.mark.parametrize("kind", [World, UnaskedWorld])
def test_a_second_binding_of_a_template_says_whose_it_is_and_stands_still(kind: type[World]) -> None:
    async def story(world: World) -> None:
        mallory = await prepare(world)
        await apply(world.client, settings_of("tenant"), settings_on("member1"), namespace="tenant")
        await world.sleep(30)
        work, before = world.work("member1", SETTINGS), await copy(world, "member1")
        second = hand_made("evil", "member1", "member2")
        second["spec"] |= {"conflictResolution": "Overwrite", "clusters": [{"name": "member1"}, {"name": "member2"}]}
        await mallory.create(RESOURCE_BINDINGS, second, "tenant")
        of_works = written(world, "/works")
        await world.sleep(30)
        told = await refused(world.client, "evil")
        assert told is not None
        assert told.reason == TAKEN
        assert "ResourceBinding tenant/settings-configmap" in told.message
        events = (await world.client.list(EVENTS, "tenant")).items
        assert [(e.involved_object.name, e.count) for e in events if e.reason == "BindingRefused"] == [("evil", 1)]
        writes = written(world, "/namespaces/")
        await world.sleep(600)
        assert not [w for w in writes if "/works" in w or "bindings" in w or "evil" in w]
        assert of_works == []
        assert world.work("member1", SETTINGS) == work
        assert world.work("member2", SETTINGS) is None
        assert await copy(world, "member1") == before
        assert await refused(world.client, "settings-configmap") is None

    play_in(kind, story, TWO)


def test_a_work_goes_to_the_second_binding_when_the_first_is_deleted() -> None:
    async def story(world: World) -> None:
        await prepare(world)
        await apply(world.client, settings_of("tenant"), namespace="tenant")
        for name in ("first", "second"):
            await world.client.create(RESOURCE_BINDINGS, hand_made(name, "member1"), "tenant")
            await world.sleep(30)
        assert owner(world.work("member1", SETTINGS)) == ("tenant", "first")
        assert await refused(world.client, "second") is not None
        await world.client.delete(RESOURCE_BINDINGS, "first", "tenant")
        await world.sleep(10)
        assert owner(world.work("member1", SETTINGS)) == ("tenant", "second")
        assert (await copy(world, "member1"))[2] == "tenant"
        assert await refused(world.client, "second") is None

    play_in(World, story, TWO)


def test_the_work_of_a_binding_that_is_gone_is_taken_over() -> None:
    async def story(world: World) -> None:
        await prepare(world)
        await apply(world.client, settings_of("tenant"), namespace="tenant")
        await world.client.create(RESOURCE_BINDINGS, hand_made("first", "member1"), "tenant")
        await world.sleep(30)
        await world.stop_controllers()
        await world.client.patch(RESOURCE_BINDINGS, "first", {"metadata": {"finalizers": None}}, "tenant")
        await world.client.delete(RESOURCE_BINDINGS, "first", "tenant")
        await world.client.create(RESOURCE_BINDINGS, hand_made("second", "member1"), "tenant")
        world.start_controllers()
        await world.sleep(60)
        work = world.work("member1", SETTINGS)
        assert owner(work) == ("tenant", "second")
        assert work is not None
        assert work.metadata.deletion_timestamp is None
        assert (await copy(world, "member1"))[2] == "tenant"

    play_in(World, story, TWO)


def test_templates_whose_works_have_one_name_by_chance_do_not_fight() -> None:
    async def story(world: World) -> None:
        victim, attacker = COLLIDING
        await namespaces(world, *COLLIDING)
        name = work_name("ConfigMap", "settings", victim)
        assert name == work_name("ConfigMap", "settings", attacker)
        await apply(world.client, settings_of(victim), settings_on("member1"), namespace=victim)
        await world.sleep(30)
        before = await copy(world, "member1", victim)
        mallory = await user_with(world, "mallory", attacker, "*", "configmaps", "propagationpolicies")
        await apply(mallory, settings_of(attacker), settings_on("member1"), namespace=attacker)
        await world.sleep(30)
        writes = written(world, "/works")
        await world.sleep(600)
        assert writes == []
        assert await copy(world, "member1", victim) == before
        assert owner(world.work("member1", name)) == (victim, "settings-configmap")
        told = await refused(world.client, "settings-configmap", attacker)
        assert told is not None
        assert f"ResourceBinding {victim}/settings-configmap" in told.message
        assert await refused(world.client, "settings-configmap", victim) is None

    play_in(World, story, TWO)


def test_a_work_that_was_taken_by_a_binding_out_of_reach_comes_back() -> None:
    """A Work as an earlier version, in which such a binding could take it, has left it."""

    async def story(world: World) -> None:
        await namespaces(world, "tenant", "victim")
        mallory = await user_with(world, "mallory", "tenant", "work.karmada.io", "resourcebindings")
        await apply(world.client, settings_of("victim"), settings_on("member1"), namespace="victim")
        await world.sleep(30)
        name, before = work_name("ConfigMap", "settings", "victim"), await copy(world, "member1", "victim")
        await world.stop_controllers()
        await mallory.create(RESOURCE_BINDINGS, evil("evil", ("v1", "ConfigMap", "victim", "settings")), "tenant")
        marks = {BINDING_NAMESPACE_ANNOTATION: "tenant", BINDING_NAME_ANNOTATION: "evil"}
        await world.client.patch(WORKS, name, {"metadata": {"annotations": marks}}, execution_space("member1"))
        world.start_controllers()
        await world.sleep(60)
        assert owner(world.work("member1", name)) == ("victim", "settings-configmap")
        assert await copy(world, "member1", "victim") == before

    play_in(UnaskedWorld, story, TWO)


def test_a_binding_that_is_turned_to_a_foreign_template_gets_its_own_back() -> None:
    async def story(world: World) -> None:
        mallory = await prepare(world)
        await apply(world.client, settings_of("tenant"), settings_on("member1"), namespace="tenant")
        await world.sleep(30)
        before = await copy(world, "member1")
        resource = {"apiVersion": "v1", "kind": "Secret", "namespace": "karmada-cluster", "name": "stolen"}
        await mallory.patch(RESOURCE_BINDINGS, "settings-configmap", {"spec": {"resource": resource}}, "tenant")
        await world.sleep(30)
        binding = world.binding("settings-configmap", "tenant")
        assert binding is not None
        assert binding.spec.resource.kind == "ConfigMap"
        assert await refused(world.client, "settings-configmap") is None
        assert await spoils(world) == []
        assert await copy(world, "member1") == before

    play_in(UnaskedWorld, story, TWO)


def test_an_agent_that_marks_its_works_as_anothers_holds_up_nobody_s10() -> None:
    """The agent may change the Works in its own execution space, and nothing of the binding `own`."""

    async def story(world: World) -> None:
        await namespaces(world, "tenant", "victim")
        await apply(world.client, settings_of("tenant"), settings_on("member1", "member2"), namespace="tenant")
        await apply(world.client, settings_of("victim"), settings_on("member1"), namespace="victim")
        await world.sleep(60)
        groups = (AGENT_GROUP, "system:authenticated")
        agent = Client(LinkedTransport(world.place, User(AGENT_USER_PREFIX + "member2", groups)))
        marks = {BINDING_NAMESPACE_ANNOTATION: "victim", BINDING_NAME_ANNOTATION: "settings-configmap"}
        forged = {"metadata": {"annotations": marks, "finalizers": ["evil.example/stays"]}}
        await agent.patch(WORKS, SETTINGS, forged, execution_space("member2"))
        await world.client.delete(CONFIG_MAPS, "settings", "victim")
        await world.sleep(60)
        assert world.binding("settings-configmap", "victim") is None
        with pytest.raises(NotFound):
            await copy(world, "member1", "victim")
        assert owner(world.work("member1", SETTINGS)) == ("tenant", "settings-configmap")

    play_in(World, story, {"member1": "Push", "member2": "Pull"})


def test_a_work_that_a_binding_out_of_reach_has_left_is_not_applied() -> None:
    """A Work as an earlier version has made it goes with its binding."""

    async def story(world: World) -> None:
        mallory = await prepare(world)
        reference = ("v1", "Secret", "karmada-cluster", "stolen")
        await mallory.create(RESOURCE_BINDINGS, evil("evil", reference), "tenant")
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "stolen", "namespace": "victim"}}
        marks = {BINDING_NAMESPACE_ANNOTATION: "tenant", BINDING_NAME_ANNOTATION: "evil"}
        name = work_name("Secret", "stolen", "karmada-cluster")
        left: Manifest = {
            "metadata": {"name": name, "annotations": marks, "finalizers": ["karmada.io/execution-controller"]},
            "spec": {"workload": {"manifests": [secret]}},
        }
        await world.client.create(WORKS, left, execution_space("member1"))
        await world.sleep(60)
        assert await spoils(world) == []
        work = world.work("member1", name)
        assert work is not None
        assert work.applied is not None
        assert (work.applied.status, "ResourceBinding tenant/evil does not reach" in work.applied.message) == (
            "False",
            True,
        )
        await mallory.delete(RESOURCE_BINDINGS, "evil", "tenant")
        await world.sleep(60)
        assert world.work("member1", name) is None

    play_in(UnaskedWorld, story, TWO)
