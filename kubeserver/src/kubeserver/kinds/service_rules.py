"""The rules of Services: their ports and addresses. What goes with which type is in `service_types.py`."""

import ipaddress
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kubeapi.codec import encode
from kubeapi.meta import Manifest
from kubeapi.status import Problem
from kubeserver.kinds.label_selectors import label_problems
from kubeserver.kinds.pod_rules.containers import PROTOCOLS
from kubeserver.kinds.pod_rules.texts import address, duplicate, named, network, port_number, read_address
from kubeserver.kinds.pod_rules.texts import port as port_or_name
from kubeserver.kinds.service_types import OPENED, type_problems
from kubeserver.names import dns_label, dns_subdomain
from kubeserver.values import entries, section

SERVICE_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
AFFINITIES = ("ClientIP", "None")
_TAKEN = "FieldValueDuplicate"
_MAX_AFFINITY_SECONDS = 86_400
_LINK_LOCAL_MULTICAST = ipaddress.ip_network("224.0.0.0/24")


def validate_service(manifest: Manifest, old: Manifest | None) -> list[Problem]:
    spec = section(manifest, "spec")
    ports = entries(spec, "ports")
    problems = [*_ports_problems(ports), *_address_problems(spec)]
    if spec["type"] == "ClusterIP":
        said = "may not be used when `type` is 'ClusterIP'"
        used = (index for index, port in enumerate(ports) if port.get("nodePort"))
        problems += [Problem.forbidden(f"spec.ports[{index}].nodePort", said) for index in used]
    before = section(old, "spec") if old is not None else None
    problems += [*_address_type_problems(spec), *type_problems(spec, before)]
    problems += [*_balancer_problems(spec), *_affinity_problems(spec)]
    if not ports and spec["type"] != "ExternalName" and spec.get("clusterIP") != "None":
        problems.append(Problem.required("spec.ports"))
    if spec["type"] not in SERVICE_TYPES:
        problems.append(Problem.not_supported("spec.type", spec["type"], SERVICE_TYPES))
    if spec["type"] == "ExternalName" and not spec.get("externalName"):
        problems.append(Problem.required("spec.externalName"))
    if spec["sessionAffinity"] not in AFFINITIES:
        problems.append(Problem.not_supported("spec.sessionAffinity", spec["sessionAffinity"], AFFINITIES))
    address_before = before.get("clusterIP") if before and before["type"] != "ExternalName" else None
    if address_before and spec["type"] != "ExternalName" and spec.get("clusterIP") != address_before:
        problems.append(Problem.invalid("spec.clusterIPs[0]", [spec.get("clusterIP")], "may not change once set"))
    return problems


def _address_problems(spec: Mapping[str, Any]) -> Iterator[Problem]:
    yield from label_problems(section(spec, "selector"), "spec.selector")
    for index, text in enumerate(spec.get("externalIPs") or ()):
        where = f"spec.externalIPs[{index}]"
        yield from address(text, where)
        if (found := read_address(text)) is not None:
            yield from (Problem.invalid(where, text, said) for said in _not_outside(text, found))


def _not_outside(text: str, found: ipaddress.IPv4Address | ipaddress.IPv6Address) -> Iterator[str]:
    """Addresses that mean something else on every machine."""
    if found.is_unspecified:
        yield f"may not be unspecified ({text})"
    if found.is_loopback:
        yield "may not be in the loopback range (127.0.0.0/8, ::1/128)"
    if found.is_link_local:
        yield "may not be in the link-local range (169.254.0.0/16, fe80::/10)"
    if found in _LINK_LOCAL_MULTICAST:
        yield "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"


def _address_type_problems(spec: Mapping[str, Any]) -> Iterator[Problem]:
    """Problems of addresses that go with another type of Service."""
    kind, address_of_cluster = spec["type"], spec.get("clusterIP")
    if kind == "ExternalName":
        if address_of_cluster:
            yield Problem.forbidden("spec.clusterIPs", "may not be set for ExternalName services")
        if spec.get("externalName"):
            yield from named(dns_subdomain, spec["externalName"].removesuffix("."), "spec.externalName")
    elif kind in OPENED and address_of_cluster == "None":
        yield Problem.invalid("spec.clusterIPs[0]", "None", f"may not be set to 'None' for {kind} services")


def _balancer_problems(spec: Mapping[str, Any]) -> Iterator[Problem]:
    ranges = spec.get("loadBalancerSourceRanges") or ()
    if ranges and spec["type"] != "LoadBalancer":
        yield Problem.forbidden("spec.LoadBalancerSourceRanges", "may only be used when `type` is 'LoadBalancer'")
    for index, text in enumerate(ranges):
        yield from network(text.strip(), f"spec.LoadBalancerSourceRanges[{index}]")


def _affinity_problems(spec: Mapping[str, Any]) -> Iterator[Problem]:
    if spec["sessionAffinity"] == "ClientIP":
        seconds = section(section(spec, "sessionAffinityConfig"), "clientIP").get("timeoutSeconds", 0)
        if not 0 < seconds <= _MAX_AFFINITY_SECONDS:
            where = "spec.sessionAffinityConfig.clientIP.timeoutSeconds"
            yield Problem.invalid(where, seconds, f"must be greater than 0 and less than {_MAX_AFFINITY_SECONDS}")


def _ports_problems(ports: Sequence[Mapping[str, Any]]) -> Iterator[Problem]:
    seen: set[str] = set()
    taken: set[tuple[str, int]] = set()
    nodes: set[tuple[str, int]] = set()
    for index, port in enumerate(ports):
        path, name = f"spec.ports[{index}]", str(port.get("name") or "")
        if len(ports) > 1 and not name:
            yield Problem.required(f"{path}.name")
        if name:
            yield from (Problem.invalid(f"{path}.name", name, said) for said in dns_label(name))
            if name in seen:
                yield duplicate(f"{path}.name", name)
        seen.add(name)
        yield from port_number(port.get("port", 0), f"{path}.port")
        if port["protocol"] not in PROTOCOLS:
            yield Problem.not_supported(f"{path}.protocol", port["protocol"], PROTOCOLS)
        yield from port_or_name(port["targetPort"], f"{path}.targetPort")
        served = (port["protocol"], port.get("port", 0))
        if served in taken:
            shown = {"Name": "", "Protocol": served[0], "AppProtocol": None, "Port": served[1]}
            yield Problem(
                path, _TAKEN, f"Duplicate value: {encode({**shown, 'TargetPort': 0, 'NodePort': 0}).decode()}"
            )
        taken.add(served)
        if port.get("nodePort"):
            opened = (port["protocol"], port["nodePort"])
            if opened in nodes:
                yield Problem(f"{path}.nodePort", _TAKEN, f"Duplicate value: {opened[1]}")
            nodes.add(opened)


def validate_service_status(manifest: Manifest, old: Manifest | None) -> list[Problem]:
    del old
    ingress = section(section(manifest, "status"), "loadBalancer").get("ingress")
    if ingress and section(manifest, "spec").get("type") != "LoadBalancer":
        said = "may only be used when `spec.type` is 'LoadBalancer'"
        return [Problem.forbidden("status.loadBalancer.ingress", said)]
    return []
