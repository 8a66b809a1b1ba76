"""Address of a Pod in its node's network: the first that no other Pod has."""

import ipaddress
from collections.abc import Container


def choose_address(pod_cidr: str, taken: Container[str]) -> str | None:
    """None when the network is full. Its first address is the gateway's."""
    network = ipaddress.ip_network(pod_cidr)
    usable = (str(network[offset]) for offset in range(2, network.num_addresses - 1))
    return next((address for address in usable if address not in taken), None)
