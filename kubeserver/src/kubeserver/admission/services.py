"""Cluster IPs and node ports: each Service gets an address of the range, and ports where it is reached from outside.

What is taken is rebuilt from the store at start; afterwards writes reserve and deletions release.
"""

import ipaddress
from collections.abc import Iterable, Sequence
from typing import cast

from kubeapi import codec
from kubeapi.meta import Manifest, ReadOnlyManifest
from kubeapi.status import Problem
from kubeserver.admission.node_ports import NodePorts
from kubeserver.errors import internal_error, invalid
from kubeserver.kinds.service_types import drop_useless
from kubeserver.values import grown, section, texts

_HEADLESS = "None"
_CHECKED_VERSION = 4
"""Version of the range; Services say that their addresses are IPv4 where they say nothing."""


class ServiceAddresses:
    """The hook of Services."""

    def __init__(self, cidr: str, stored: Iterable[bytes]) -> None:
        self._network = ipaddress.ip_network(cidr)
        values = [codec.decode_manifest(value) for value in stored]
        self._taken = {address for value in values for address in addresses_of(value)}
        self._next = 1
        self._ports = NodePorts(values)

    def before_write(self, new: Manifest, old: ReadOnlyManifest | None) -> None:
        """Raises: Refused when an address is asked for that cannot be had."""
        spec = grown(new, "spec")
        if old is not None:
            drop_useless(new, old)
        if spec.get("type") == "ExternalName":
            spec.pop("clusterIP", None)
            spec.pop("clusterIPs", None)
            self._ports.take(new, old)
            return
        if self._network.version == _CHECKED_VERSION:
            _check_families(new, spec)
        self._ports.check(new, old)
        held = addresses_of(old) if old is not None else ()
        if held and not spec.get("clusterIP"):
            spec["clusterIP"] = held[0]
        asked = cast(str, spec.get("clusterIP") or "")
        if asked not in (_HEADLESS, *held):
            spec["clusterIP"] = self._claim(new, asked) if asked else self._pick()
            self._taken.add(spec["clusterIP"])
        spec["clusterIPs"] = [spec["clusterIP"]]
        self._ports.take(new, old)

    def not_written(self, new: ReadOnlyManifest, old: ReadOnlyManifest | None) -> None:
        held = addresses_of(old) if old is not None else ()
        self._taken.difference_update(address for address in addresses_of(new) if address not in held)
        self._ports.give_back(new, old)

    def after_write(self, new: ReadOnlyManifest, old: ReadOnlyManifest | None) -> None:
        if old is not None:
            kept = addresses_of(new)
            self._taken.difference_update(address for address in addresses_of(old) if address not in kept)
            self._ports.give_back(old, new)

    def after_delete(self, old: ReadOnlyManifest) -> None:
        self._taken.difference_update(addresses_of(old))
        self._ports.give_back(old, None)

    def _claim(self, service: ReadOnlyManifest, address: str) -> str:
        name = service["metadata"]["name"]
        try:
            inside = ipaddress.ip_address(address) in self._network
        except ValueError:
            said = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
            raise invalid("", "Service", name, [Problem.invalid("spec.clusterIPs[0]", address, said)]) from None
        if not inside or address in self._taken:
            why = "provided IP is already allocated" if inside else f"the provided IP is not in {self._network}"
            said = f"failed to allocate IP {address}: {why}"
            raise invalid("", "Service", name, [Problem.invalid("spec.clusterIPs", [address], said)])
        return address

    def _pick(self) -> str:
        """The next free address after the one given out last, so that addresses are not reused at once."""
        size = self._network.num_addresses
        for step in range(size - 2):
            offset = (self._next + step - 1) % (size - 2) + 1
            address = str(self._network[offset])
            if address not in self._taken:
                self._next = offset + 1
                return address
        raise internal_error(f"failed to allocate a serviceIP: the range {self._network} is full")


def _check_families(service: ReadOnlyManifest, spec: Manifest) -> None:
    """The range has one family. Who writes addresses by hand, headless and without a selector, may have both."""
    if spec.get("clusterIP") == _HEADLESS and not spec.get("selector"):
        return
    problems: list[Problem] = []
    policy = spec.get("ipFamilyPolicy")
    if policy == "RequireDualStack":
        said = "this cluster is not configured for dual-stack services"
        problems.append(Problem.invalid("spec.ipFamilyPolicy", policy, said))
    for index, family in enumerate(texts(spec, "ipFamilies")):
        if family != "IPv4":
            problems.append(Problem.invalid(f"spec.ipFamilies[{index}]", family, "not configured on this cluster"))
    if problems:
        raise invalid("", "Service", service["metadata"]["name"], problems)


def addresses_of(service: ReadOnlyManifest) -> Sequence[str]:
    """The addresses of the range that a Service has."""
    spec = section(service, "spec")
    address = spec.get("clusterIP")
    return (address,) if address and address != _HEADLESS else ()
