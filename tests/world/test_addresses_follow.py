"""Addresses of Services and Ingresses follow what serves behind them, so that whatever reads the control plane does."""

from collections.abc import Mapping
from typing import Any

import pytest

from kubeapi.core import EVENTS
from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubecluster.rules.load_balancer import load_balancer_range
from leeward.api.names import ALL_ADDRESSES_ANNOTATION
from leeward.api.resource import CLUSTERS
from leeward.runtime.sharding import Sharding
from leeward.sim.world import Mode, World
from simulator.candidate import Candidate, ShardCandidate
from tests.world.stories import DEPLOYMENTS, POLICIES, apply, by_weight, deployment, in_world, policy, ready_replicas
from tests.world.test_writes import Accounts

TWO: dict[str, Mode] = {"member1": "Push", "member2": "Pull"}
SEVEN: dict[str, Mode] = {f"member{number}": "Push" for number in range(1, 8)}
WEB = "web-deployment"
SERVICES = Resource.of_manifests("v1", "services", "Service", True)
INGRESSES = Resource.of_manifests("networking.k8s.io/v1", "ingresses", "Ingress", True)
ONE: Manifest = {
    "clusterAffinity": {"clusterNames": ["member1", "member2"]},
    "spreadConstraints": [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}],
    "replicaScheduling": {"replicaSchedulingType": "Duplicated"},
}
EVERYWHERE: Manifest = {"replicaScheduling": {"replicaSchedulingType": "Duplicated"}}


def service(**spec: Any) -> Manifest:
    ports = [{"name": "http", "port": 80}]
    return {
        "metadata": {"name": "web"},
        "spec": {"type": "LoadBalancer", "selector": {"app": "web"}, "ports": ports, **spec},
    }


INGRESS: Manifest = {
    "metadata": {"name": "web"},
    "spec": {"defaultBackend": {"service": {"name": "web", "port": {"number": 80}}}},
}


async def lead(
    world: World,
    placement: Manifest,
    made: Manifest | None = None,
    annotations: Mapping[str, str] | None = None,
    ingress: Manifest = INGRESS,
) -> None:
    """An application with a Service and an Ingress in every cluster."""
    leading = policy("leading", EVERYWHERE, "Service", "v1")
    leading["metadata"]["annotations"] = dict(annotations or {})
    selected = {"apiVersion": INGRESSES.api_version, "kind": INGRESSES.kind}
    leading["spec"]["resourceSelectors"] = [{"apiVersion": "v1", "kind": "Service"}, selected]
    await world.client.create(SERVICES, made or service(), "default")
    await world.client.create(INGRESSES, ingress, "default")
    await world.client.create(POLICIES, leading, "default")
    await apply(world.client, policy("web", placement), deployment("web", 4))
    await world.sleep(60)


async def led_to(world: World, resource: Resource[Manifest] = SERVICES) -> set[str]:
    """Clusters whose addresses the template lists."""
    return clusters_of(world, await world.client.get(resource, "web", "default"))


def clusters_of(world: World, template: Manifest) -> set[str]:
    """Clusters whose addresses a template lists."""
    listed = [entry["ip"] for entry in template.get("status", {}).get("loadBalancer", {}).get("ingress", [])]
    ranges = {name: load_balancer_range(name).rsplit(".", 1)[0] + "." for name in world.members}
    return {name for name, prefix in ranges.items() for address in listed if address.startswith(prefix)}


@pytest.mark.parametrize("resource", [SERVICES, INGRESSES])
@in_world(TWO)
async def test_an_address_leaves_with_what_serves_behind_it_and_comes_back(
    world: World, resource: Resource[Manifest]
) -> None:
    await lead(world, by_weight({"member1": 1, "member2": 1}))
    assert await led_to(world, resource) == {"member1", "member2"}
    await world.member("member1").stop()
    await world.until(lambda: not world.is_ready("member1"))
    await world.sleep(30)
    assert await led_to(world, resource) == {"member2"}
    told = [e.message for e in (await world.client.list(EVENTS, "default")).items if e.reason == "AddressesFollow"]
    assert any("(member1): no replica behind it serves there" in message for message in told)
    await world.sleep(1200)
    assert world.assigned(WEB) == {"member2": 4}
    assert await led_to(world, resource) == {"member2"}
    await world.member("member1").start()
    await world.until(lambda: world.is_ready("member1"))
    await world.sleep(60)
    assert await led_to(world, resource) == {"member2"}, "nothing serves in member1 since it has moved"
    await world.client.patch(POLICIES, "web", {"spec": {"placement": by_weight({"member1": 1})}}, "default")
    await world.sleep(60)
    assert world.assigned(WEB) == {"member1": 4}
    assert await led_to(world, resource) == {"member1"}


@in_world(TWO)
async def test_an_application_in_one_cluster_has_the_address_of_that_one(world: World) -> None:
    await lead(world, ONE)
    (home,) = world.assigned(WEB)
    (other,) = set(TWO) - {home}
    assert await led_to(world) == {home}
    await world.member(home).stop()
    await world.until(lambda: not world.is_ready(home))
    await world.sleep(30)
    assert await led_to(world) == {home}, "nobody serves anywhere: the last address stays"
    await world.until(lambda: set(world.assigned(WEB)) == {other}, 1200)
    await world.sleep(60)
    assert await led_to(world) == {other}


@in_world(TWO)
async def test_a_drain_ends_with_the_address_of_what_serves_then(world: World) -> None:
    await lead(world, by_weight({"member1": 1, "member2": 1}))
    seen: list[set[str]] = []
    await world.client.patch(POLICIES, "web", {"spec": {"placement": by_weight({"member2": 1})}}, "default")
    for _ in range(60):
        await world.sleep(1)
        seen.append(await led_to(world))
    assert all("member2" in each for each in seen)
    assert seen[-1] == {"member2"}


@in_world(TWO)
async def test_a_drain_that_takes_the_service_too_leads_to_no_cluster_before_a_replica_is_ready_there(
    world: World,
) -> None:
    terms = [{"affinityName": name, "clusterNames": [name]} for name in TWO]
    dividing = {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"}
    await lead(world, {"clusterAffinities": terms, "replicaScheduling": dividing})
    assert await led_to(world) == {"member1"}
    taint = {"key": "leeward.dev/drain", "effect": "NoExecute"}
    await world.client.patch(CLUSTERS, "member1", {"spec": {"taints": [taint]}})
    seen = set[tuple[frozenset[str], frozenset[str]]]()
    for _ in range(300):
        await world.sleep(0.1)
        serve = frozenset([name for name in TWO if await ready_replicas(world, name, "web") > 0])
        seen.add((frozenset(await led_to(world)), serve))
    assert all(listed <= serve for listed, serve in seen)
    assert {listed for listed, _ in seen} == {frozenset({"member1"}), frozenset({"member2"})}


@pytest.mark.long
@in_world(TWO)
async def test_each_address_of_many_leaves_before_the_last_replica_though_the_server_is_slow(world: World) -> None:
    """A drain of one cluster: the control plane takes a write of 80 ms at a time."""
    names = [f"app-{number}" for number in range(30)]

    async def listed(world: World) -> dict[str, set[str]]:
        services = (await world.client.list(SERVICES, "default")).items
        return {each["metadata"]["name"]: clusters_of(world, each) for each in services}

    async def serving(world: World, member: str) -> set[str]:
        copies = (await world.member(member).client.list(DEPLOYMENTS, "default")).items
        return {each["metadata"]["name"] for each in copies if each.get("status", {}).get("readyReplicas")}

    terms = [{"affinityName": name, "clusterNames": [name]} for name in TWO]
    dividing = {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"}
    both = policy("both", {"clusterAffinities": terms, "replicaScheduling": dividing})
    both["spec"]["resourceSelectors"] = [{"apiVersion": "apps/v1", "kind": "Deployment"}]
    leading = policy("leading", EVERYWHERE, "Service", "v1")
    leading["spec"]["resourceSelectors"] = [{"apiVersion": "v1", "kind": "Service"}]
    await world.client.create(POLICIES, leading, "default")
    await apply(world.client, both, *(deployment(name, 1) for name in names))
    for name in names:
        made = service(selector={"app": name})
        await world.client.create(SERVICES, {**made, "metadata": {"name": name}}, "default")
    await world.sleep(120)
    assert await listed(world) == {name: {"member1"} for name in names}
    Accounts(world, 0.08)
    taint = {"key": "leeward.dev/drain", "effect": "NoExecute"}
    await world.client.patch(CLUSTERS, "member1", {"spec": {"taints": [taint]}})
    for _ in range(600):
        await world.sleep(0.5)
        listing = await listed(world)
        there = {member: await serving(world, member) for member in TWO}
        assert all(listing.values()), "some address is listed all the time"
        assert all(name in there[member] for name in names for member in listing[name])
        if not there["member1"]:
            break
    assert await listed(world) == {name: {"member2"} for name in names}


@in_world(SEVEN)
async def test_under_the_brake_no_address_leaves(world: World) -> None:
    await lead(world, by_weight(dict.fromkeys(SEVEN, 1)))
    everywhere = await led_to(world)
    assert everywhere == {name for name in SEVEN if name in world.assigned(WEB)}
    for name in list(SEVEN)[:6]:
        world.member(name).pause()
    await world.sleep(900)
    assert await led_to(world) == everywhere


@in_world(TWO)
async def test_a_new_release_takes_no_address_off(world: World) -> None:
    """A report of another generation says nothing, and unknown is not gone."""
    await lead(world, by_weight({"member1": 1, "member2": 1}))
    seen: list[set[str]] = []
    for release in range(3):
        changed = deployment("web", 4, f"nginx:1.{release}")["spec"]["template"]
        await world.client.patch(DEPLOYMENTS, "web", {"spec": {"template": changed}}, "default")
        for _ in range(40):
            await world.sleep(0.25)
            seen.append(await led_to(world))
    assert all(each == {"member1", "member2"} for each in seen)


@pytest.mark.parametrize("made", [service(selector={}), service(selector={"app": "of-the-member-alone"})])
@in_world(TWO)
async def test_where_no_workload_is_known_all_addresses_are_listed(world: World, made: Manifest) -> None:
    await lead(world, by_weight({"member1": 1}), made)
    assert await led_to(world) == {"member1", "member2"}


@in_world(TWO)
async def test_a_policy_may_ask_for_all_addresses(world: World) -> None:
    await lead(world, by_weight({"member1": 1}), annotations={ALL_ADDRESSES_ANNOTATION: "true"})
    assert await led_to(world) == {"member1", "member2"}


@in_world(TWO)
async def test_a_new_leader_lists_the_same_addresses_and_writes_nothing(world: World) -> None:
    await lead(world, by_weight({"member1": 1}))
    before = await world.client.get(SERVICES, "web", "default")
    assert await led_to(world) == {"member1"}
    await world.stop_controllers()
    await world.sleep(30)
    world.start_controllers()
    await world.sleep(60)
    after = await world.client.get(SERVICES, "web", "default")
    assert after["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]


@in_world(TWO)
async def test_addresses_follow_workloads_of_other_shards(world: World) -> None:
    await world.stop_controllers()
    sharding = Sharding(3)
    candidates: list[Candidate | ShardCandidate] = [Candidate(world, "leader", lambda name, result: None, sharding)]
    candidates += [ShardCandidate(world, f"s{n}", lambda name, result: None, n, sharding) for n in range(3)]
    for candidate in candidates:
        candidate.start()
    await world.sleep(40)
    await lead(world, ONE)
    (home,) = world.assigned(WEB)
    (other,) = set(TWO) - {home}
    assert await led_to(world) == {home}
    moved = {**ONE, "clusterAffinity": {"clusterNames": [other]}}
    await world.client.patch(POLICIES, "web", {"spec": {"placement": moved}}, "default")
    await world.sleep(120)
    assert await led_to(world) == {other}


@in_world(TWO)
async def test_an_ingress_with_a_service_of_unknown_workloads_lists_all_addresses(world: World) -> None:
    """The Pods of an operator serve behind one of its two Services."""
    paths = [
        {"path": f"/{name}", "pathType": "Prefix", "backend": {"service": {"name": name, "port": {"number": 80}}}}
        for name in ("web", "api")
    ]
    ingress: Manifest = {"metadata": {"name": "web"}, "spec": {"rules": [{"http": {"paths": paths}}]}}
    api = service(selector={"app": "operated"}, type="ClusterIP")
    await world.client.create(SERVICES, {**api, "metadata": {"name": "api"}}, "default")
    await lead(world, by_weight({"member1": 1}), ingress=ingress)
    assert await led_to(world, INGRESSES) == {"member1", "member2"}
    assert await led_to(world) == {"member1"}
