"""Stored objects that cannot be read: each is named, none is taken for gone, and none holds up another."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from kubeapi.core import EVENTS
from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from leeward.api.resource import CLUSTERS, FEDERATED_RESOURCE_QUOTAS, RESOURCE_BINDINGS, WORKLOAD_REBALANCERS, WORKS
from leeward.operations.findings import Severity
from leeward.operations.status import look_at_fleet
from leeward.sim.world import Mode, World
from tests.security.worlds import UnaskedWorld, play_in
from tests.world.stories import DEPLOYMENTS, POLICIES, apply, by_weight, deployment, identities, policy
from tests.world.test_overrides import CRDS

THREE: Mapping[str, Mode] = {"member1": "Push", "member2": "Push", "member3": "Push"}
ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
FAILOVER_SECONDS = 900


def as_manifests(resource: Resource[Any]) -> Resource[Manifest]:
    return Resource.of_manifests(resource.api_version, resource.plural, resource.kind, resource.namespaced)


async def open_definitions(world: World, *resources: Resource[Any]) -> None:
    """Has the API server keep whatever the objects have, as a definition of another Karmada may."""
    for resource in resources:
        name = f"{resource.plural}.{resource.group}"
        definition = await world.client.get(CRDS, name)
        (version,) = definition["spec"]["versions"]
        properties = version["schema"]["openAPIV3Schema"]["properties"]
        properties |= {part: ANYTHING for part in ("spec", "status") if part in properties}
        await world.client.update(CRDS, definition, name)


async def spoil(world: World, resource: Resource[Any], name: str, spec: Manifest, namespace: str = "default") -> None:
    await world.client.patch(as_manifests(resource), name, {"spec": spec}, namespace if resource.namespaced else "")


async def told(world: World) -> dict[str, list[str]]:
    """Warnings that say that an object cannot be read, by the object."""
    found = dict[str, list[str]]()
    for event in (await world.client.list(EVENTS)).items:
        if event.reason == "CannotBeRead":
            about = event.involved_object
            found.setdefault(f"{about.kind}/{about.name}", []).append(event.message)
    return found


async def named(world: World) -> dict[str, tuple[str, str]]:
    """Findings of `leeward status` on such objects: sentence and next command by what they are about."""
    state = await look_at_fleet(world.client, world.clock)
    found = [each for each in state.findings if "cannot be read" in each.sentence]
    assert all(each.severity is Severity.NEEDS_SOMEBODY for each in found)
    return {each.about: (each.sentence, each.next) for each in found}


def play(story: Callable[[World], Awaitable[None]]) -> None:
    play_in(UnaskedWorld, story, THREE)


async def two_applications(world: World) -> None:
    pair = by_weight({"member1": 1, "member2": 1})
    for name in ("odd", "web"):
        placed = policy(name, {**pair, "clusterAffinity": {"clusterNames": list(THREE)}})
        placed["metadata"]["labels"] = {"propagationpolicy.karmada.io/permanent-id": f"id-{name}"}
        placed["spec"]["placement"]["clusterTolerations"] = [
            {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 60}
            for key in ("cluster.karmada.io/not-ready", "cluster.karmada.io/unreachable")
        ]
        placed["spec"]["resourceSelectors"][0]["namespace"] = "default"
        await apply(world.client, deployment(name, 4), placed)
    await world.until(lambda: world.assigned("odd-deployment") == {"member1": 2, "member2": 2}, 60)
    await world.until(lambda: world.assigned("web-deployment") == {"member1": 2, "member2": 2}, 60)
    await world.sleep(60)


def test_bindings_and_policies_that_cannot_be_read_are_named_and_hold_up_nobody() -> None:
    async def story(world: World) -> None:
        await two_applications(world)
        await open_definitions(world, RESOURCE_BINDINGS, POLICIES)
        failover: Manifest = {"application": {"decisionConditions": {}, "purgeMode": "Sometimes"}}
        await spoil(world, POLICIES, "odd", {"failover": failover})
        await spoil(world, RESOURCE_BINDINGS, "odd-deployment", {"failover": failover})
        await world.sleep(30)
        assert (await told(world)).keys() == {"ResourceBinding/odd-deployment", "PropagationPolicy/odd"}
        found = await named(world)
        sentence, next = found["resourcebinding/default/odd-deployment"]
        assert sentence == (
            "ResourceBinding default/odd-deployment cannot be read: spec.failover.application.purgeMode: Unsupported "
            'value: "Sometimes": supported values: "Directly", "Gracefully", "Never"; until it is mended nothing is '
            "placed, moved or failed over for it"
        )
        assert next == "kubectl edit resourcebindings.work.karmada.io odd-deployment -n default"
        assert "propagationpolicy/default/odd" in found

        await world.stop_controllers()
        world.start_controllers()
        await world.sleep(60)
        events = [e.message for e in (await world.client.list(EVENTS)).items if e.reason == "ApplyPolicyFailed"]
        assert any("default/odd" in message and "cannot be read" in message for message in events)
        before = await identities(world, "odd")
        await world.member("member1").stop()
        await world.sleep(FAILOVER_SECONDS)
        assert "member1" not in world.assigned("web-deployment")
        assert sum(world.assigned("web-deployment").values()) == 4
        assert await identities(world, "odd", ["member2"]) == {"member2": before["member2"]}
        await world.member("member1").start()
        await world.sleep(120)
        assert await identities(world, "odd") == before, "what cannot be read is not gone"
        raw = await world.client.get(as_manifests(RESOURCE_BINDINGS), "odd-deployment", "default")
        assert raw["spec"]["failover"] == failover

        for resource, name in ((POLICIES, "odd"), (RESOURCE_BINDINGS, "odd-deployment")):
            await spoil(world, resource, name, {"failover": None})
        await world.sleep(60)
        assert await named(world) == {}
        assert await identities(world, "odd") == before

    play(story)


def test_a_cluster_and_works_that_cannot_be_read_lose_nothing() -> None:
    async def story(world: World) -> None:
        await two_applications(world)
        before = {name: await identities(world, name) for name in ("odd", "web")}
        works = (await world.client.list(as_manifests(WORKS), "karmada-es-member2")).items
        work = next(each["metadata"]["name"] for each in works if each["metadata"]["name"].startswith("odd"))
        await open_definitions(world, CLUSTERS, WORKS)
        await spoil(world, CLUSTERS, "member2", {"syncMode": "Sideways"})
        await spoil(world, WORKS, work, {"suspendDispatching": "perhaps"}, "karmada-es-member2")
        await world.sleep(60)
        await world.stop_controllers()
        world.start_controllers()
        await world.sleep(FAILOVER_SECONDS)
        assert {name: await identities(world, name) for name in ("odd", "web")} == before
        assert {"Cluster/member2", f"Work/{work}"} <= (await told(world)).keys()
        found = await named(world)
        assert {"cluster/member2", f"work/karmada-es-member2/{work}"} <= found.keys()
        await spoil(world, CLUSTERS, "member2", {"syncMode": "Push"})
        await spoil(world, WORKS, work, {"suspendDispatching": None}, "karmada-es-member2")
        await world.sleep(120)
        assert await named(world) == {}
        for name, made in before.items():
            after = await identities(world, name)
            assert {member: uid for member, (uid, _) in after.items()} == {m: uid for m, (uid, _) in made.items()}
        await world.member("member2").stop()
        await world.sleep(FAILOVER_SECONDS)
        assert "member2" not in {*world.assigned("odd-deployment"), *world.assigned("web-deployment")}

    play(story)


def test_quotas_and_rebalancers_that_cannot_be_read_are_named() -> None:
    async def story(world: World) -> None:
        await open_definitions(world, FEDERATED_RESOURCE_QUOTAS, WORKLOAD_REBALANCERS)
        quota = {"metadata": {"name": "odd"}, "spec": {"overall": ["cpu"]}}
        await world.client.create(as_manifests(FEDERATED_RESOURCE_QUOTAS), quota, "default")
        rebalancer = {"metadata": {"name": "odd"}, "spec": {"workloads": "all"}}
        await world.client.create(as_manifests(WORKLOAD_REBALANCERS), rebalancer)
        await apply(world.client, deployment("web", 2))
        await world.sleep(30)
        assert (await told(world)).keys() == {"FederatedResourceQuota/odd", "WorkloadRebalancer/odd"}
        assert {"federatedresourcequota/default/odd", "workloadrebalancer/odd"} <= (await named(world)).keys()
        assert (await world.client.get(DEPLOYMENTS, "web", "default"))["metadata"]["name"] == "web"

    play(story)
