"""Kinds that lead traffic, on statuses as their controllers write them: Gateway API, and multi-cluster Services."""

from collections.abc import Mapping
from typing import Any

import pytest

from kubeapi.meta import Manifest
from leeward.api.meta import MOST_MESSAGE
from leeward.api.work import AggregatedStatusItem, Health
from leeward.core.interpreter import aggregate_status, dependencies_of, health_of, reflect_status, retain

HEALTHY: Health = "Healthy"
UNHEALTHY: Health = "Unhealthy"
UNKNOWN: Health = "Unknown"
EARLY, LATE = "2026-01-01T00:00:00Z", "2026-01-01T00:05:00Z"
CLASS = "gateway.envoyproxy.io/gatewayclass-controller"
EDGE = {"name": "edge"}
DEFAULTED = {"group": "gateway.networking.k8s.io", "kind": "Gateway", **EDGE}


def condition(type_: str, status: str = "True", generation: int = 3, reason: str = "", **more: Any) -> Manifest:
    named = {"type": type_, "status": status, "reason": reason or type_, "message": f"{type_} {status}"}
    return {**named, "lastTransitionTime": EARLY, "observedGeneration": generation, **more}


def made(kind: str, status: Manifest | None, spec: Manifest | None = None, version: str = "v1") -> Manifest:
    """An object in a member, made from the template's generation 7; the member's own is 3."""
    metadata: Manifest = {"name": "edge", "namespace": "web", "generation": 3}
    metadata["annotations"] = {"resourcetemplate.karmada.io/generation": "7"}
    head: Manifest = {"apiVersion": f"gateway.networking.k8s.io/{version}", "kind": kind, "metadata": metadata}
    return {**head, "spec": spec or {}, **({} if status is None else {"status": status})}


def parent(*conditions: Manifest, reference: Mapping[str, str] = EDGE, controller: str = CLASS) -> Manifest:
    return {"parentRef": dict(reference), "controllerName": controller, "conditions": list(conditions)}


def item(cluster: str, status: object, health: Health = HEALTHY) -> AggregatedStatusItem:
    return AggregatedStatusItem(cluster_name=cluster, applied=True, status=status, health=health)


def added(template: Manifest, *items: AggregatedStatusItem) -> Manifest:
    found = aggregate_status(template, items)
    assert found is not None
    return found["status"]


WELL = [condition("Accepted"), condition("Programmed")]
ATTACHED = [condition("Accepted"), condition("ResolvedRefs")]
PENDING = [condition(each, "Unknown", 0, "Pending") for each in ("Accepted", "Programmed")]


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        (WELL, HEALTHY),
        (PENDING, UNKNOWN),
        ([], UNKNOWN),
        ([condition("Accepted")], UNKNOWN),
        ([condition("Accepted"), condition("Programmed", "False", reason="AddressNotAssigned")], UNHEALTHY),
        ([condition("Accepted", "False", reason="Invalid")], UNHEALTHY),
        ([condition("Accepted", generation=2), condition("Programmed", generation=2)], UNKNOWN),
        ([condition("Accepted"), condition("Programmed", "False", generation=2)], UNKNOWN),
    ],
    ids=["both", "as the definition sets it", "none", "half", "no address", "invalid", "stale", "a stale failure"],
)
def test_a_gateway_is_healthy_once_its_controller_has_programmed_it(conditions: list[Manifest], expected: str) -> None:
    for version in ("v1", "v1beta1"):
        assert health_of(made("Gateway", {"conditions": conditions}, version=version)) == expected
    assert health_of(made("Gateway", None)) == UNKNOWN


@pytest.mark.parametrize("kind", ["HTTPRoute", "GRPCRoute", "TLSRoute"])
@pytest.mark.parametrize(
    ("parents", "expected"),
    [
        ([parent(*ATTACHED)], HEALTHY),
        ([parent(*ATTACHED, reference=DEFAULTED)], HEALTHY),
        ([parent(*ATTACHED), parent(*ATTACHED, controller="another")], HEALTHY),
        ([], UNKNOWN),
        ([parent(*ATTACHED, reference={"name": "another"})], UNKNOWN),
        ([parent(condition("Accepted"))], UNKNOWN),
        ([parent(condition("Accepted"), condition("ResolvedRefs", "False", reason="BackendNotFound"))], UNHEALTHY),
        ([parent(condition("Accepted", "False", reason="NoMatchingParent"))], UNHEALTHY),
        ([parent(*ATTACHED), parent(condition("Accepted", "False"), controller="another")], UNHEALTHY),
    ],
)
def test_a_route_is_judged_by_each_parent_that_it_names(kind: str, parents: list[Manifest], expected: str) -> None:
    assert health_of(made(kind, {"parents": parents}, {"parentRefs": [EDGE]})) == expected


def test_a_route_waits_for_each_of_its_parents_and_needs_none() -> None:
    both: Manifest = {"parentRefs": [EDGE, {"name": "inner", "namespace": "mesh"}]}
    inner = {"name": "inner", "namespace": "mesh"}
    one = [parent(*ATTACHED)]
    assert health_of(made("HTTPRoute", {"parents": one}, both)) == UNKNOWN
    assert health_of(made("HTTPRoute", {"parents": [*one, parent(*ATTACHED, reference=inner)]}, both)) == HEALTHY
    refused = parent(condition("Accepted", "False"), reference=inner)
    assert health_of(made("HTTPRoute", {"parents": [refused]}, both)) == UNHEALTHY, "one refuses it, whatever comes"
    assert health_of(made("HTTPRoute", {"parents": []})) == HEALTHY


def test_conditions_are_reflected_with_the_generation_of_the_template() -> None:
    """external-dns takes a route whose parent has accepted the generation that the template has."""
    old = condition("ResolvedRefs", generation=2)
    reflected = reflect_status(made("HTTPRoute", {"parents": [parent(condition("Accepted"), old)]}))
    accepted, stale = reflected["parents"][0]["conditions"]
    assert accepted["observedGeneration"] == 7
    assert "observedGeneration" not in stale
    listener = {"name": "http", "attachedRoutes": 1, "supportedKinds": [], "conditions": WELL}
    gateway = reflect_status(made("Gateway", {"conditions": WELL, "listeners": [listener], "addresses": []}))
    assert {each["observedGeneration"] for each in gateway["conditions"]} == {7}
    assert {each["observedGeneration"] for each in gateway["listeners"][0]["conditions"]} == {7}
    assert gateway["addresses"] == []


def gateway_status(address: str, attached: int, *conditions: Manifest) -> Manifest:
    listener = {"name": "http", "attachedRoutes": attached, "supportedKinds": [{"kind": "HTTPRoute"}]}
    return {
        "addresses": [{"type": "IPAddress", "value": address}],
        "conditions": list(conditions),
        "listeners": [{**listener, "conditions": [condition("Programmed")]}],
    }


def test_a_gateway_has_the_addresses_of_all_clusters_and_one_condition_of_each_type() -> None:
    no_address = condition("Programmed", "False", 7, "AddressNotAssigned", lastTransitionTime=LATE)
    status = added(
        made("Gateway", None),
        item("member1", gateway_status("203.0.113.2", 1, *WELL)),
        item("member2", gateway_status("203.0.113.1", 2, condition("Accepted", lastTransitionTime=LATE), no_address)),
        item("member3", None, UNKNOWN),
    )
    assert [each["value"] for each in status["addresses"]] == ["203.0.113.1", "203.0.113.2"]
    accepted, programmed = status["conditions"]
    assert (accepted["status"], accepted["lastTransitionTime"]) == ("True", LATE)
    assert accepted["message"] == "member1=Accepted True, member2=Accepted True"
    assert (programmed["status"], programmed["reason"]) == ("True", "Programmed"), "it serves somewhere"
    assert programmed["message"] == "member1=Programmed True, member2=False: Programmed False"
    (listener,) = status["listeners"]
    assert (listener["name"], listener["attachedRoutes"]) == ("http", 2)
    assert listener["supportedKinds"] == [{"kind": "HTTPRoute"}]


def test_what_is_not_known_any_more_counts_where_nobody_else_says_anything() -> None:
    lost = item("member1", {"conditions": WELL}, UNKNOWN)
    refused = item("member2", {"conditions": [condition("Accepted", "False", reason="Invalid")]}, UNHEALTHY)
    (accepted, _) = added(made("Gateway", None), lost, refused)["conditions"]
    assert (accepted["status"], accepted["reason"]) == ("False", "Invalid")
    assert accepted["message"] == "member1=not known at present, True before, member2=Accepted False"
    assert added(made("Gateway", None), lost)["conditions"][0]["status"] == "True", "the last word stays"


def test_a_route_has_each_parent_once_with_what_all_clusters_say_of_it() -> None:
    inner = parent(*ATTACHED, reference={"name": "inner"})
    status = added(
        made("HTTPRoute", None),
        item("member1", {"parents": [parent(*ATTACHED), inner]}),
        item("member2", {"parents": [parent(condition("Accepted", "False", 8, "NoMatchingParent"))]}, UNHEALTHY),
    )
    assert [each["parentRef"] for each in status["parents"]] == [EDGE, {"name": "inner"}]
    assert {each["controllerName"] for each in status["parents"]} == {CLASS}
    (accepted, resolved) = status["parents"][0]["conditions"]
    assert (accepted["status"], accepted["observedGeneration"]) == ("True", 3)
    assert accepted["message"] == "member1=Accepted True, member2=False: Accepted False"
    assert resolved["message"] == "member1=ResolvedRefs True"
    assert added(made("HTTPRoute", {"parents": []}), item("member1", {"parents": "x"}), inner_item())["parents"]


def inner_item() -> AggregatedStatusItem:
    return item("member2", {"parents": [parent(*ATTACHED)]})


def test_a_message_of_a_thousand_clusters_is_as_long_as_the_definition_allows() -> None:
    long = [item(f"member{number}", {"conditions": [condition("Accepted", message="x" * 90)]}) for number in range(999)]
    (accepted,) = added(made("GatewayClass", None), *long)["conditions"]
    assert len(accepted["message"]) == MOST_MESSAGE


def exported(kind: str, status: Manifest, version: str = "v1beta1", **spec: Any) -> Manifest:
    head: Manifest = {"apiVersion": f"multicluster.x-k8s.io/{version}", "kind": kind}
    return {**head, "metadata": {"name": "web", "namespace": "shop"}, "spec": spec, "status": status}


@pytest.mark.parametrize(
    ("kind", "conditions", "expected"),
    [
        ("ServiceExport", [], UNKNOWN),
        ("ServiceExport", [condition("Valid")], HEALTHY),
        ("ServiceExport", [condition("Valid", "False", reason="NoService")], UNHEALTHY),
        ("ServiceExport", [condition("Valid"), condition("Ready", "False", reason="Failed")], UNHEALTHY),
        ("ServiceExport", [condition("Valid"), condition("Ready", "Unknown", reason="Pending")], UNKNOWN),
        ("ServiceExport", [condition("Valid"), condition("Conflict", reason="PortConflict")], HEALTHY),
        ("ServiceImport", [], HEALTHY),
        ("ServiceImport", [condition("Ready")], HEALTHY),
        ("ServiceImport", [condition("Ready", "False", reason="IPFamilyNotSupported")], UNHEALTHY),
        ("ServiceImport", [condition("Ready", "Unknown", reason="Pending")], UNKNOWN),
    ],
)
def test_exports_and_imports_are_judged_by_their_data_plane(
    kind: str, conditions: list[Manifest], expected: str
) -> None:
    for version in ("v1alpha1", "v1beta1"):
        assert health_of(exported(kind, {"conditions": conditions}, version), has_status=True) == expected


def test_a_conflict_of_one_cluster_is_told_with_its_name() -> None:
    conflict = condition("Conflict", reason="PortConflict", message="port 80 against 8080 of member1")
    none = condition("Conflict", "False", reason="NoConflicts", message="")
    status = added(
        exported("ServiceExport", {}),
        item("member1", {"conditions": [condition("Valid"), none]}),
        item("member2", {"conditions": [condition("Valid"), conflict]}),
        item("member3", {"conditions": [condition("Valid")]}, UNKNOWN),
    )
    valid, told = status["conditions"]
    assert valid["message"] == "member1=Valid True, member2=Valid True, member3=not known at present, True before"
    assert (told["status"], told["reason"]) == ("True", "PortConflict")
    assert told["message"] == "member1=False: , member2=port 80 against 8080 of member1"


def test_an_import_names_all_clusters_that_export_and_keeps_the_members_address() -> None:
    status = added(
        exported("ServiceImport", {}),
        item("member1", {"clusters": [{"cluster": "b"}, {"cluster": "a"}], "endpointSliceObjects": "Absent"}),
        item("member2", {"clusters": [{"cluster": "b"}], "endpointSliceObjects": "Present"}),
    )
    assert status == {"clusters": [{"cluster": "a"}, {"cluster": "b"}], "endpointSliceObjects": "Present"}
    observed = exported("ServiceImport", {}, ips=["10.42.0.1"])
    assert retain(exported("ServiceImport", {}), observed)["spec"]["ips"] == ["10.42.0.1"]
    assert retain(exported("ServiceImport", {}, ips=["10.0.0.9"]), observed)["spec"]["ips"] == ["10.0.0.9"]


@pytest.mark.parametrize(
    ("status", "expected"),
    [(None, UNKNOWN), ({}, UNKNOWN), ({"observedGeneration": 2}, UNHEALTHY), ({"observedGeneration": 3}, HEALTHY)],
)
def test_a_dns_endpoint_is_healthy_once_external_dns_has_seen_it(status: Manifest | None, expected: Health) -> None:
    endpoint = {**made("DNSEndpoint", status), "apiVersion": "externaldns.k8s.io/v1alpha1"}
    assert health_of(endpoint) == expected


def gslb(health: Mapping[str, str], records: Mapping[str, list[str]], tag: str) -> Manifest:
    return {"serviceHealth": health, "healthyRecords": records, "geoTag": tag, "hosts": ", ".join(health)}


@pytest.mark.parametrize("version", ["k8gb.absa.oss/v1beta1", "k8gb.io/v1beta1"])
def test_a_gslb_is_judged_by_the_hosts_that_k8gb_finds_healthy(version: str) -> None:
    def judged(status: Manifest | None) -> str | None:
        return health_of({**made("Gslb", status), "apiVersion": version})

    assert judged(None) == judged({"serviceHealth": {}}) == UNKNOWN
    assert judged(gslb({"web.example.test": HEALTHY}, {}, "eu")) == HEALTHY
    assert judged(gslb({"web.example.test": HEALTHY, "b.example.test": "NotFound"}, {}, "eu")) == UNHEALTHY


def test_the_template_of_a_gslb_tells_a_host_healthy_that_any_cluster_serves_which_is_seen() -> None:
    host, template = "web.example.test", {**made("Gslb", None), "apiVersion": "k8gb.io/v1beta1"}
    first = item("m1", gslb({host: "NotFound"}, {host: ["10.0.0.2"]}, "eu"), UNHEALTHY)
    second = item("m2", gslb({host: HEALTHY}, {host: ["10.0.0.2", "10.0.0.3"]}, "us"))
    told = added(template, first, second)
    assert told["serviceHealth"] == {host: HEALTHY}
    assert told["healthyRecords"] == {host: ["10.0.0.2", "10.0.0.3"]}
    assert (told["geoTag"], told["hosts"]) == ("eu,us", host)
    lost = item("m2", second.status, UNKNOWN)
    assert added(template, first, lost)["serviceHealth"] == {host: "NotFound"}
    assert added(template, first, lost)["healthyRecords"] == {host: ["10.0.0.2"]}


def test_what_the_ingress_of_a_gslb_names_comes_along() -> None:
    backend = {"service": {"name": "web", "port": {"number": 80}}}
    ingress = {"rules": [{"http": {"paths": [{"path": "/", "backend": backend}]}}], "tls": [{"secretName": "cert"}]}
    found = dependencies_of({**made("Gslb", None, {"ingress": ingress}), "apiVersion": "k8gb.io/v1beta1"})
    assert {(each.kind, each.namespace, each.name) for each in found} == {
        ("Service", "web", "web"),
        ("Secret", "web", "cert"),
    }
