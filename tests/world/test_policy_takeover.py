"""A policy that takes over what another has claimed, and one that waits until users change what it claims."""

from collections.abc import Iterable
from typing import Any

import pytest

from kubeapi.core import EVENTS
from kubeapi.meta import Manifest, labels_of
from kubeapi.resource import Resource
from leeward.api.names import LAZY_DIGEST_ANNOTATION, POLICY_ID_LABEL, POLICY_NAME_ANNOTATION
from leeward.api.resource import CLUSTER_RESOURCE_BINDINGS, RESOURCE_BINDINGS
from leeward.manager.gates import FeatureGates
from leeward.manager.settings import ManagerSettings
from leeward.sim.world import Mode, World
from tests.security.worlds import UnaskedWorld, play_in
from tests.world.stories import (
    DEPLOYMENTS,
    POLICIES,
    apply,
    deployment,
    identities,
    in_world,
    play,
    policy,
    ready_replicas,
)

TWO: dict[str, Mode] = {"member1": "Push", "member2": "Push"}
WEB = "web-deployment"
CLUSTER_POLICIES = Resource.of_manifests(
    POLICIES.api_version, "clusterpropagationpolicies", "ClusterPropagationPolicy", False
)
PREEMPTION = ManagerSettings(gates=FeatureGates({"PropagationPolicyPreemption": True}))


def named(name: str, cluster: str, **spec: Any) -> Manifest:
    """A policy that puts the Deployment `web` into a cluster."""
    made = policy("web", {"clusterAffinity": {"clusterNames": [cluster]}})
    made["metadata"]["name"] = name
    made["spec"] |= spec
    return made


async def told(world: World, reason: str) -> list[str]:
    events = (await world.client.list(EVENTS, "default")).items
    return [event.message for event in events if event.reason == reason]


async def claimant(world: World) -> str:
    template = await world.client.get(DEPLOYMENTS, "web", "default")
    return template["metadata"]["annotations"].get(POLICY_NAME_ANNOTATION, "")


@pytest.mark.parametrize(
    ("manager", "spec", "takes"),
    [
        (PREEMPTION, {"preemption": "Always", "priority": 2}, True),
        (PREEMPTION, {"preemption": "Always", "priority": 1}, False),
        (PREEMPTION, {"preemption": "Never", "priority": 2}, False),
        (None, {"preemption": "Always", "priority": 2}, False),
    ],
    ids=["greater", "as great", "modest", "without the gate"],
)
def test_a_policy_of_greater_priority_takes_over_where_it_asks_for_it(
    manager: ManagerSettings | None, spec: dict[str, Any], takes: bool
) -> None:
    async def story(world: World) -> None:
        await apply(world.client, deployment("web", 1), named("first", "member1", priority=1))
        await world.until(lambda: set(world.assigned(WEB)) == {"member1"}, 30)
        await apply(world.client, named("second", "member2", **spec))
        await world.sleep(30)
        assert await claimant(world) == ("second" if takes else "first")
        assert set(world.assigned(WEB)) == {"member2" if takes else "member1"}
        said = "Propagation policy(default/second) preempted propagation policy(default/first) successfully"
        assert await told(world, "PreemptPolicySucceed") == ([said] if takes else [])

    play(story, TWO, manager=manager)


CLUSTER_ROLES = Resource.of_manifests("rbac.authorization.k8s.io/v1", "clusterroles", "ClusterRole", False)


def marks(labels_and_annotations: Iterable[str]) -> set[str]:
    return {name for name in labels_and_annotations if "propagationpolicy." in name}


@pytest.mark.parametrize("kind", ["PropagationPolicy", "ClusterPropagationPolicy"])
def test_a_binding_whose_policy_is_deleted_has_no_mark_of_it_and_stays_where_it_is(kind: str) -> None:
    """The cluster-scoped template has a ClusterResourceBinding."""
    policies, namespace = (POLICIES, "default") if kind == "PropagationPolicy" else (CLUSTER_POLICIES, "")
    made: Manifest = {**named("first", "member1"), "kind": kind}
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "name": "reader"}
    if not namespace:
        made["spec"]["resourceSelectors"].append(role)

    async def marked(world: World) -> dict[str, set[str]]:
        bound = (await world.client.list(RESOURCE_BINDINGS)).items
        wide = (await world.client.list(CLUSTER_RESOURCE_BINDINGS)).items
        return {each.name: marks([*each.metadata.labels, *each.metadata.annotations]) for each in (*bound, *wide)}

    async def story(world: World) -> None:
        await world.client.create(CLUSTER_ROLES, {"metadata": {"name": "reader"}, "rules": []})
        await apply(world.client, deployment("web", 1))
        await world.client.create(policies, made, namespace)
        await world.sleep(30)
        names = {WEB} if namespace else {WEB, "reader-clusterrole"}
        before = await marked(world)
        assert set(before) == names
        assert all(len(each) == (3 if namespace else 2) for each in before.values())
        await world.client.patch(RESOURCE_BINDINGS, WEB, {"metadata": {"labels": {"team": "shop"}}}, "default")
        there = await identities(world, "web")
        await world.client.delete(policies, "first", namespace)
        await world.sleep(30)
        assert await marked(world) == {name: set() for name in names}
        assert (await world.client.get(RESOURCE_BINDINGS, WEB, "default")).metadata.labels["team"] == "shop"
        assert (set(world.assigned(WEB)), await identities(world, "web")) == ({"member1"}, there)
        await apply(world.client, named("second", "member2"))
        await world.sleep(30)
        assert set(world.assigned(WEB)) == {"member2"}

    play(story, TWO)


@in_world(TWO, manager=PREEMPTION)
async def test_what_was_claimed_by_greater_priority_is_taken_over_when_that_is_lowered(world: World) -> None:
    await apply(world.client, deployment("web", 1), named("first", "member1", priority=3))
    await world.until(lambda: set(world.assigned(WEB)) == {"member1"}, 30)
    await apply(world.client, named("second", "member2", preemption="Always", priority=2))
    await world.sleep(30)
    assert await claimant(world) == "first"
    await world.client.patch(POLICIES, "first", {"spec": {"priority": 1}}, "default")
    await world.until(lambda: set(world.assigned(WEB)) == {"member2"}, 30)


def lazy(cluster: str) -> Manifest:
    return named("first", cluster, activationPreference="Lazy")


def moved_to(cluster: str) -> Manifest:
    return {"spec": {"placement": {"clusterAffinity": {"clusterNames": [cluster]}}}}


@in_world(TWO)
async def test_a_change_of_a_lazy_policy_waits_until_a_user_changes_the_template(world: World) -> None:
    await apply(world.client, lazy("member1"))
    await world.sleep(5)
    await apply(world.client, deployment("web", 1))
    await world.until(lambda: set(world.assigned(WEB)) == {"member1"}, 30)
    await world.client.patch(POLICIES, "first", moved_to("member2"), "default")
    await world.sleep(60)
    await world.stop_controllers()
    world.start_controllers()
    await world.sleep(60)
    assert set(world.assigned(WEB)) == {"member1"}, "nor does a restart make it take effect"
    await world.client.patch(DEPLOYMENTS, "web", {"metadata": {"labels": {"tier": "front"}}}, "default")
    await world.until(lambda: set(world.assigned(WEB)) == {"member2"}, 60)
    await world.sleep(30)
    copy = await world.member("member2").client.get(DEPLOYMENTS, "web", "default")
    assert labels_of(copy)["tier"] == "front"
    assert LAZY_DIGEST_ANNOTATION not in copy["metadata"]["annotations"]


@in_world(TWO)
async def test_what_was_there_before_a_lazy_policy_waits_for_a_user(world: World) -> None:
    await apply(world.client, deployment("web", 1))
    await world.sleep(5)
    await apply(world.client, lazy("member1"))
    await world.sleep(60)
    assert world.binding(WEB) is None
    assert await claimant(world) == "first"
    await world.client.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 2}}, "default")
    await world.until(lambda: world.assigned(WEB) == {"member1": 2}, 60)


@in_world(TWO)
async def test_a_binding_that_somebody_deletes_is_made_again_at_once(world: World) -> None:
    await apply(world.client, lazy("member1"))
    await world.sleep(5)
    await apply(world.client, deployment("web", 1))
    await world.until(lambda: set(world.assigned(WEB)) == {"member1"}, 30)
    found = world.binding(WEB)
    assert found is not None
    await world.client.delete(RESOURCE_BINDINGS, WEB, "default")
    await world.sleep(60)
    again = world.binding(WEB)
    assert again is not None
    assert again.metadata.uid != found.metadata.uid
    assert set(world.assigned(WEB)) == {"member1"}


@in_world(TWO)
async def test_a_policy_that_is_lazy_no_more_takes_effect_at_once(world: World) -> None:
    await apply(world.client, deployment("web", 1))
    await world.sleep(5)
    await apply(world.client, lazy("member1"))
    await world.sleep(30)
    await world.client.patch(POLICIES, "first", {"spec": {"activationPreference": None}}, "default")
    await world.until(lambda: set(world.assigned(WEB)) == {"member1"}, 60)
    template = await world.client.get(DEPLOYMENTS, "web", "default")
    assert LAZY_DIGEST_ANNOTATION not in template["metadata"]["annotations"]


def test_s5_what_was_claimed_by_a_policy_that_cannot_be_read_is_taken_over_by_no_other() -> None:
    """This holds also for controllers that have never read it: they would see only the one that selects everything."""

    async def story(world: World) -> None:
        wanted = policy("web", {"clusterAffinity": {"clusterNames": ["member1"]}})
        wanted["metadata"]["labels"] = {POLICY_ID_LABEL: "0001"}
        await apply(world.client, deployment("web", 2), wanted)
        await world.sleep(60)
        before = await identities(world, "web")
        assert list(before) == ["member1"]
        everything = [{"apiVersion": "apps/v1", "kind": "Deployment"}]
        spec = {"resourceSelectors": everything, "placement": {"clusterAffinity": {"clusterNames": ["member2"]}}}
        await world.client.create(CLUSTER_POLICIES, {"metadata": {"name": "all"}, "spec": spec})
        await world.client.patch(POLICIES, "web", {"spec": {"priority": 1.0}}, "default")
        await world.stop_controllers()
        world.start_controllers()
        await world.sleep(120)
        assert await identities(world, "web") == before
        (why,) = await told(world, "ApplyPolicyFailed")
        assert "PropagationPolicy default/web, which has claimed it, cannot be read" in why
        await world.client.patch(POLICIES, "web", {"spec": {"priority": 2}}, "default")
        await world.client.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 3}}, "default")
        await world.sleep(60)
        assert await ready_replicas(world, "member1", "web") == 3
        await world.client.patch(POLICIES, "web", {"spec": {"priority": 1.0}}, "default")
        await world.stop_controllers()
        await world.client.delete(POLICIES, "web", "default")
        world.start_controllers()
        await world.sleep(60)
        assert list(await identities(world, "web")) == ["member2"], "a deletion is none of that"

    play_in(UnaskedWorld, story, {"member1": "Push", "member2": "Push"})
