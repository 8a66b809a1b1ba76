"""Addresses at which a simulated cluster is reached from outside: of its LoadBalancer Services, and of its Ingresses.

Each cluster has a range of its own, so that one sees from an address where it leads. The first address is that of the
ingress controller, and all Ingresses have it.
"""

import hashlib
import ipaddress
from collections.abc import Iterable

from kubeapi.meta import Manifest, ReadOnlyManifest
from kubeapi.unstructured import list_at, mapping_at, text_at

_NETWORK = ipaddress.ip_network("172.24.0.0/13")
_PREFIX = 24


def load_balancer_range(cluster: str) -> str:
    """The range of a cluster, which follows from its name."""
    count = 2 ** (_PREFIX - _NETWORK.prefixlen)
    index = int.from_bytes(hashlib.sha256(cluster.encode()).digest()[:8]) % count
    return str(ipaddress.ip_network((int(_NETWORK[0]) + (index << (32 - _PREFIX)), _PREFIX)))


def ingress_address(addresses: str) -> str:
    return str(ipaddress.ip_network(addresses)[1])


def is_load_balancer(service: ReadOnlyManifest) -> bool:
    return text_at(service, "spec", "type") == "LoadBalancer"


def external_addresses(manifest: ReadOnlyManifest) -> list[str]:
    """Addresses in the Service's status."""
    return [text_at(entry, "ip") for entry in list_at(manifest, "status", "loadBalancer", "ingress")]


def free_address(addresses: str, services: Iterable[ReadOnlyManifest]) -> str | None:
    """First address that no Service has; None when all are taken. The ingress controller's own is not among them."""
    taken = {address for service in services for address in external_addresses(service)}
    network = ipaddress.ip_network(addresses)
    usable = (str(network[offset]) for offset in range(2, network.num_addresses - 1))
    return next((address for address in usable if address not in taken), None)


def balanced_status(manifest: ReadOnlyManifest, address: str | None) -> Manifest:
    """The status with this address; with none for None."""
    entry: Manifest = {"ip": address}
    if manifest.get("kind") == "Service":
        entry["ipMode"] = "VIP"
    return {**mapping_at(manifest, "status"), "loadBalancer": {"ingress": [entry]} if address else {}}
