"""Overrides on the virtual clock: what each cluster gets, when it is rendered anew, and what stays when it fails."""

from collections.abc import Mapping
from typing import Any

import pytest

from kubeapi.core import EVENTS
from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeclient import NotFound, Unreachable
from leeward.api.meta import find_condition
from leeward.api.names import (
    APPLIED_OVERRIDES_ANNOTATION,
    OVERRIDE_FAILED_CONDITION,
    execution_space,
    work_name,
)
from leeward.api.resource import CLUSTERS, WORKS
from leeward.api.work import Work
from leeward.sim.world import Mode, World
from tests.security.worlds import UnaskedWorld, play_in
from tests.world.stories import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    apply,
    by_weight,
    deployment,
    identities,
    in_world,
    play,
    policy,
    ready_replicas,
    tasks,
)
from tests.world.test_writes import MOST_WRITES, QUICK, REST_SECONDS, Accounts, has_moved

GROUP = "policy.karmada.io/v1alpha1"
OVERRIDES = Resource.of_manifests(GROUP, "overridepolicies", "OverridePolicy", True)
CLUSTER_OVERRIDES = Resource.of_manifests(GROUP, "clusteroverridepolicies", "ClusterOverridePolicy", False)
CRDS = Resource.of_manifests("apiextensions.k8s.io/v1", "customresourcedefinitions", "CustomResourceDefinition", False)
TWO: Mapping[str, Mode] = {"member1": "Push", "member2": "Pull"}
BOTH: Manifest = {"clusterAffinity": {"clusterNames": ["member1", "member2"]}}
MOVED = 30
"""Workloads of a failover whose writes are counted."""
WEB = work_name("Deployment", "web", "default")


def overriding(name: str, selector: Manifest | None = None, clusters: Manifest | None = None, **how: Any) -> Manifest:
    """An override policy of one rule."""
    selectors = [{"apiVersion": "apps/v1", "kind": "Deployment", **selector}] if selector is not None else []
    target = {"targetCluster": clusters} if clusters is not None else {}
    rules = [{**target, "overriders": how}]
    return {"metadata": {"name": name}, "spec": {"resourceSelectors": selectors, "overrideRules": rules}}


def only(*names: str) -> Manifest:
    return {"clusterNames": list(names)}


def tagged(tag: str) -> list[Manifest]:
    return [{"component": "Tag", "operator": "add", "value": tag}]


def replacing(path: str, value: Any) -> list[Manifest]:
    return [{"path": path, "operator": "replace", "value": value}]


async def web_runs(world: World) -> None:
    await apply(world.client, deployment("web", 2), policy("web", BOTH))
    await world.sleep(60)
    assert [await ready_replicas(world, name, "web") for name in world.members] == [2, 2]


async def images(world: World, name: str = "web") -> dict[str, str]:
    """Images by member."""
    found: dict[str, str] = {}
    for member in world.members:
        try:
            object_ = await world.member(member).client.get(DEPLOYMENTS, name, "default")
        except (NotFound, Unreachable):
            continue
        found[member] = object_["spec"]["template"]["spec"]["containers"][0]["image"]
    return found


async def works(world: World, name: str = WEB) -> dict[str, Work]:
    """Works by member, as the API server has them."""
    return {member: await world.client.get(WORKS, name, execution_space(member)) for member in world.members}


async def events(world: World, reason: str) -> list[tuple[str, str]]:
    """The kind of what each is about, and the message."""
    found = (await world.client.list(EVENTS, "default")).items
    return sorted((e.involved_object.kind, e.message) for e in found if e.reason == reason)


def failure(world: World, name: str = "web-deployment") -> str:
    binding = world.binding(name)
    condition = find_condition(binding.status.conditions, OVERRIDE_FAILED_CONDITION) if binding else None
    return condition.message if condition else ""


@in_world(TWO)
async def test_each_cluster_gets_its_own_and_a_change_is_written_where_it_is_meant(world: World) -> None:
    await world.client.create(
        OVERRIDES, overriding("ours", {"name": "web"}, only("member2"), imageOverrider=tagged("1")), "default"
    )
    await web_runs(world)
    await apply(world.client, deployment("other", 1), policy("other", BOTH))
    await world.sleep(60)
    assert await images(world) == {"member1": "nginx", "member2": "nginx:1"}
    assert await images(world, "other") == {"member1": "nginx", "member2": "nginx"}
    assert await events(world, "ApplyOverridePolicySucceed") == [
        ("Deployment", "Apply override policy(default/ours) for cluster(member2) succeed.")
    ]
    before = await works(world)
    assert before["member2"].metadata.annotations[APPLIED_OVERRIDES_ANNOTATION] == (
        '[{"policyName":"ours","overriders":{"imageOverrider":[{"component":"Tag","operator":"add","value":"1"}]}}]'
    )
    assert APPLIED_OVERRIDES_ANNOTATION not in before["member1"].metadata.annotations

    accounts = Accounts(world, QUICK)
    rules = overriding("ours", {}, only("member2"), imageOverrider=tagged("2"))["spec"]["overrideRules"]
    await world.client.patch(OVERRIDES, "ours", {"spec": {"overrideRules": rules}}, "default")
    await world.sleep(60)
    assert await images(world) == {"member1": "nginx", "member2": "nginx:2"}
    assert accounts.writes["PUT works"] == 1, "the one Work that it touches"
    assert (await works(world))["member1"] == before["member1"]

    await world.client.delete(OVERRIDES, "ours", "default")
    await world.sleep(60)
    assert await images(world) == {"member1": "nginx", "member2": "nginx"}
    assert accounts.writes["PUT works"] == 2
    after = await works(world)
    assert APPLIED_OVERRIDES_ANNOTATION not in after["member2"].metadata.annotations
    assert await images(world, "other") == {"member1": "nginx", "member2": "nginx"}


@in_world(TWO)
async def test_a_value_that_changes_from_a_number_to_a_boolean_arrives(world: World) -> None:
    """JSON has numbers and booleans as different types: an override of 0 that becomes false is another one."""
    path = "/spec/template/spec/hostNetwork"
    added = {"path": path, "operator": "add", "value": 0}
    await world.client.create(OVERRIDES, overriding("ours", {"name": "web"}, plaintext=[added]), "default")
    await apply(world.client, deployment("web", 2), policy("web", BOTH))
    await world.sleep(60)
    rules = overriding("ours", {}, plaintext=[{**added, "value": False}])["spec"]["overrideRules"]
    changed = await world.client.patch(OVERRIDES, "ours", {"spec": {"overrideRules": rules}}, "default")
    assert changed["spec"]["overrideRules"][0]["overriders"]["plaintext"][0]["value"] is False
    await world.sleep(60)
    rendered = [each.spec.workload.manifests[0] for each in (await works(world)).values()]
    assert [each["spec"]["template"]["spec"]["hostNetwork"] for each in rendered] == [False, False]
    assert all(each["spec"]["template"]["spec"]["hostNetwork"] is False for each in rendered)


@in_world(TWO)
async def test_an_override_that_fails_in_one_cluster_holds_back_no_other(world: World) -> None:
    await web_runs(world)
    before = await works(world)
    bad = overriding("bad", {"name": "web"}, only("member1"), plaintext=replacing("/spec/nope", 1))
    bad["spec"]["overrideRules"].insert(0, overriding("", imageOverrider=tagged("1"))["spec"]["overrideRules"][0])
    await world.client.create(OVERRIDES, bad, "default")
    await world.sleep(60)
    assert await images(world) == {"member1": "nginx", "member2": "nginx:1"}
    assert (await works(world))["member1"].spec == before["member1"].spec, "no half of it"
    said = "OverridePolicy default/bad: plaintext[0]: /spec/nope does not exist"
    assert failure(world) == f"Left as it is in member1: {said}"
    assert await events(world, "ApplyOverridePolicyFailed") == [
        ("Deployment", "Apply override policy(default/bad) for cluster(member1) failed.")
    ]
    binding = world.binding("web-deployment")
    assert binding is not None
    assert {item.cluster_name: item.health for item in binding.status.aggregated_status} == dict.fromkeys(
        TWO, "Healthy"
    ), "what runs there is told of as before"
    applied = find_condition(binding.status.conditions, "FullyApplied")
    assert applied is not None
    assert applied.status == "False"

    await world.client.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 3}}, "default")
    await world.sleep(60)
    assert [await ready_replicas(world, name, "web") for name in TWO] == [2, 3]
    accounts = Accounts(world, QUICK)
    await world.sleep(600)
    assert not {kind: n for kind, n in accounts.writes.items() if "cluster-wide" not in kind and "events" not in kind}

    mended = overriding("", {}, plaintext=replacing("/spec/replicas", 1))["spec"]["overrideRules"]
    await world.client.patch(OVERRIDES, "bad", {"spec": {"overrideRules": mended}}, "default")
    await world.sleep(60)
    assert failure(world) == ""
    assert [await ready_replicas(world, name, "web") for name in TWO] == [1, 1]


@in_world(TWO)
async def test_an_override_cannot_make_it_another_object_s6(world: World) -> None:
    await web_runs(world)
    before = await works(world)
    await world.client.create(
        OVERRIDES, overriding("bad", {}, plaintext=replacing("/metadata/namespace", "kube-system")), "default"
    )
    await world.sleep(60)
    assert {name: work.spec for name, work in (await works(world)).items()} == {
        name: work.spec for name, work in before.items()
    }
    assert "an override cannot change apiVersion, kind, metadata.namespace or metadata.name" in failure(world)


@pytest.mark.long
@in_world(TWO)
async def test_cluster_policies_come_first_and_the_rules_go_by_what_a_cluster_is(world: World) -> None:
    await web_runs(world)
    everywhere = overriding(
        "all", None, imageOverrider=tagged("0"), labelsOverrider=[{"operator": "add", "value": {"x": "y"}}]
    )
    await world.client.create(CLUSTER_OVERRIDES, everywhere)
    by_label = {"labelSelector": {"matchLabels": {"x": "y"}}}
    mine = overriding(
        "mine", by_label, {"labelSelector": {"matchLabels": {"env": "test"}}}, imageOverrider=tagged("-test")
    )
    await world.client.create(OVERRIDES, mine, "default")
    await world.sleep(60)
    assert await images(world) == {"member1": "nginx:0", "member2": "nginx:0"}
    await world.client.patch(CLUSTERS, "member1", {"metadata": {"labels": {"env": "test"}}})
    await world.sleep(60)
    assert await images(world) == {"member1": "nginx:0-test", "member2": "nginx:0"}
    changed = {"spec": {"overrideRules": overriding("", imageOverrider=tagged("-all"))["spec"]["overrideRules"]}}
    await world.client.patch(OVERRIDES, "mine", changed, "default")
    await world.sleep(60)
    assert await images(world) == {"member1": "nginx:0-all", "member2": "nginx:0-all"}
    await world.client.delete(CLUSTER_OVERRIDES, "all")
    await world.sleep(60)
    assert await images(world) == {"member1": "nginx", "member2": "nginx"}, "what selected it selects it no more"


@in_world(TWO)
async def test_a_template_waits_for_the_overrides_that_its_policy_depends_on(world: World) -> None:
    waiting = policy("web", BOTH)
    waiting["spec"]["dependentOverrides"] = ["ours", "more"]
    await apply(world.client, deployment("web", 2), waiting)
    await world.sleep(60)
    assert world.binding("web-deployment") is None
    template = await world.client.get(DEPLOYMENTS, "web", "default")
    assert "propagationpolicy.karmada.io/permanent-id" not in template["metadata"].get("labels", {})
    assert await events(world, "ApplyPolicyFailed") == [
        ("Deployment", "Policy default/web waits: the override policy ours does not exist")
    ]
    await world.client.create(OVERRIDES, overriding("ours", {}, imageOverrider=tagged("1")), "default")
    await world.sleep(60)
    assert world.binding("web-deployment") is None
    await world.client.create(OVERRIDES, overriding("more", {}, plaintext=replacing("/spec/replicas", 1)), "default")
    await world.sleep(60)
    assert await images(world) == {"member1": "nginx:1", "member2": "nginx:1"}
    assert [await ready_replicas(world, name, "web") for name in TWO] == [1, 1]
    await world.client.delete(OVERRIDES, "ours", "default")
    await world.sleep(60)
    assert await images(world) == {"member1": "nginx", "member2": "nginx"}
    assert world.binding("web-deployment") is not None, "what runs goes on"


def test_a_policy_that_cannot_be_read_any_more_leaves_what_was_made_with_it_s10() -> None:
    """This holds also for a control plane that has never been able to read it."""

    async def story(world: World) -> None:
        await world.client.create(OVERRIDES, overriding("ours", {}, imageOverrider=tagged("1")), "default")
        await web_runs(world)
        assert await images(world) == {"member1": "nginx:1", "member2": "nginx:1"}
        before = await works(world)
        await spoil(world, "ours")
        await world.sleep(60)
        assert await works(world) == before
        await world.stop_controllers()
        world.start_controllers()
        await world.sleep(60)
        assert {name: work.spec for name, work in (await works(world)).items()} == {
            name: work.spec for name, work in before.items()
        }
        assert "OverridePolicy default/ours cannot be read, and was applied here" in failure(world)
        await world.client.delete(OVERRIDES, "ours", "default")
        await world.sleep(300)
        assert failure(world) == ""
        assert await images(world) == {"member1": "nginx", "member2": "nginx"}, "a deletion is none of that"

    play_in(UnaskedWorld, story, TWO)


def test_a_policy_with_a_field_of_a_newer_karmada_leaves_what_was_made_with_it() -> None:
    """The policy is carried out as a whole, or not at all: not without what is not known here."""

    async def story(world: World) -> None:
        ours = overriding("ours", {}, imageOverrider=tagged("1"))
        await world.client.create(OVERRIDES, ours, "default")
        await web_runs(world)
        before = await works(world)
        await world.stop_controllers()
        await open_definition(world)
        rules = overriding("", imageOverrider=tagged("2"), resourceOverrider=[{"cpu": "1"}])["spec"]["overrideRules"]
        await world.client.patch(OVERRIDES, "ours", {"spec": {"overrideRules": rules}}, "default")
        world.start_controllers()
        await world.client.patch(DEPLOYMENTS, "web", {"spec": {"template": {"spec": {"hostname": "a"}}}}, "default")
        await world.sleep(60)
        assert {name: work.spec for name, work in (await works(world)).items()} == {
            name: work.spec for name, work in before.items()
        }
        assert "unknown field `resourceOverrider` - at `$.spec.overrideRules[0].overriders`" in failure(world)
        rules[0]["overriders"].pop("resourceOverrider")
        await world.client.patch(OVERRIDES, "ours", {"spec": {"overrideRules": rules}}, "default")
        await world.sleep(60)
        assert failure(world) == ""
        assert await images(world) == {"member1": "nginx:2", "member2": "nginx:2"}

    play_in(UnaskedWorld, story, TWO)


async def spoil(world: World, name: str) -> None:
    """Spoils it as by a change of the CRD by somebody: what is stored has another form than we know."""
    await open_definition(world)
    rules = overriding("", imageOverrider=[{"component": "Tag", "operator": "add", "value": 2}])["spec"][
        "overrideRules"
    ]
    await world.client.patch(OVERRIDES, name, {"spec": {"overrideRules": rules}}, "default")


async def open_definition(world: World) -> None:
    """Has the API server keep whatever fields a policy has."""
    crd = await world.client.get(CRDS, f"{OVERRIDES.plural}.{OVERRIDES.group}")
    (version,) = crd["spec"]["versions"]
    anything = {"x-kubernetes-preserve-unknown-fields": True, "type": "object"}
    version["schema"]["openAPIV3Schema"]["properties"]["spec"] = anything
    await world.client.update(CRDS, crd, crd["metadata"]["name"])


@in_world(TWO)
async def test_a_config_map_differs_by_what_stands_in_its_text(world: World) -> None:
    text = "level: info\nports:\n- 80\n"
    settings = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"a.yaml": text}}
    yaml = [{"subPath": "/level", "operator": "replace", "value": "debug"}]
    ours = overriding("ours", None, only("member1"), fieldOverrider=[{"fieldPath": "/data/a.yaml", "yaml": yaml}])
    await world.client.create(OVERRIDES, ours, "default")
    await apply(world.client, settings, policy("settings", BOTH, "ConfigMap", "v1"))
    await world.sleep(60)
    found = [await world.member(name).client.get(CONFIG_MAPS, "settings", "default") for name in TWO]
    assert [each["data"]["a.yaml"] for each in found] == ["level: debug\nports:\n- 80\n", text]


@pytest.mark.long
def test_a_failover_with_ten_policies_costs_no_more_writes_than_one_without_any() -> None:
    """Nor more events; the writes counted for each binding, as in `test_a_mass_failover_costs_few_writes`."""

    def failed_over(policies: int) -> list[int]:
        counted: list[int] = []

        async def story(world: World) -> None:
            for number in range(policies):
                await world.client.create(
                    OVERRIDES, overriding(f"p{number}", {}, imageOverrider=tagged(f"{number}")), "default"
                )
            everywhere = policy("all", by_weight({"member1": 1, "member2": 1}))
            everywhere["spec"]["resourceSelectors"] = [{"apiVersion": "apps/v1", "kind": "Deployment"}]
            await apply(world.client, everywhere, *(deployment(f"app-{index}", 2, "nginx:v") for index in range(MOVED)))
            names = [f"app-{index}-deployment" for index in range(MOVED)]
            await world.until(lambda: all(len(world.assigned(name)) == 2 for name in names))
            await world.sleep(REST_SECONDS)
            accounts = Accounts(world, QUICK)
            await world.member("member1").stop()
            await world.until(lambda: all(has_moved(world, name) for name in names))
            await world.sleep(60)
            assert (await images(world, "app-0"))["member2"] == f"nginx:v{''.join(map(str, range(policies)))}"
            events = sum(count for kind, count in accounts.writes.items() if kind.endswith(" events"))
            of_clusters = sum(count for kind, count in accounts.writes.items() if "cluster-wide" in kind)
            others = accounts.writes.total() - events - of_clusters
            assert others / MOVED <= MOST_WRITES, accounts.writes
            counted.extend((others, events))

        play(story, {"member1": "Push", "member2": "Push"})
        return counted

    assert failed_over(10) == failed_over(0)


@pytest.mark.long
@in_world({"member1": "Push", "member2": "Push"})
async def test_s1_a_copy_is_not_given_up_for_one_that_cannot_be_overridden(world: World) -> None:
    """A cluster has died, and the override fails in the one that is to take the copy over."""
    one_of = {"minGroups": 1, "maxGroups": 1, "spreadByField": "cluster"}
    placement = {"clusterAffinity": {"clusterNames": list(world.members)}, "spreadConstraints": [one_of]}
    await apply(world.client, deployment("web", 2), policy("web", placement))
    await world.sleep(60)
    (first,) = world.assigned("web-deployment")
    others = [name for name in world.members if name != first]
    before = await identities(world, "web", [first])
    bad = overriding("bad", {"name": "web"}, only(*others), plaintext=replacing("/spec/nope", 1))
    await world.client.create(OVERRIDES, bad, "default")
    await world.member(first).stop()
    await world.until(lambda: bool(failure(world)))
    await world.sleep(1_200)
    assert first in tasks(world, "web-deployment"), "the eviction does not end without a replacement"
    assert await identities(world, "web", others) == {}
    await world.member(first).start()
    await world.sleep(1_200)
    assert await identities(world, "web", [first]) == before
    assert await ready_replicas(world, first, "web") == 2

    await world.client.delete(OVERRIDES, "bad", "default")
    await world.sleep(1_200)
    assert failure(world) == ""
    running = [await ready_replicas(world, name, "web") for name in world.members]
    assert sorted(running) == [-1, 2]


@in_world({"member1": "Push", "member2": "Push", "member3": "Push"})
async def test_l2_a_failover_between_others_finishes_while_one_cannot_be_overridden(world: World) -> None:
    two_of = {"minGroups": 2, "maxGroups": 2, "spreadByField": "cluster"}
    placement = {"clusterAffinity": {"clusterNames": list(world.members)}, "spreadConstraints": [two_of]}
    await apply(world.client, deployment("web", 2), policy("web", placement))
    await world.sleep(60)
    stays, leaves = sorted(world.assigned("web-deployment"))
    (takes,) = set(world.members) - {stays, leaves}
    before = await identities(world, "web", [stays])
    bad = overriding("bad", {"name": "web"}, only(stays), plaintext=replacing("/spec/nope", 1))
    await world.client.create(OVERRIDES, bad, "default")
    await world.member(leaves).stop()
    await world.until(lambda: takes in world.assigned("web-deployment"))
    await world.until(lambda: tasks(world, "web-deployment") == [], 120)
    assert failure(world).startswith(f"Left as it is in {stays}: ")
    assert await ready_replicas(world, takes, "web") == 2
    assert await identities(world, "web", [stays]) == before
