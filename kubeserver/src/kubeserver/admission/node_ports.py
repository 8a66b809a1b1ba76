"""Node ports: the ports of Services that are reached from outside, each given to one Service only.

As a kube-apiserver does, ports are given out of the upper band, and those below are for who asks for one by hand. Where
the search begins comes from the Service's uid, so that two clusters seldom give out the same port.
"""

import zlib
from collections.abc import Iterable, Iterator
from itertools import chain

from kubeapi.meta import Manifest, ReadOnlyManifest
from kubeapi.status import Problem
from kubeserver.errors import Refused, internal_error, invalid
from kubeserver.kinds.service_types import OPENED, needs_health_port
from kubeserver.values import entries, section

FIRST, LAST = 30000, 32767
BAND = 86
"""Number of ports at the beginning of the range that are given out last. Kubernetes: size / 32, from 16 to 128."""


class NodePorts:
    """Ports of nodes; what is taken is known from the Services that there are."""

    def __init__(self, services: Iterable[ReadOnlyManifest]) -> None:
        self._taken = {port for service in services for port in node_ports(service)}

    def take(self, new: Manifest, old: ReadOnlyManifest | None) -> None:
        """Gives `new`, which was checked, the ports that it needs."""
        spec = section(new, "spec")
        held = node_ports(old) if old is not None else set[int]()
        if spec.get("type") not in OPENED:
            for port in entries(spec, "ports"):
                if port.get("nodePort") in held:
                    del port["nodePort"]
            return
        _keep(spec, old)
        search = self._search(new)
        for port in entries(spec, "ports"):
            if not port.get("nodePort"):
                port["nodePort"] = next(search)
            self._taken.add(port["nodePort"])
        if needs_health_port(spec):
            before = section(old, "spec").get("healthCheckNodePort") if old is not None else None
            spec["healthCheckNodePort"] = spec.get("healthCheckNodePort") or before or next(search)
            self._taken.add(spec["healthCheckNodePort"])

    def give_back(self, service: ReadOnlyManifest, kept: ReadOnlyManifest | None) -> None:
        """Frees the ports of `service` that `kept` does not have."""
        self._taken -= node_ports(service) - (node_ports(kept) if kept is not None else set())

    def check(self, service: ReadOnlyManifest, old: ReadOnlyManifest | None) -> None:
        """Raises: Refused for ports that cannot be had."""
        held = node_ports(old) if old is not None else set[int]()
        if section(service, "spec").get("type") not in OPENED:
            return
        for index, port in enumerate(entries(section(service, "spec"), "ports")):
            asked = port.get("nodePort")
            if asked and asked not in held:
                self._check_one(service, asked, f"spec.ports[{index}].nodePort")
        asked = section(service, "spec").get("healthCheckNodePort")
        if asked and asked not in held:
            self._check_one(service, asked, "spec.healthCheckNodePort")

    def _check_one(self, service: ReadOnlyManifest, asked: int, path: str) -> None:
        if not FIRST <= asked <= LAST:
            said = f"provided port is not in the valid range. The range of valid ports is {FIRST}-{LAST}"
            raise _refused(service, Problem.invalid(path, asked, said))
        if asked in self._taken:
            raise _refused(service, Problem.invalid(path, asked, "provided port is already allocated"))

    def _search(self, service: ReadOnlyManifest) -> Iterator[int]:
        """The free ports: of the upper band from somewhere on, then those for use by hand. Raises: APIError."""
        metadata = service["metadata"]
        seed = metadata.get("uid") or f"{metadata.get('namespace')}/{metadata['name']}"
        size = LAST - FIRST + 1 - BAND
        start = zlib.crc32(seed.encode()) % size
        upper = (FIRST + BAND + (start + step) % size for step in range(size))
        for port in chain(upper, range(FIRST, FIRST + BAND)):
            if port not in self._taken:
                yield port
        raise internal_error(f"failed to allocate a nodePort: the range {FIRST}-{LAST} is full")


def _keep(spec: Manifest, old: ReadOnlyManifest | None) -> None:
    """Leaves ports as they are where an update says nothing of them. Kubernetes: `patchAllocatedValues`."""
    if old is None or section(old, "spec").get("type") not in OPENED:
        return
    ports = entries(spec, "ports")
    asked = {port.get("nodePort") for port in ports}
    before = {_key(port): port.get("nodePort") for port in entries(section(old, "spec"), "ports")}
    for port in ports:
        kept = before.get(_key(port))
        if not port.get("nodePort") and kept and kept not in asked:
            port["nodePort"] = kept


def _key(port: ReadOnlyManifest) -> tuple[object, object]:
    return port.get("port"), port.get("protocol") or "TCP"


def node_ports(service: ReadOnlyManifest) -> set[int]:
    spec = section(service, "spec")
    ports = entries(spec, "ports") if spec.get("type") in OPENED else []
    given = [*(port.get("nodePort") for port in ports), spec.get("healthCheckNodePort") if ports else None]
    return {port for port in given if port}


def _refused(service: ReadOnlyManifest, problem: Problem) -> Refused:
    return invalid("", "Service", service["metadata"]["name"], [problem])
