"""Gateways and routes of Gateway API: placed in clusters, judged there, and added up for readers of the hub."""

from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from leeward.sim.world import Mode, World
from tests.world.stories import POLICIES, apply, by_weight, deployment, in_world, policy, tasks
from tests.world.test_addresses_follow import EVERYWHERE, SERVICES, WEB, service
from tests.world.test_kinds import DEFINITIONS

TWO: dict[str, Mode] = {"member1": "Push", "member2": "Pull"}
GROUP = "gateway.networking.k8s.io"
GATEWAYS = Resource.of_manifests(f"{GROUP}/v1", "gateways", "Gateway", True)
ROUTES = Resource.of_manifests(f"{GROUP}/v1", "httproutes", "HTTPRoute", True)
CONDITIONS: Manifest = {
    "type": "array",
    "maxItems": 8,
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["type"],
    "items": {
        "type": "object",
        "required": ["type", "status", "reason", "message", "lastTransitionTime"],
        "properties": {
            **{name: {"type": "string"} for name in ("status", "type")},
            "message": {"type": "string", "maxLength": 32_768},
            "reason": {"type": "string", "minLength": 1},
            "lastTransitionTime": {"type": "string", "format": "date-time"},
            "observedGeneration": {"type": "integer", "format": "int64"},
        },
    },
}
OPEN: Manifest = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
PARENTS: Manifest = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["parentRef", "controllerName"],
        "properties": {"parentRef": OPEN, "controllerName": {"type": "string"}, "conditions": CONDITIONS},
    },
}
ADDRESSES: Manifest = {"type": "array", "items": OPEN}
STATUSES: dict[str, Manifest] = {
    "Gateway": {"conditions": CONDITIONS, "addresses": ADDRESSES},
    "HTTPRoute": {"parents": PARENTS},
}


def definition(resource: Resource[Manifest]) -> Manifest:
    """The definition that Gateway API has, with a schema of its status."""
    status = {"type": "object", "properties": STATUSES[resource.kind]}
    schema = {"type": "object", "properties": {"spec": OPEN, "status": status}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": resource.plural, "singular": resource.kind.lower(), "kind": resource.kind}
    spec = {"group": GROUP, "scope": "Namespaced", "names": names}
    return {
        "metadata": {
            "name": f"{resource.plural}.{GROUP}",
            "annotations": {"api-approved.kubernetes.io": "https://github.com/kubernetes-sigs/gateway-api/pull/2466"},
        },
        "spec": {**spec, "versions": [{**version, "subresources": {"status": {}}}]},
    }


async def lead(world: World, placement: Manifest, **listening: Manifest) -> None:
    """A Gateway and a route in clusters that have Gateway API."""
    for client in (world.client, *(world.member(name).client for name in world.members)):
        for resource in (GATEWAYS, ROUTES):
            await client.create(DEFINITIONS, definition(resource))
    await world.sleep(30)
    listener = {"name": "http", "port": 80, "protocol": "HTTP", **listening}
    edge = {"metadata": {"name": "edge"}, "spec": {"gatewayClassName": "envoy", "listeners": [listener]}}
    rules = [{"backendRefs": [{"name": "web", "port": 80}]}]
    spec = {"parentRefs": [{"name": "edge"}], "hostnames": ["web.example.com"], "rules": rules}
    route = {"metadata": {"name": "edge"}, "spec": spec}
    await world.client.create(GATEWAYS, edge, "default")
    await world.client.create(ROUTES, route, "default")
    leading = policy("edge", placement, "Gateway", GATEWAYS.api_version)
    leading["spec"]["resourceSelectors"].append({"apiVersion": ROUTES.api_version, "kind": "HTTPRoute"})
    await world.client.create(POLICIES, leading, "default")
    await world.sleep(60)


def condition(type_: str, seen: int, status: str = "True") -> Manifest:
    told = {"type": type_, "status": status, "reason": type_, "message": "", "observedGeneration": seen}
    return {**told, "lastTransitionTime": "2026-01-01T00:00:00Z"}


async def control(world: World, member: str, address: str, accepted: str = "True") -> None:
    """The member's gateway controller looks at both objects."""
    client = world.member(member).client
    for resource, types in ((GATEWAYS, ("Accepted", "Programmed")), (ROUTES, ("Accepted", "ResolvedRefs"))):
        found = await client.get(resource, "edge", "default")
        seen = found["metadata"]["generation"]
        told = [condition(type_, seen, accepted if type_ == "Accepted" else "True") for type_ in types]
        status: Manifest = {"conditions": told, "addresses": [{"type": "IPAddress", "value": address}]}
        if resource is ROUTES:
            reference = found["spec"]["parentRefs"][0]
            status = {"parents": [{"parentRef": reference, "controllerName": "example.com/edge", "conditions": told}]}
        await client.patch(resource, "edge", {"status": status}, "default", subresource="status")
    await world.sleep(30)


def accepts(route: Manifest) -> bool:
    """Tells whether external-dns publishes the hosts of a route: its parent has accepted the present generation."""
    parents = route.get("status", {}).get("parents", [])
    told = {each["type"]: each for parent in parents for each in parent["conditions"]}.get("Accepted", {})
    return (told.get("status"), told.get("observedGeneration")) == ("True", route["metadata"]["generation"])


async def published(world: World) -> list[str]:
    """Addresses that external-dns gives the host, from the control plane."""
    if not accepts(await world.client.get(ROUTES, "edge", "default")):
        return []
    gateway = await world.client.get(GATEWAYS, "edge", "default")
    return [each["value"] for each in gateway["status"]["addresses"]]


@in_world(TWO)
async def test_a_route_is_published_with_the_addresses_of_all_clusters_also_after_a_change(world: World) -> None:
    await lead(world, EVERYWHERE)
    assert await published(world) == []
    await control(world, "member1", "203.0.113.1")
    assert await published(world) == ["203.0.113.1"]
    await control(world, "member2", "203.0.113.2", accepted="False")
    assert await published(world) == ["203.0.113.1", "203.0.113.2"]
    (parent,) = (await world.client.get(ROUTES, "edge", "default"))["status"]["parents"]
    assert parent["conditions"][0]["message"] == "member1=, member2=False: "
    await world.client.patch(ROUTES, "edge", {"spec": {"hostnames": ["new.example.com"]}}, "default")
    await world.sleep(30)
    assert await published(world) == [], "nobody has looked at the change yet"
    await control(world, "member1", "203.0.113.1")
    assert await published(world) == ["203.0.113.1", "203.0.113.2"]


@in_world(TWO)
async def test_a_gateway_leaves_its_cluster_once_it_is_programmed_in_the_next_one(world: World) -> None:
    clusters = [{"affinityName": name, "clusterNames": [name]} for name in ("member1", "member2")]
    await lead(world, {"clusterAffinities": clusters})
    await control(world, "member1", "203.0.113.1")
    await world.member("member1").stop()
    await world.until(lambda: "member2" in world.assigned("edge-gateway"), 900)
    await world.sleep(60)
    assert tasks(world, "edge-gateway") == ["member1"], "nothing tells yet that it serves there"
    await control(world, "member2", "203.0.113.2")
    await world.until(lambda: not tasks(world, "edge-gateway"), 60)
    assert list(world.assigned("edge-gateway")) == ["member2"]


async def run_behind(world: World) -> None:
    """`web` in both clusters, behind a Service in each of them."""
    await world.client.create(SERVICES, service(type="ClusterIP"), "default")
    leading = policy("services", EVERYWHERE)
    leading["spec"]["resourceSelectors"] = [{"apiVersion": "v1", "kind": "Service"}]
    await world.client.create(POLICIES, leading, "default")
    await apply(world.client, policy("web", by_weight({"member1": 1, "member2": 1})), deployment("web", 4))
    await world.sleep(60)


@in_world(TWO)
async def test_the_address_of_a_cluster_leaves_the_gateway_with_what_serves_behind_its_routes(world: World) -> None:
    await run_behind(world)
    await lead(world, EVERYWHERE)
    for name, address in (("member1", "203.0.113.1"), ("member2", "203.0.113.2")):
        await control(world, name, address)
    assert await published(world) == ["203.0.113.1", "203.0.113.2"]
    await world.member("member1").stop()
    await world.until(lambda: not world.is_ready("member1"))
    await world.sleep(30)
    assert await published(world) == ["203.0.113.2"]
    await world.member("member1").start()
    await world.until(lambda: world.is_ready("member1"))
    await world.sleep(60)
    assert world.assigned(WEB) == {"member1": 2, "member2": 2}
    assert await published(world) == ["203.0.113.1", "203.0.113.2"]
    rules = [{"backendRefs": [{"name": "elsewhere", "port": 80}]}]
    await world.client.patch(POLICIES, "web", {"spec": {"placement": by_weight({"member2": 1})}}, "default")
    await world.sleep(60)
    assert await published(world) == ["203.0.113.2"]
    await world.client.patch(ROUTES, "edge", {"spec": {"rules": rules}}, "default")
    await world.sleep(30)
    gateway = await world.client.get(GATEWAYS, "edge", "default")
    assert len(gateway["status"]["addresses"]) == 2, "nobody knows what serves behind it"


@in_world(TWO)
async def test_a_gateway_for_routes_of_all_namespaces_lists_all_addresses(world: World) -> None:
    await run_behind(world)
    await lead(world, EVERYWHERE, allowedRoutes={"namespaces": {"from": "All"}})
    for name, address in (("member1", "203.0.113.1"), ("member2", "203.0.113.2")):
        await control(world, name, address)
    await world.member("member1").stop()
    await world.until(lambda: not world.is_ready("member1"))
    await world.sleep(30)
    assert await published(world) == ["203.0.113.1", "203.0.113.2"]
