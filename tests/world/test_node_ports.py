"""Node ports that the control plane gave out mean nothing in a member, which chooses and keeps its own."""

from typing import Any

import pytest

from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from leeward.api.names import execution_space
from leeward.api.resource import WORKS
from leeward.sim.world import Mode, World
from tests.world.stories import POLICIES, identities, in_world

TWO: dict[str, Mode] = {"member1": "Push", "member2": "Pull"}
SERVICES = Resource.of_manifests("v1", "services", "Service", True)
OVERRIDES = Resource.of_manifests("policy.karmada.io/v1alpha1", "overridepolicies", "OverridePolicy", True)
LOAD_BALANCED = {"type": "LoadBalancer", "externalTrafficPolicy": "Local"}
Ports = dict[int, int]


def service(*ports: Manifest, **spec: Any) -> Manifest:
    return {
        "metadata": {"name": "web"},
        "spec": {"type": "NodePort", "selector": {"app": "web"}, "ports": list(ports), **spec},
    }


def http(**more: Any) -> Manifest:
    return {"name": "http", "port": 80, **more}


async def propagate(world: World, made: Manifest) -> None:
    await world.client.create(SERVICES, made, "default")
    spec: Manifest = {"resourceSelectors": [{"apiVersion": "v1", "kind": "Service"}], "placement": {}}
    await world.client.create(POLICIES, {"metadata": {"name": "all"}, "spec": spec}, "default")
    await world.sleep(15)


async def found(world: World, member: str = "") -> Manifest:
    client = world.member(member).client if member else world.client
    return (await client.get(SERVICES, "web", "default"))["spec"]


async def ports(world: World, member: str = "") -> Ports:
    return {port["port"]: port.get("nodePort", 0) for port in (await found(world, member))["ports"]}


async def given(world: World) -> list[Ports]:
    return [await ports(world, name) for name in TWO]


async def occupy(world: World, member: str, port: int) -> None:
    """A Service of the member's own has this port."""
    own = {"metadata": {"name": f"own-{port}"}, "spec": {"type": "NodePort", "ports": [{"port": 1, "nodePort": port}]}}
    await world.member(member).client.create(SERVICES, own, "default")


def applied(world: World) -> dict[str, bool]:
    binding = world.binding("web-service")
    return {item.cluster_name: bool(item.applied) for item in binding.status.aggregated_status} if binding else {}


@pytest.mark.parametrize("more", [{}, LOAD_BALANCED], ids=["NodePort", "LoadBalancer"])
@in_world(TWO)
async def test_a_member_that_has_given_the_port_away_chooses_another(world: World, more: Manifest) -> None:
    made = await world.client.create(SERVICES, service(http(), **more), "default")
    asked = [made["spec"]["ports"][0]["nodePort"], made["spec"].get("healthCheckNodePort", 0)]
    assert min(asked[0], asked[1] or asked[0]) >= 30086, "those below are for who asks for one by hand"
    for port in filter(None, asked):
        await occupy(world, "member1", port)
    spec: Manifest = {"resourceSelectors": [{"apiVersion": "v1", "kind": "Service"}], "placement": {}}
    await world.client.create(POLICIES, {"metadata": {"name": "all"}, "spec": spec}, "default")
    await world.sleep(15)
    assert applied(world) == {"member1": True, "member2": True}
    first = await given(world)
    assert all(each[80] and each[80] != asked[0] for each in first[:1])
    health = [(await found(world, name)).get("healthCheckNodePort", 0) for name in TWO]
    await world.client.patch(SERVICES, "web", {"spec": {"sessionAffinity": "ClientIP"}}, "default")
    await world.sleep(15)
    assert await given(world) == first
    assert [(await found(world, name)).get("healthCheckNodePort", 0) for name in TWO] == health
    assert [(await found(world, name))["sessionAffinity"] for name in TWO] == ["ClientIP"] * 2
    (work,) = (await world.client.list(WORKS, "karmada-es-member1")).items
    assert "nodePort" not in work.spec.workload.manifests[0]["spec"]["ports"][0]


@in_world(TWO)
async def test_a_port_that_somebody_asked_for_is_passed_on_also_when_it_is_asked_for_later(world: World) -> None:
    await propagate(world, service(http(nodePort=30007), {"name": "more", "port": 81}))
    first = await given(world)
    assert [each[80] for each in first] == [30007, 30007]
    assert all(each[81] not in (0, 30007) for each in first)
    wanted = [http(nodePort=30007), {"name": "more", "port": 81, "nodePort": 30008}]
    await world.client.patch(SERVICES, "web", {"spec": {"ports": wanted}}, "default")
    await world.sleep(15)
    assert await given(world) == [{80: 30007, 81: 30008}] * 2


@in_world(TWO)
async def test_one_that_the_member_has_chosen_for_another_port_goes_to_who_asks_for_it(world: World) -> None:
    await propagate(world, service(http(), {"name": "more", "port": 81}))
    chosen = (await ports(world, "member1"))[81]
    wanted = [http(nodePort=chosen), {"name": "more", "port": 81}]
    await world.client.patch(SERVICES, "web", {"spec": {"ports": wanted}}, "default")
    await world.sleep(15)
    after = await ports(world, "member1")
    assert after[80] == chosen
    assert after[81] not in (0, chosen)


@in_world(TWO)
async def test_a_choice_is_kept_while_ports_and_types_change(world: World) -> None:
    await propagate(world, service(http()))
    first = await given(world)
    await world.client.patch(SERVICES, "web", {"spec": {"type": "LoadBalancer"}}, "default")
    await world.sleep(15)
    assert await given(world) == first
    await world.client.patch(SERVICES, "web", {"spec": {"ports": [{"name": "http", "port": 8080}]}}, "default")
    await world.sleep(15)
    assert await given(world) == [{8080: each[80]} for each in first]
    shut = {"spec": {"type": "ClusterIP", "ports": [{"name": "http", "port": 8080}]}}
    await world.client.patch(SERVICES, "web", shut, "default")
    await world.sleep(15)
    assert await given(world) == [{8080: 0}] * 2
    assert applied(world) == {"member1": True, "member2": True}


@in_world(TWO)
async def test_an_override_sets_a_port_for_one_cluster(world: World) -> None:
    place = {"path": "/spec/ports/0/nodePort", "operator": "replace", "value": 30009}
    rule = {"targetCluster": {"clusterNames": ["member1"]}, "overriders": {"plaintext": [place]}}
    spec = {"resourceSelectors": [{"apiVersion": "v1", "kind": "Service"}], "overrideRules": [rule]}
    await world.client.create(OVERRIDES, {"metadata": {"name": "port"}, "spec": spec}, "default")
    await propagate(world, service(http()))
    assert (await ports(world, "member1"))[80] == 30009
    assert (await ports(world, "member2"))[80] not in (0, 30009)


@in_world(TWO)
async def test_works_of_an_earlier_version_and_what_runs_there_stay_as_they_are(world: World) -> None:
    made = await world.client.create(SERVICES, service(http()), "default")
    port = made["spec"]["ports"][0]["nodePort"]
    spec: Manifest = {"resourceSelectors": [{"apiVersion": "v1", "kind": "Service"}], "placement": {}}
    await world.client.create(POLICIES, {"metadata": {"name": "all"}, "spec": spec}, "default")
    await world.sleep(15)
    await world.stop_controllers()
    for name in TWO:
        (work,) = (await world.client.list(WORKS, f"karmada-es-{name}")).items
        manifest = work.spec.workload.manifests[0]
        manifest = {
            **manifest,
            "spec": {**manifest["spec"], "ports": [http(nodePort=port, protocol="TCP", targetPort=80)]},
        }
        workload = {"workload": {"manifests": [manifest]}}
        await world.client.patch(WORKS, work.name, {"spec": workload}, work.namespace)
    world.start_controllers()
    await world.sleep(60)
    assert await given(world) == [{80: port}] * 2
    await world.client.patch(SERVICES, "web", {"spec": {"sessionAffinity": "ClientIP"}}, "default")
    await world.sleep(15)
    assert await given(world) == [{80: port}] * 2
    assert [(await found(world, name))["sessionAffinity"] for name in TWO] == ["ClientIP"] * 2


@pytest.mark.parametrize("restarts", [False, True])
@in_world(TWO)
async def test_a_choice_is_kept_though_works_are_deleted_and_ports_change_while_the_member_is_away(
    world: World, *, restarts: bool
) -> None:
    await propagate(world, service(http(), {"name": "more", "port": 81}))
    first, before = await given(world), await identities(world, "web", resource=SERVICES)
    if restarts:
        await world.stop_controllers()
    for member in TWO:
        for work in (await world.client.list(WORKS, execution_space(member))).items:
            await world.client.delete(WORKS, work.name, work.namespace)
    await world.sleep(20)
    if restarts:
        world.start_controllers()
    await world.sleep(60)
    assert await given(world) == first
    await world.member("member2").stop()
    await world.sleep(5)
    wanted = [{"name": "more", "port": 81}, {"name": "third", "port": 82}]
    await world.client.patch(SERVICES, "web", {"spec": {"ports": wanted}}, "default")
    await world.sleep(100)
    await world.member("member2").start()
    await world.sleep(120)
    after, there = await given(world), await identities(world, "web", resource=SERVICES)
    assert [each.keys() for each in after] == [{81, 82}] * 2
    assert [each[81] for each in after] == [each[81] for each in first]
    assert [uid for uid, _ in there.values()] == [uid for uid, _ in before.values()]
