"""Kinds that lead to applications: Gateway API, names (DNSEndpoint of external-dns, Gslb of k8gb), and multi-cluster
Services.

    Gateway    healthy where Accepted and Programmed are true; its addresses are those that the copies have
    a route    healthy where each parent that it names has accepted it and has resolved its references
    Unknown    a condition is not told yet, or of an earlier generation: no controller has looked at the object

Controllers of a member tell the generation of the member's object. It is reflected as that of the template which the
object was made from: readers such as external-dns compare it with the generation of the template. Karmada knows none
of these kinds, and takes each for healthy.

    DNSEndpoint   healthy once external-dns has seen its present generation
    Gslb          healthy while k8gb finds a healthy Service behind each host in its cluster

The k8gb of each member agrees with the others on the records. The template so tells a host Healthy that any cluster
serves, with the records of all of them.

An export is healthy by its condition Ready, else by Valid. An import is healthy unless its condition Ready says
otherwise: it serves nothing. A conflict is told in the status, and is no fault of one cluster."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from kubeapi import codec
from kubeapi.meta import Manifest, ReadOnlyManifest
from kubeapi.unstructured import int_at, list_at, mapping_at, mappings_at, take, text_at
from leeward.api.interpreter_config import DependentObjectReference
from leeward.api.work import AggregatedStatusItem
from leeward.core.interpreter.dependencies import ingress_dependencies, service_import_dependencies
from leeward.core.interpreter.rules import InterpretationError, Rules, Status
from leeward.core.interpreter.thirdparty.merged_conditions import Told, one_of_each_type, reports
from leeward.core.interpreter.thirdparty.reflection import template_generation

GROUP = "gateway.networking.k8s.io"
_PARENT_DEFAULTS = {"group": GROUP, "kind": "Gateway"}
_NESTED = ("listeners", "parents")


def _reflect(manifest: ReadOnlyManifest) -> Status:
    """The status, whose conditions tell the template's generation."""
    status: Status = dict(mapping_at(manifest, "status"))
    own, made_from = int_at(manifest, "metadata", "generation"), template_generation(manifest)
    for name in ("conditions", *_NESTED):
        if name in status:
            entries = mappings_at(status, name)
            told = [{"conditions": entries}] if name == "conditions" else entries
            dated = [_dated(each, own, made_from) for each in told]
            status[name] = dated[0]["conditions"] if name == "conditions" else dated
    return status


def _dated(report: Manifest, own: int, made_from: int | None) -> Manifest:
    conditions: list[Manifest] = []
    for condition in mappings_at(report, "conditions"):
        rest = {name: value for name, value in condition.items() if name != "observedGeneration"}
        is_current = made_from is not None and condition.get("observedGeneration") == own
        conditions.append({**rest, "observedGeneration": made_from} if is_current else rest)
    return {**report, "conditions": conditions}


def _is_true(report: ReadOnlyManifest, types: Sequence[str], generation: int) -> bool:
    """Tells whether all of these conditions are true. Raises: InterpretationError for one that nobody has told yet."""
    by_type = {text_at(each, "type"): each for each in mappings_at(report, "conditions")}
    current = {type_: each for type_, each in by_type.items() if _is_current(each, generation)}
    said = [text_at(current.get(type_), "status") for type_ in types]
    if "False" in said:
        return False
    if any(each != "True" for each in said):
        raise InterpretationError(f"nobody has told yet whether it is {' and '.join(types)}")
    return True


def _is_current(condition: ReadOnlyManifest, generation: int) -> bool:
    observed = condition.get("observedGeneration")
    return not isinstance(observed, int) or observed >= generation


def _is_gateway_healthy(manifest: ReadOnlyManifest) -> bool:
    status, generation = mapping_at(manifest, "status"), int_at(manifest, "metadata", "generation")
    return _is_true(status, ("Accepted", "Programmed"), generation)


def _is_route_healthy(manifest: ReadOnlyManifest) -> bool:
    """Tells whether each of its parents has taken it. A route without parents leads nothing, and cannot fail."""
    generation, namespace = int_at(manifest, "metadata", "generation"), text_at(manifest, "metadata", "namespace")
    told = mappings_at(manifest, "status", "parents")
    by_parent = [(_parent(mapping_at(each, "parentRef"), namespace), each) for each in told]
    judged: list[bool] = []
    unknown: InterpretationError | None = None
    for reference in mappings_at(manifest, "spec", "parentRefs"):
        parent = _parent(reference, namespace)
        for report in [each for named, each in by_parent if named == parent] or [{}]:
            try:
                judged.append(_is_true(report, ("Accepted", "ResolvedRefs"), generation))
            except InterpretationError as error:
                unknown = error
    if unknown is not None and all(judged):
        raise unknown
    return all(judged)


def _parent(reference: Mapping[str, Any], namespace: str) -> bytes:
    return codec.canonical({**_PARENT_DEFAULTS, "namespace": namespace, **reference})


def _aggregate_gateway(template: ReadOnlyManifest, items: Sequence[AggregatedStatusItem]) -> Status:
    """All addresses, each once, and the listeners by name."""
    addresses = {codec.canonical(each.report): dict(each.report) for each in reports(items, "addresses")}
    listeners = _grouped(reports(items, "listeners"), "name")
    parts = {
        "addresses": [addresses[key] for key in sorted(addresses)],
        "conditions": one_of_each_type(reports(items)),
        "listeners": [_listener(told) for told in listeners],
    }
    return {name: value for name, value in parts.items() if value}


def _listener(told: Sequence[Told]) -> Manifest:
    """One listener of all clusters. A route that is in several is attached in each: the greatest number counts."""
    attached = max(int_at(each.report, "attachedRoutes") for each in told)
    kinds = next((found for each in told if (found := list_at(each.report, "supportedKinds"))), ())
    conditions = one_of_each_type(told)
    return {
        "name": text_at(told[0].report, "name"),
        "attachedRoutes": attached,
        "supportedKinds": list(kinds),
        "conditions": conditions,
    }


def _aggregate_route(template: ReadOnlyManifest, items: Sequence[AggregatedStatusItem]) -> Status:
    """The parents, by whom they are and whose controller says so."""
    parents = [
        {
            "parentRef": dict(mapping_at(told[0].report, "parentRef")),
            "controllerName": text_at(told[0].report, "controllerName"),
            "conditions": one_of_each_type(told),
        }
        for told in _grouped(reports(items, "parents"), "parentRef", "controllerName")
    ]
    return {"parents": parents}


def _grouped(told: Sequence[Told], *fields: str) -> list[list[Told]]:
    """Reports that agree in these fields, in the order of the first of each."""
    groups: dict[bytes, list[Told]] = {}
    for each in told:
        groups.setdefault(codec.canonical([each.report.get(field) for field in fields]), []).append(each)
    return list(groups.values())


_GATEWAY = Rules(reflect=_reflect, is_healthy=_is_gateway_healthy, aggregate=_aggregate_gateway)
_GATEWAY_CLASS = Rules(
    reflect=_reflect,
    is_healthy=lambda manifest: _is_true(
        mapping_at(manifest, "status"), ("Accepted",), int_at(manifest, "metadata", "generation")
    ),
    aggregate=lambda _, items: {"conditions": one_of_each_type(reports(items))},
)
_ROUTE = Rules(reflect=_reflect, is_healthy=_is_route_healthy, aggregate=_aggregate_route)


_HEALTHY = "Healthy"


def _is_endpoint_healthy(manifest: ReadOnlyManifest) -> bool:
    seen = int_at(manifest, "status", "observedGeneration")
    if not seen:
        raise InterpretationError("external-dns has not looked at it yet")
    return seen >= int_at(manifest, "metadata", "generation")


def _is_gslb_healthy(manifest: ReadOnlyManifest) -> bool:
    hosts = mapping_at(manifest, "status", "serviceHealth")
    if not hosts:
        raise InterpretationError("k8gb has not told yet whether its hosts are healthy")
    return all(health == _HEALTHY for health in hosts.values())


def _aggregate_gslb(template: ReadOnlyManifest, items: Sequence[AggregatedStatusItem]) -> Status:
    """Hosts with the best health and all records that any cluster tells. A cluster that is not seen tells no health."""
    health, records = dict[str, str](), dict[str, set[str]]()
    told = reports(items)
    for each in sorted(told, key=lambda each: each.is_known, reverse=True):
        for host in mapping_at(each.report, "serviceHealth"):
            said = text_at(each.report, "serviceHealth", host) if each.is_known else "NotFound"
            health[host] = said if said == _HEALTHY else health.get(host, said)
        for host in mapping_at(each.report, "healthyRecords") if each.is_known else ():
            records.setdefault(host, set()).update(map(str, list_at(each.report, "healthyRecords", host)))
    return {
        "serviceHealth": health,
        "healthyRecords": {host: sorted(found) for host, found in records.items()},
        "geoTag": ",".join(sorted({text_at(each.report, "geoTag") for each in told} - {""})),
        "hosts": ", ".join(sorted(health)),
    }


def _gslb_dependencies(manifest: ReadOnlyManifest) -> Collection[DependentObjectReference]:
    """Objects that its embedded Ingress names."""
    return ingress_dependencies(
        {"metadata": mapping_at(manifest, "metadata"), "spec": mapping_at(manifest, "spec", "ingress")}
    )


_GSLB = Rules(is_healthy=_is_gslb_healthy, aggregate=_aggregate_gslb, dependencies=_gslb_dependencies)


def _is_export_healthy(manifest: ReadOnlyManifest) -> bool:
    return _is_well(_condition(manifest, "Ready") or _condition(manifest, "Valid"))


def _is_import_healthy(manifest: ReadOnlyManifest) -> bool:
    ready = _condition(manifest, "Ready")
    return not ready or _is_well(ready)


def _condition(manifest: ReadOnlyManifest, type_: str) -> str:
    """Status of a condition; empty where there is none."""
    conditions = mappings_at(manifest, "status", "conditions")
    return next((text_at(each, "status") for each in conditions if text_at(each, "type") == type_), "")


def _is_well(status: str) -> bool:
    if status not in ("True", "False"):
        raise InterpretationError("nobody has told yet whether it is ready")
    return status == "True"


def _aggregate_export(template: ReadOnlyManifest, items: Sequence[AggregatedStatusItem]) -> Status:
    conditions = one_of_each_type(reports(items))
    return {"conditions": conditions} if conditions else {}


def _aggregate_import(template: ReadOnlyManifest, items: Sequence[AggregatedStatusItem]) -> Status:
    """Exporting clusters that any member knows."""
    told = reports(items, "clusters")
    exporting: Mapping[str, Manifest] = {text_at(each.report, "cluster"): dict(each.report) for each in told}
    slices = {text_at(each.report, "endpointSliceObjects") for each in reports(items)} - {""}
    parts = {
        **_aggregate_export(template, items),
        "clusters": [exporting[name] for name in sorted(exporting)],
        "endpointSliceObjects": "Present" if "Present" in slices else next(iter(slices), ""),
    }
    return {name: value for name, value in parts.items() if value}


def _retain_import(desired: Manifest, observed: ReadOnlyManifest) -> None:
    """Retains the address that the member's data plane gives, where the template names none."""
    if not list_at(desired, "spec", "ips"):
        take(desired, observed, "spec", "ips")


_SERVICE_EXPORT = Rules(is_healthy=_is_export_healthy, aggregate=_aggregate_export)
_SERVICE_IMPORT = Rules(is_healthy=_is_import_healthy, aggregate=_aggregate_import, retain=_retain_import)
_KARMADAS_IMPORT = replace(_SERVICE_IMPORT, dependencies=service_import_dependencies)
"""Import of the version that Karmada has, too: the Service that stands for it comes along."""

KINDS = {
    ("externaldns.k8s.io/v1alpha1", "DNSEndpoint"): Rules(is_healthy=_is_endpoint_healthy),
    ("gateway.networking.k8s.io/v1", "GRPCRoute"): _ROUTE,
    ("gateway.networking.k8s.io/v1", "Gateway"): _GATEWAY,
    ("gateway.networking.k8s.io/v1", "GatewayClass"): _GATEWAY_CLASS,
    ("gateway.networking.k8s.io/v1", "HTTPRoute"): _ROUTE,
    ("gateway.networking.k8s.io/v1", "TLSRoute"): _ROUTE,
    ("gateway.networking.k8s.io/v1alpha2", "GRPCRoute"): _ROUTE,
    ("gateway.networking.k8s.io/v1alpha2", "TCPRoute"): _ROUTE,
    ("gateway.networking.k8s.io/v1alpha2", "TLSRoute"): _ROUTE,
    ("gateway.networking.k8s.io/v1alpha2", "UDPRoute"): _ROUTE,
    ("gateway.networking.k8s.io/v1beta1", "Gateway"): _GATEWAY,
    ("gateway.networking.k8s.io/v1beta1", "GatewayClass"): _GATEWAY_CLASS,
    ("gateway.networking.k8s.io/v1beta1", "HTTPRoute"): _ROUTE,
    ("k8gb.absa.oss/v1beta1", "Gslb"): _GSLB,
    ("k8gb.io/v1beta1", "Gslb"): _GSLB,
    ("multicluster.x-k8s.io/v1alpha1", "ServiceExport"): _SERVICE_EXPORT,
    ("multicluster.x-k8s.io/v1alpha1", "ServiceImport"): _KARMADAS_IMPORT,
    ("multicluster.x-k8s.io/v1beta1", "ServiceExport"): _SERVICE_EXPORT,
    ("multicluster.x-k8s.io/v1beta1", "ServiceImport"): _SERVICE_IMPORT,
}
