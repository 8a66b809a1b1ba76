"""Rules of what a Service leads to: Endpoints, and the EndpointSlices that took their place."""

import ipaddress
from collections.abc import Iterator, Mapping
from typing import Any

from kubeapi.meta import Manifest
from kubeapi.status import Problem
from kubeserver.kinds.pod_rules.texts import address, duplicate, named, one_of, port_number
from kubeserver.names import dns_label, dns_subdomain, qualified_name
from kubeserver.values import entries, texts

PROTOCOLS = ("SCTP", "TCP", "UDP")
_ADDRESS_TYPES = ("FQDN", "IPv4", "IPv6")
_MOST_ENDPOINTS, _MOST_ADDRESSES = 1000, 100


def default_endpoints(manifest: Manifest) -> None:
    for subset in entries(manifest, "subsets"):
        default_protocols(subset)


def default_slice(manifest: Manifest) -> None:
    default_protocols(manifest)
    for opened in entries(manifest, "ports"):
        opened.setdefault("name", "")


def default_protocols(owner: Manifest) -> None:
    for opened in entries(owner, "ports"):
        opened.setdefault("protocol", "TCP")


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
            problems += one_of(one.get("protocol", "TCP"), PROTOCOLS, f"{where}.ports[{at}].protocol")
    return problems


def validate_slice(manifest: Manifest, old: Manifest | None) -> list[Problem]:
    kind = manifest.get("addressType", "")
    problems = list(one_of(kind, _ADDRESS_TYPES, "addressType") if kind else [Problem.required("addressType")])
    problems += _endpoint_problems(entries(manifest, "endpoints"), kind)
    problems += _port_problems(entries(manifest, "ports"))
    if old is not None and old.get("addressType", "") != kind:
        problems.append(Problem.invalid("addressType", kind, "field is immutable"))
    return problems


def _endpoint_problems(endpoints: list[Manifest], kind: str) -> Iterator[Problem]:
    if len(endpoints) > _MOST_ENDPOINTS:
        yield _too_many("endpoints", len(endpoints), _MOST_ENDPOINTS)
        return
    for index, endpoint in enumerate(endpoints):
        path = f"endpoints[{index}]"
        addresses = texts(endpoint, "addresses")
        if not addresses:
            yield Problem.required(f"{path}.addresses", "must contain at least 1 address")
        elif len(addresses) > _MOST_ADDRESSES:
            yield _too_many(f"{path}.addresses", len(addresses), _MOST_ADDRESSES)
        for at, one in enumerate(addresses):
            yield from _address_problems(one, kind, f"{path}.addresses[{at}]")
        if "hostname" in endpoint:
            yield from named(dns_label, endpoint["hostname"], f"{path}.hostname")


def _address_problems(text: str, kind: str, path: str) -> Iterator[Problem]:
    match kind:
        case "IPv4" if not _of_version(text, 4):
            yield Problem.invalid(path, text, "must be a valid IPv4 address")
        case "IPv6" if not _of_version(text, 6):
            yield Problem.invalid(path, text, "must be a valid IPv6 address")
        case "FQDN":
            name = text.removesuffix(".")
            problems = list(named(dns_subdomain, name, path)) if name else [Problem.required(path)]
            yield from problems
            if not problems and "." not in name:
                yield Problem.invalid(path, name, "should be a domain with at least two segments separated by dots")
        case _:
            pass


def _of_version(text: str, version: int) -> bool:
    try:
        return ipaddress.ip_address(text).version == version
    except ValueError:
        return False


def _port_problems(ports: list[Manifest]) -> Iterator[Problem]:
    names: set[str] = set()
    for index, opened in enumerate(ports):
        path, name = f"ports[{index}]", opened.get("name", "")
        if name:
            yield from named(dns_label, name, f"{path}.name")
        if name in names:
            yield duplicate(f"{path}.name", name)
        names.add(name)
        yield from one_of(opened.get("protocol", "TCP"), PROTOCOLS, f"{path}.protocol")
        yield from _application_problems(opened, path)


def _application_problems(opened: Mapping[str, Any], path: str) -> Iterator[Problem]:
    if "appProtocol" in opened:
        yield from named(qualified_name, opened["appProtocol"], f"{path}.appProtocol")


def _too_many(path: str, count: int, most: int) -> Problem:
    return Problem(path, "FieldValueTooMany", f"Too many: {count}: must have at most {most} items")
