"""Addresses of a Service: which clusters serve, which are listed."""

from collections.abc import Collection

import msgspec
import pytest

from kubeapi.meta import Manifest
from leeward.api.names import ALL_ADDRESSES_ANNOTATION
from leeward.api.work import AggregatedStatusItem, BindingResource
from leeward.core.execution.addresses import (
    ServingClusters,
    leads_traffic,
    left_out,
    selects,
    services_behind_gateway,
    serving,
    with_addresses_that_serve,
)
from tests.builders import binding, cluster, dead, duplicated, targets, work

A, B, C = "member1", "member2", "member3"
NOWHERE: frozenset[str] = frozenset()
WORKLOAD: Manifest = {
    "kind": "Rollout",
    "spec": {"template": {"metadata": {"labels": {"app": "web", "tier": "front"}}}},
}


def status(*names: str) -> Manifest:
    return {"loadBalancer": {"ingress": [{"ip": f"10.0.0.{name[-1]}"} for name in names]}}


def items(*names: str) -> tuple[AggregatedStatusItem, ...]:
    return tuple(AggregatedStatusItem(cluster_name=name, status=status(name)) for name in names)


def listed(behind: ServingClusters | None, present: Collection[str] = (), *, braked: bool = False) -> set[str]:
    kept = with_addresses_that_serve(items(A, B), status(*present), behind, is_braked=braked)
    assert [item.cluster_name for item in kept] == [A, B], "an item says more than its address"
    return {item.cluster_name for item in kept if item.status == status(item.cluster_name)}


def behind(stays: str = "", leaves: str = "", unknown: str = "") -> ServingClusters:
    return ServingClusters(*(frozenset(names.split()) for names in (stays, leaves, unknown)))


@pytest.mark.parametrize(
    ("serves", "present", "expected"),
    [
        (None, (), {A, B}),
        (behind(stays=A), (A, B), {A}),
        (behind(stays=f"{A} {B}"), (), {A, B}),
        (behind(stays=B, leaves=A), (A,), {B}),
        (behind(leaves=A), (A, B), {A}),
        (behind(stays=C), (A,), {A}),
        (behind(), (A,), {A}),
        (behind(), (), {A, B}),
        (behind(stays=A, unknown=B), (A, B), {A, B}),
        (behind(stays=A, unknown=B), (A,), {A}),
    ],
)
def test_addresses_that_are_listed(
    serves: ServingClusters | None, present: Collection[str], expected: set[str]
) -> None:
    assert listed(serves, present) == expected


def test_under_the_brake_what_is_listed_stays() -> None:
    assert listed(behind(stays=A), (A, B), braked=True) == {A, B}
    assert listed(behind(stays=A), (A,), braked=True) == {A}


def test_a_workload_serves_where_one_replica_is_ready() -> None:
    bound = binding(duplicated(), 4, targets(member1=2, member2=2))
    works = {A: work(A, 1), B: work(B, 0), C: work(C, 2)}
    found = serving(bound, works, {name: cluster(name) for name in works})
    assert found == ServingClusters(frozenset({A}), frozenset({C}), NOWHERE), "member3 serves, and is assigned nothing"


def test_a_report_of_another_generation_is_unknown_and_a_cluster_that_is_not_seen_serves_nothing() -> None:
    bound = binding(duplicated(), 4, targets(member1=2, member2=2))
    works = {A: work(A, 2, carried=7), B: work(B, 2)}
    assert serving(bound, works, {A: cluster(A), B: dead(B)}) == ServingClusters(NOWHERE, NOWHERE, frozenset({A}))
    assert serving(bound, works, {}) == ServingClusters()


def test_of_several_workloads_one_that_stays_is_enough() -> None:
    assert behind(stays=A, leaves=B) | behind(leaves=A, unknown=C) == behind(stays=A, leaves=B, unknown=C)


@pytest.mark.parametrize(
    ("selector", "expected"), [({"app": "web"}, True), ({"app": "web", "tier": "back"}, False), ({}, False)]
)
def test_a_selector_leads_to_all_pods_that_have_its_labels(selector: dict[str, str], expected: bool) -> None:
    assert selects(selector, WORKLOAD) is expected
    assert selects(selector, {"kind": "Pod", "metadata": {"labels": {"app": "web"}}}) is expected


def test_only_services_and_ingresses_lead_and_a_policy_may_ask_for_all() -> None:
    bound = binding(duplicated(), 0, targets(member1=0))
    service = msgspec.structs.replace(bound.spec, resource=BindingResource("v1", "Service", "web", "default"))
    leading = msgspec.structs.replace(bound, spec=service)
    asks = msgspec.structs.replace(leading.metadata, annotations={ALL_ADDRESSES_ANNOTATION: "true"})
    assert (leads_traffic(bound), leads_traffic(leading)) == (False, True)
    assert not leads_traffic(msgspec.structs.replace(leading, metadata=asks))


def test_addresses_that_were_left_out_have_their_cluster() -> None:
    assert left_out(status(A, B), items(A, B), status(A)) == ["10.0.0.2 (member2)"]
    assert left_out(status(A, B), items(A), status(A)) == [], "member2 has given up its address itself"


GATEWAY: Manifest = {"metadata": {"name": "edge", "namespace": "web"}, "spec": {"listeners": [{"name": "http"}]}}
WEB: Manifest = {"name": "web", "port": 80}


def route(parent: Manifest, *backends: Manifest) -> Manifest:
    return {"metadata": {"namespace": "web"}, "spec": {"parentRefs": [parent], "rules": [{"backendRefs": [*backends]}]}}


@pytest.mark.parametrize(
    ("routes", "behind"),
    [
        ([], []),
        ([route({"name": "edge"}, WEB, {"name": "api"}), route({"name": "edge"}, WEB)], ["api", "web"]),
        ([route({"name": "edge", "namespace": "web", "kind": "Gateway"}, {**WEB, "namespace": "web"})], ["web"]),
        ([route({"name": "edge"}, WEB, {"name": "next", "weight": 0})], ["web"]),
        ([route({"name": "edge"}, WEB, {"name": "far", "namespace": "another", "weight": 0})], ["web"]),
        ([route({"name": "edge"}, {**WEB, "weight": 0})], []),
        ([route({"name": "edge"}, WEB), route({"name": "more", "kind": "ListenerSet"}, WEB)], []),
        ([route({"name": "edge"}, WEB), route({"name": "more", "kind": "XListenerSet"}, WEB)], []),
        ([route({"name": "another"}, WEB)], []),
        ([route({"name": "edge", "namespace": "another"}, WEB)], []),
        ([route({"name": "edge", "kind": "Service", "group": ""}, WEB)], []),
        ([route({"name": "edge"}, WEB, {**WEB, "namespace": "another"})], []),
        ([route({"name": "edge"}, WEB, {**WEB, "kind": "ServiceImport", "group": "multicluster.x-k8s.io"})], []),
    ],
)
def test_a_gateway_leads_to_the_services_of_its_routes(routes: list[Manifest], behind: list[str]) -> None:
    assert services_behind_gateway(GATEWAY, routes) == behind


def test_nobody_knows_all_routes_of_a_gateway_that_takes_those_of_other_namespaces() -> None:
    listeners = [{"name": "http"}, {"name": "all", "allowedRoutes": {"namespaces": {"from": "Selector"}}}]
    assert services_behind_gateway({**GATEWAY, "spec": {"listeners": listeners}}, [route({"name": "edge"}, WEB)]) == []


@pytest.mark.parametrize(("allowed", "behind"), [("None", ["web"]), ("Same", []), ("All", []), ("Selector", [])])
def test_nobody_knows_all_routes_of_a_gateway_that_takes_listener_sets(allowed: str, behind: list[str]) -> None:
    spec = {"listeners": [{"name": "http"}], "allowedListeners": {"namespaces": {"from": allowed}}}
    assert services_behind_gateway({**GATEWAY, "spec": spec}, [route({"name": "edge"}, WEB)]) == behind
