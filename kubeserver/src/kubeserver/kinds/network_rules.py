"""The rules of NetworkPolicies: which traffic there may be, from where, to where, at which ports."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from kubeapi.meta import Manifest
from kubeapi.status import Problem
from kubeserver.kinds.endpoint_rules import PROTOCOLS, default_protocols
from kubeserver.kinds.label_selectors import selector_problems
from kubeserver.kinds.pod_rules.texts import network, one_of, port, port_number, read_network, whole_network
from kubeserver.values import entries, grown, section, texts

_BlockRule = Callable[[str, str], Iterator[Problem]]
_DIRECTIONS = (("ingress", "from"), ("egress", "to"))


def default_network_policy(manifest: Manifest) -> None:
    """Ingress is always governed, egress where there are rules for it."""
    spec = grown(manifest, "spec")
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if "egress" in spec else ["Ingress"]
    for direction, _ in _DIRECTIONS:
        for rule in entries(spec, direction):
            default_protocols(rule)


def validate_network_policy(manifest: Manifest, old: Manifest | None) -> list[Problem]:
    spec = section(manifest, "spec")
    problems = list(selector_problems(section(spec, "podSelector"), "spec.podSelector"))
    known = set(_networks(section(old, "spec"))) if old is not None else set[str]()

    def judge(text: str, path: str) -> Iterator[Problem]:
        return (network if text in known else whole_network)(text, path)

    for direction, end in _DIRECTIONS:
        for index, rule in enumerate(entries(spec, direction)):
            problems += _traffic_problems(rule, end, f"spec.{direction}[{index}]", judge)
    for index, kind in enumerate(texts(spec, "policyTypes")):
        problems += one_of(kind, ("Ingress", "Egress"), f"spec.policyTypes[{index}]")
    return problems


def _networks(spec: Mapping[str, Any]) -> Iterator[str]:
    for direction, end in _DIRECTIONS:
        for rule in entries(spec, direction):
            for peer in entries(rule, end):
                block = section(peer, "ipBlock")
                yield from (block.get("cidr", ""), *texts(block, "except"))


def _traffic_problems(rule: Mapping[str, Any], end: str, path: str, block: _BlockRule) -> Iterator[Problem]:
    """Problems of a rule; `block` judges its networks."""
    for index, opened in enumerate(entries(rule, "ports")):
        yield from _port_problems(opened, f"{path}.ports[{index}]")
    for index, peer in enumerate(entries(rule, end)):
        yield from _peer_problems(peer, f"{path}.{end}[{index}]", block)


def _port_problems(opened: Mapping[str, Any], path: str) -> Iterator[Problem]:
    if opened.get("protocol") is not None:
        yield from one_of(opened["protocol"], PROTOCOLS, f"{path}.protocol")
    first, last = opened.get("port"), opened.get("endPort")
    if first is not None:
        yield from port(first, f"{path}.port")
    if last is None:
        return
    if first is None:
        yield Problem.invalid(f"{path}.endPort", last, "may not be specified when `port` is not specified")
    elif isinstance(first, str):
        yield Problem.invalid(f"{path}.endPort", last, "may not be specified when `port` is non-numeric")
    else:
        if last < first:
            yield Problem.invalid(f"{path}.endPort", first, "must be greater than or equal to `port`")
        yield from port_number(last, f"{path}.endPort")


def _peer_problems(peer: Mapping[str, Any], path: str, block: _BlockRule) -> Iterator[Problem]:
    for field in ("podSelector", "namespaceSelector"):
        yield from selector_problems(section(peer, field), f"{path}.{field}")
    if "ipBlock" in peer:
        yield from _block_problems(section(peer, "ipBlock"), f"{path}.ipBlock", block)
        if "podSelector" in peer or "namespaceSelector" in peer:
            yield Problem.forbidden(path, "may not specify both ipBlock and another peer")
    elif not peer:
        yield Problem.required(path, "must specify a peer")


def _block_problems(block: Mapping[str, Any], path: str, judge: _BlockRule) -> Iterator[Problem]:
    cidr = block.get("cidr", "")
    if not cidr:
        yield Problem.required(f"{path}.cidr")
        return
    problems = list(judge(cidr, f"{path}.cidr"))
    yield from problems
    if not problems:
        for index, text in enumerate(texts(block, "except")):
            yield from _exception_problems(text, cidr, f"{path}.except[{index}]", judge)


def _exception_problems(text: str, cidr: str, path: str, judge: _BlockRule) -> Iterator[Problem]:
    problems = list(judge(text, path))
    yield from problems
    if not problems and not _strictly_within(text, cidr):
        yield Problem.invalid(path, text, "must be a strict subset of `cidr`")


def _strictly_within(text: str, cidr: str) -> bool:
    inner, outer = read_network(text), read_network(cidr)
    if inner is None or outer is None:
        return False
    return inner.network.network_address in outer.network and inner.network.prefixlen > outer.network.prefixlen
