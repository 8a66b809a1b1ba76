"""A workload that serves where no Service leads to it says so, on its binding and on its template."""

from ipaddress import ip_network

import pytest

from kubeapi.core import EVENTS
from kubeapi.meta import Manifest
from kubecluster.rules.load_balancer import load_balancer_range
from leeward.answers.explanation import Explanation
from leeward.answers.imagined import ImaginedChange
from leeward.answers.subjects import asked_of, explain_in
from leeward.answers.what_if import what_if
from leeward.api.meta import find_condition
from leeward.api.names import REACHABLE_CONDITION, SERVICE_OPTIONAL_ANNOTATION
from leeward.operations.status import look_at_fleet
from leeward.sim.world import Mode, World
from tests.world.pictures import picture
from tests.world.stories import DEPLOYMENTS, POLICIES, apply, deployment, in_world, policy
from tests.world.test_addresses_follow import SERVICES, service
from tests.world.test_overrides import OVERRIDES, only, overriding, replacing

TWO: dict[str, Mode] = {"member1": "Push", "member2": "Pull"}
WEB = "web-deployment"
TERMS: Manifest = {
    "clusterAffinities": [{"affinityName": name, "clusterNames": [name]} for name in TWO],
    "replicaScheduling": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"},
}


def placed(*clusters: str) -> Manifest:
    return {"clusterAffinity": {"clusterNames": list(clusters)}}


IN_MEMBER2: Manifest = {"clusterAffinities": None, **placed("member2")}


async def lead(world: World, *clusters: str, kind: str = "ClusterIP") -> None:
    """An application in member1 that may go to member2, and a Service of it in these clusters."""
    await world.client.create(SERVICES, service(type=kind), "default")
    await world.client.create(POLICIES, policy("leading", placed(*clusters), "Service", "v1"), "default")
    await world.client.patch(POLICIES, "leading", {"spec": {"resourceSelectors": SELECTING}}, "default")
    await apply(world.client, policy("web", TERMS), deployment("web", 2))
    await world.sleep(120)
    assert await told(world) == ("", "")


SELECTING = [{"apiVersion": "v1", "kind": "Service", "name": "web"}]


async def told(world: World) -> tuple[str, str]:
    """Status and reason of the condition; the binding and the template say the same."""
    binding, template = world.binding(WEB), await world.client.get(DEPLOYMENTS, "web", "default")
    found = find_condition(binding.status.conditions, REACHABLE_CONDITION) if binding is not None else None
    said = ("", "") if found is None else (found.status, found.reason)
    conditions = template.get("status", {}).get("conditions", [])
    there = [(c["status"], c["reason"]) for c in conditions if c["type"] == REACHABLE_CONDITION]
    assert there == ([] if found is None else [said])
    return said


@in_world(TWO)
async def test_what_moves_to_where_no_service_selects_it_says_so_until_one_does(world: World) -> None:
    await lead(world, "member1")
    await world.member("member1").stop()
    await world.until(lambda: world.assigned(WEB) == {"member2": 2}, 1200)
    await world.sleep(120)
    assert await told(world) == ("False", "NoService")
    events = (await world.client.list(EVENTS, "default")).items
    (message, *_) = [each.message for each in events if each.reason == "NotReachable"]
    assert message == "the application serves in member2, where no Service selects it (Service web is in member1)"
    findings = (await look_at_fleet(world.client, world.clock)).findings
    assert any("is not reachable (NoService, since " in each.sentence for each in findings)
    answer = explain_in(await picture(world), asked_of("deploy/web", "default"))
    assert isinstance(answer, Explanation)
    assert any("no Service selects it" in sentence for sentence in answer.why)
    await world.client.patch(POLICIES, "leading", {"spec": {"placement": placed("member1", "member2")}}, "default")
    await world.sleep(60)
    assert await told(world) == ("True", "Reachable")


@in_world(TWO)
async def test_a_workload_that_needs_no_service_says_nothing(world: World) -> None:
    await lead(world, "member1")
    option = {"metadata": {"annotations": {SERVICE_OPTIONAL_ANNOTATION: "true"}}}
    await world.client.patch(POLICIES, "web", option, "default")
    await world.sleep(30)
    asked = what_if(await picture(world), ImaginedChange(fails=frozenset({"member1"})))
    assert list(asked.missing_dependencies) == []
    await world.member("member1").stop()
    await world.until(lambda: world.assigned(WEB) == {"member2": 2}, 1200)
    await world.sleep(120)
    assert await told(world) == ("", "")
    await world.client.patch(
        POLICIES, "web", {"metadata": {"annotations": {SERVICE_OPTIONAL_ANNOTATION: None}}}, "default"
    )
    await world.sleep(120)
    assert await told(world) == ("False", "NoService")
    await world.client.patch(POLICIES, "web", option, "default")
    await world.sleep(60)
    assert await told(world) == ("", "")


@pytest.mark.parametrize("clusters", [("member1",), ("member1", "member2")])
@in_world(TWO)
async def test_what_if_says_beforehand_where_no_service_selects_it(world: World, clusters: tuple[str, ...]) -> None:
    await lead(world, *clusters)
    asked = what_if(await picture(world), ImaginedChange(fails=frozenset({"member1"})))
    missing = [(each.workload, each.cluster, each.needs) for each in asked.missing_dependencies]
    expected = [("Deployment default/web", "member2", "a Service that selects it")]
    assert missing == (expected if clusters == ("member1",) else [])


@in_world(TWO)
async def test_a_service_that_selects_other_pods_in_a_cluster_has_no_endpoints_there(world: World) -> None:
    await lead(world, "member1", "member2")
    rules = overriding("service", None, only("member1"), plaintext=replacing("/spec/selector/app", "other"))
    rules["spec"]["resourceSelectors"] = SELECTING
    await world.client.create(OVERRIDES, rules, "default")
    await world.sleep(90)
    assert await told(world) == ("False", "NoEndpoints")
    await world.client.delete(OVERRIDES, "service", "default")
    await world.sleep(90)
    assert await told(world) == ("True", "Reachable")


@in_world(TWO)
async def test_a_load_balancer_that_gets_no_address_where_it_is_needed_says_so_until_it_has_one(world: World) -> None:
    there = world.member("member2").client
    await there.create(SERVICES, service() | {"metadata": {"name": "hoarder"}}, "default")
    usable = ip_network(load_balancer_range("member2"))
    taken = {"loadBalancer": {"ingress": [{"ip": str(address)} for address in usable]}}
    await there.patch(SERVICES, "hoarder", {"status": taken}, "default", subresource="status")
    await lead(world, "member1", "member2", kind="LoadBalancer")
    await world.client.patch(POLICIES, "web", {"spec": {"placement": IN_MEMBER2}}, "default")
    await world.sleep(120)
    assert await told(world) == ("False", "NoAddress")
    await there.delete(SERVICES, "hoarder", "default")
    await world.sleep(120)
    assert await told(world) == ("True", "Reachable")


@in_world(TWO)
async def test_what_was_told_stays_while_the_cluster_is_not_seen(world: World) -> None:
    await lead(world, "member1")
    await world.client.patch(POLICIES, "web", {"spec": {"placement": IN_MEMBER2}}, "default")
    await world.sleep(120)
    assert await told(world) == ("False", "NoService")
    await world.member("member2").stop()
    await world.sleep(300)
    assert not world.is_ready("member2")
    assert await told(world) == ("False", "NoService")


@in_world(TWO)
async def test_a_workload_that_no_service_selects_anywhere_says_nothing(world: World) -> None:
    await world.client.create(SERVICES, service(selector={"app": "other"}), "default")
    await world.client.create(POLICIES, policy("web-service", placed("member1"), "Service", "v1"), "default")
    await apply(world.client, policy("web", TERMS), deployment("web", 2))
    await world.sleep(180)
    assert await told(world) == ("", "")
