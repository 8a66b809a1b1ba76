"""Webhook configurations that are propagated bind the members they go to, and not the control plane they lie in."""

import pytest

from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeclient import ApiError
from leeward.sim.world import World
from tests.variants import mostly_long
from tests.world.stories import CONFIG_MAPS, apply, by_weight, deployment, identities, in_world, policy, ready_replicas
from tests.world.test_kinds import CLUSTER_POLICIES, SERVICES, selecting

_GROUP = "admissionregistration.k8s.io/v1"
MUTATING = Resource.of_manifests(_GROUP, "mutatingwebhookconfigurations", "MutatingWebhookConfiguration", False)
VALIDATING = Resource.of_manifests(_GROUP, "validatingwebhookconfigurations", "ValidatingWebhookConfiguration", False)
CLUSTER_OVERRIDES = Resource.of_manifests(
    "policy.karmada.io/v1alpha1", "clusteroverridepolicies", "ClusterOverridePolicy", False
)
SLICES = Resource.of_manifests("discovery.k8s.io/v1", "endpointslices", "EndpointSlice", True)
SERVICE: Manifest = {
    "metadata": {"name": "guard"},
    "spec": {"selector": {"app": "guard"}, "ports": [{"name": "tls", "port": 443}]},
}


def guarding_everything() -> Manifest:
    """Webhook as engines of policies have it: every write of everything but themselves, and no answer is a refusal."""
    rule = {"apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"], "operations": ["*"]}
    webhook = {
        "name": "guard.example.com",
        "rules": [rule],
        "objectSelector": {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["guard"]}]},
        "clientConfig": {"service": {"namespace": "default", "name": "guard"}},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    return {"metadata": {"name": "guard"}, "webhooks": [webhook]}


def settings(name: str) -> Manifest:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}


async def is_blocked(world: World, name: str) -> bool:
    try:
        await world.client.create(CONFIG_MAPS, settings(name), "default")
    except ApiError as error:
        return "no endpoints available" in str(error)
    return False


@pytest.mark.long
@pytest.mark.parametrize("kind", mostly_long([VALIDATING, MUTATING], VALIDATING), ids=lambda kind: kind.kind)
@in_world()
async def test_a_propagated_webhook_that_guards_everything_neither_stops_the_control_plane_nor_a_failover(
    world: World,
    kind: Resource[Manifest],
) -> None:
    everywhere = ["member1", "member2", "member3"]
    await apply(world.client, deployment("web", 3), policy("web", by_weight({"member1": 1, "member2": 1})))
    await world.client.create(SERVICES, SERVICE, "default")
    await apply(world.client, deployment("guard", 3), policy("guard", by_weight(dict.fromkeys(everywhere, 1))))
    await world.client.create(CLUSTER_POLICIES, selecting(kind, "guard", *everywhere))
    service = selecting(SERVICES, "guard", *everywhere)
    service["metadata"]["name"] = "guard-service"
    await world.client.create(CLUSTER_POLICIES, service)
    await world.sleep(60)
    await world.client.create(kind, guarding_everything())
    assert not await is_blocked(world, "at-once"), "it is a template before its policy has claimed it"
    await world.sleep(60)
    assert set(await identities(world, "guard", resource=kind)) == set(everywhere)
    assert not await is_blocked(world, "later")
    await world.member("member1").stop()
    await world.until(lambda: "member1" not in world.assigned("web-deployment"), 1200)
    await world.sleep(60)
    assert await ready_replicas(world, "member2", "web") == 3


@in_world()
async def test_a_webhook_of_the_control_plane_itself_goes_on_to_refuse_when_it_is_away(world: World) -> None:
    await world.client.create(SERVICES, SERVICE, "default")
    narrow = guarding_everything()
    narrow["webhooks"][0]["rules"] = [
        {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE"]}
    ]
    await world.client.create(VALIDATING, narrow)
    assert await is_blocked(world, "a"), "nobody propagates it"
    await world.client.create(CLUSTER_POLICIES, selecting(VALIDATING, "guard", "member1"))
    assert not await is_blocked(world, "a")
    ready = {"addresses": ["10.0.0.1"], "conditions": {"ready": True}}
    metadata = {"name": "guard-1", "labels": {"kubernetes.io/service-name": "guard"}}
    ports = [{"name": "tls", "port": 443}]
    found = {"metadata": metadata, "addressType": "IPv4", "endpoints": [ready], "ports": ports}
    await world.client.create(SLICES, found, "default")
    with pytest.raises(ApiError, match="failed to call webhook"):
        await world.client.create(CONFIG_MAPS, settings("b"), "default")


@in_world()
async def test_a_template_that_no_server_asks_about_is_asked_about_in_members_after_an_override(world: World) -> None:
    """The way out on a kube-apiserver, which knows of no templates."""
    asleep = guarding_everything()
    asleep["webhooks"][0]["matchConditions"] = [{"name": "only-in-members", "expression": "false"}]
    selector = {"apiVersion": VALIDATING.api_version, "kind": VALIDATING.kind, "name": "guard"}
    woken = {"plaintext": [{"path": "/webhooks/0/matchConditions", "operator": "remove"}]}
    override = {"resourceSelectors": [selector], "overrideRules": [{"overriders": woken}]}
    await world.client.create(CLUSTER_OVERRIDES, {"metadata": {"name": "guard"}, "spec": override})
    await world.client.create(CLUSTER_POLICIES, selecting(VALIDATING, "guard", "member1"))
    await world.client.create(VALIDATING, asleep)
    await world.sleep(30)
    (webhook,) = (await world.member("member1").client.get(VALIDATING, "guard"))["webhooks"]
    assert "matchConditions" not in webhook
    assert webhook["failurePolicy"] == "Fail"
    (template,) = (await world.client.get(VALIDATING, "guard"))["webhooks"]
    assert template["matchConditions"] == asleep["webhooks"][0]["matchConditions"]
