"""Columns of what leads to Pods, and what keeps others away from them."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from kubeapi.meta import ReadOnlyManifest
from kubeserver.kinds.columns import AGE, NONE, at, described, field, label_selector, labels, text
from kubeserver.kinds.kind import Column
from kubeserver.values import entries, section


def _service_ports(service: ReadOnlyManifest) -> str:
    ports = cast(Sequence[Mapping[str, Any]], at(service, "spec.ports", ()))
    return ",".join(_service_port(port) for port in ports) or NONE


def _service_port(port: Mapping[str, Any]) -> str:
    node_port = f":{port['nodePort']}" if port.get("nodePort") else ""
    return f"{port.get('port')}{node_port}/{port.get('protocol', 'TCP')}"


def _external_ip(service: ReadOnlyManifest) -> str:
    kind, addresses = at(service, "spec.type"), list(at(service, "spec.externalIPs", ()))
    if kind == "ExternalName":
        return at(service, "spec.externalName", NONE)
    if kind == "LoadBalancer":
        ingress = cast(Sequence[Mapping[str, str]], at(service, "status.loadBalancer.ingress", ()))
        addresses = [entry.get("ip") or entry.get("hostname", "") for entry in ingress] + addresses
        return ",".join(addresses) or "<pending>"
    return ",".join(addresses) or NONE


def _addresses(endpoints: ReadOnlyManifest) -> str:
    shown = [
        f"{address.get('ip')}:{port.get('port')}"
        for subset in entries(endpoints, "subsets")
        for address in entries(subset, "addresses")
        for port in entries(subset, "ports") or [dict[str, Any]()]
    ]
    return _first_three(shown)


def _slice_addresses(endpoint_slice: ReadOnlyManifest) -> str:
    return _first_three(
        [a for endpoint in at(endpoint_slice, "endpoints", ()) for a in endpoint.get("addresses") or ()]
    )


def _first_three(shown: Sequence[str]) -> str:
    more = f" + {len(shown) - 3} more..." if len(shown) > 3 else ""
    return ",".join(shown[:3]) + more if shown else NONE


def _ingress_hosts(ingress: ReadOnlyManifest) -> str:
    return ",".join(rule["host"] for rule in at(ingress, "spec.rules", ()) if rule.get("host")) or "*"


def _ingress_addresses(ingress: ReadOnlyManifest) -> str:
    points = entries(section(section(ingress, "status"), "loadBalancer"), "ingress")
    return ",".join(sorted({p.get("ip") or p.get("hostname", "") for p in points}))


SERVICES = described(
    "SERVICES",
    Column("Type", field("spec.type")),
    Column("Cluster-IP", field("spec.clusterIP")),
    Column("External-IP", text(_external_ip)),
    Column("Port(s)", text(_service_ports)),
    AGE,
    Column("Selector", text(lambda m: labels(at(m, "spec.selector"))), priority=1),
)
ENDPOINTS = described("ENDPOINTS", Column("Endpoints", text(_addresses)), AGE)
ENDPOINT_SLICES = described(
    "ENDPOINT_SLICES",
    Column("AddressType", field("addressType")),
    Column("Ports", text(lambda m: ",".join(str(p.get("port", "*")) for p in at(m, "ports", ())) or "<unset>")),
    Column("Endpoints", text(_slice_addresses)),
    AGE,
)
INGRESSES = described(
    "INGRESSES",
    Column("Class", field("spec.ingressClassName")),
    Column("Hosts", text(_ingress_hosts)),
    Column("Address", text(_ingress_addresses)),
    Column("Ports", text(lambda m: "80, 443" if at(m, "spec.tls") else "80")),
    AGE,
)
POLICIES = described("POLICIES", Column("Pod-Selector", text(lambda m: label_selector(at(m, "spec.podSelector")))), AGE)
