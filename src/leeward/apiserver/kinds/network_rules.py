"""The rules of what speaks of traffic: Ingresses, NetworkPolicies, Endpoints."""

from collections.abc import Iterator, Mapping
from typing import Any

from leeward.api.meta import Manifest
from leeward.api.status import Problem
from leeward.apiserver.kinds.label_selectors import selector_problems
from leeward.apiserver.kinds.names import dns_subdomain
from leeward.apiserver.kinds.pod_rules.texts import address, named, network, one_of, port, port_number
from leeward.apiserver.values import entries, section, texts

_PATH_TYPES = ("Exact", "ImplementationSpecific", "Prefix")
_PROTOCOLS = ("SCTP", "TCP", "UDP")


def validate_ingress(manifest: Manifest, old: Manifest | None) -> list[Problem]:
    del old
    spec = section(manifest, "spec")
    problems: list[Problem] = []
    if not spec.get("rules") and "defaultBackend" not in spec:
        problems.append(Problem.invalid("spec", None, "either `defaultBackend` or `rules` must be specified"))
    if "defaultBackend" in spec:
        problems += _backend_problems(section(spec, "defaultBackend"), "spec.defaultBackend")
    for index, rule in enumerate(entries(spec, "rules")):
        problems += _rule_problems(rule, f"spec.rules[{index}]")
    return problems


def _rule_problems(rule: Mapping[str, Any], path: str) -> Iterator[Problem]:
    host = rule.get("host", "")
    if host:
        yield from named(dns_subdomain, host.removeprefix("*."), f"{path}.host")
    if "http" in rule:
        paths = entries(section(rule, "http"), "paths")
        if not paths:
            yield Problem.required(f"{path}.http.paths")
        for index, one in enumerate(paths):
            yield from _path_problems(one, f"{path}.http.paths[{index}]")


def _path_problems(one: Mapping[str, Any], path: str) -> Iterator[Problem]:
    kind, text = one.get("pathType"), one.get("path", "")
    if kind is None:
        yield Problem.required(f"{path}.pathType", "pathType must be specified")
    else:
        yield from one_of(kind, _PATH_TYPES, f"{path}.pathType")
        if not text.startswith("/") and (text or kind != "ImplementationSpecific"):
            yield Problem.invalid(f"{path}.path", text, "must be an absolute path")
    yield from _backend_problems(section(one, "backend"), f"{path}.backend")


def _backend_problems(backend: Mapping[str, Any], path: str) -> Iterator[Problem]:
    if "resource" in backend and "service" in backend:
        said = "cannot set both resource and service backends"
        yield Problem.invalid(path, "", said)
    elif "service" in backend:
        yield from _served_problems(section(backend, "service"), f"{path}.service", path)
    elif "resource" not in backend:
        yield Problem.invalid(path, "", "resource or service backend is required")


def _served_problems(service: Mapping[str, Any], path: str, holder: str) -> Iterator[Problem]:
    if not service.get("name"):
        yield Problem.required(f"{path}.name")
    at = section(service, "port")
    if at.get("name") and at.get("number"):
        yield Problem.invalid(holder, "", "cannot set both port name & port number")
    elif not at.get("name") and not at.get("number"):
        yield Problem.required(holder, "port name or number is required")
    elif at.get("number"):
        yield from port_number(at["number"], f"{path}.port.number")


def validate_network_policy(manifest: Manifest, old: Manifest | None) -> list[Problem]:
    del old
    spec = section(manifest, "spec")
    problems = list(selector_problems(section(spec, "podSelector"), "spec.podSelector"))
    for direction, end in (("ingress", "from"), ("egress", "to")):
        for index, rule in enumerate(entries(spec, direction)):
            problems += _traffic_problems(rule, end, f"spec.{direction}[{index}]")
    for index, kind in enumerate(texts(spec, "policyTypes")):
        problems += one_of(kind, ("Ingress", "Egress"), f"spec.policyTypes[{index}]")
    return problems


def _traffic_problems(rule: Mapping[str, Any], end: str, path: str) -> Iterator[Problem]:
    for index, opened in enumerate(entries(rule, "ports")):
        where = f"{path}.ports[{index}]"
        if opened.get("protocol") is not None:
            yield from one_of(opened["protocol"], _PROTOCOLS, f"{where}.protocol")
        if opened.get("port") is not None:
            yield from port(opened["port"], f"{where}.port")
    for index, peer in enumerate(entries(rule, end)):
        yield from _peer_problems(peer, f"{path}.{end}[{index}]")


def _peer_problems(peer: Mapping[str, Any], path: str) -> Iterator[Problem]:
    for field in ("podSelector", "namespaceSelector"):
        yield from selector_problems(section(peer, field), f"{path}.{field}")
    if "ipBlock" in peer:
        block = section(peer, "ipBlock")
        yield from network(block.get("cidr", ""), f"{path}.ipBlock.cidr")
        if "podSelector" in peer or "namespaceSelector" in peer:
            yield Problem.forbidden(path, "may not specify both ipBlock and another peer")
    elif not peer:
        yield Problem.required(path, "must specify a peer")


def validate_endpoints(manifest: Manifest, old: Manifest | None) -> list[Problem]:
    del old
    problems: list[Problem] = []
    for index, subset in enumerate(entries(manifest, "subsets")):
        where = f"subsets[{index}]"
        if not subset.get("addresses") and not subset.get("notReadyAddresses"):
            problems.append(Problem.required(where, "must specify `addresses` or `notReadyAddresses`"))
        for field in ("addresses", "notReadyAddresses"):
            for at, one in enumerate(entries(subset, field)):
                problems += address(one.get("ip", ""), f"{where}.{field}[{at}].ip")
        for at, one in enumerate(entries(subset, "ports")):
            problems += port_number(one.get("port", 0), f"{where}.ports[{at}].port")
            problems += one_of(one.get("protocol", "TCP"), _PROTOCOLS, f"{where}.ports[{at}].protocol")
    return problems
