"""Node ports: the ports of Services that are reached from outside, each given to one Service only."""

from collections.abc import Iterable

from kubeapi.meta import Manifest, ReadOnlyManifest
from kubeapi.status import Problem
from kubeserver.errors import Refused, internal_error, invalid
from kubeserver.kinds.service_types import OPENED, needs_health_port
from kubeserver.values import entries, section

FIRST, LAST = 30000, 32767


class NodePorts:
    """Ports of nodes; what is taken is known from the Services that there are."""

    def __init__(self, services: Iterable[ReadOnlyManifest]) -> None:
        self._taken = {port for service in services for port in node_ports(service)}
        self._next = FIRST

    def take(self, new: Manifest, old: ReadOnlyManifest | None) -> None:
        """Gives `new`, which was checked, the ports that it needs."""
        spec = section(new, "spec")
        held = node_ports(old) if old is not None else set[int]()
        if spec.get("type") not in OPENED:
            for port in entries(spec, "ports"):
                if port.get("nodePort") in held:
                    del port["nodePort"]
            return
        for port in entries(spec, "ports"):
            if not port.get("nodePort"):
                port["nodePort"] = self._pick()
            self._taken.add(port["nodePort"])
        if needs_health_port(spec):
            before = section(old, "spec").get("healthCheckNodePort") if old is not None else None
            spec["healthCheckNodePort"] = spec.get("healthCheckNodePort") or before or self._pick()
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

    def _pick(self) -> int:
        """The next free one after the one given out last."""
        size = LAST - FIRST + 1
        for step in range(size):
            port = FIRST + (self._next - FIRST + step) % size
            if port not in self._taken:
                self._next = port + 1
                return port
        raise internal_error(f"failed to allocate a nodePort: the range {FIRST}-{LAST} is full")


def node_ports(service: ReadOnlyManifest) -> set[int]:
    spec = section(service, "spec")
    ports = entries(spec, "ports") if spec.get("type") in OPENED else []
    given = [*(port.get("nodePort") for port in ports), spec.get("healthCheckNodePort") if ports else None]
    return {port for port in given if port}


def _refused(service: ReadOnlyManifest, problem: Problem) -> Refused:
    return invalid("", "Service", service["metadata"]["name"], [problem])
