"""The addresses of Pods: each has its own from its start to its end."""

import ipaddress
from collections.abc import Container

from kubeapi.meta import Manifest, ReadOnlyManifest
from leeward.client import WorldError
from leeward.core.interpreter.fields import text_at
from leeward.members.rules.pods import is_finished, is_gone
from leeward.runtime.informer import Informer


class Addresses:
    """Table of the addresses of Pods; addresses that the server has seen survive a restart."""

    def __init__(self, pods: Informer[Manifest]) -> None:
        self._by_uid: dict[str, str] = {}
        self._taken: set[str] = set()
        pods.on_change(self._changed)

    def lease(self, pod: ReadOnlyManifest, pod_cidr: str) -> str:
        """The Pod's address, a fresh one if it has none. Raises: AddressesExhausted."""
        uid = pod["metadata"]["uid"]
        if uid not in self._by_uid:
            address = choose_address(pod_cidr, self._taken)
            if address is None:
                raise AddressesExhausted(f"{pod_cidr}: no free address for Pod {pod['metadata']['name']}")
            self._take(uid, address)
        return self._by_uid[uid]

    def _changed(self, old: Manifest | None, new: Manifest | None) -> None:
        if old is not None and (new is None or is_gone(old, new) or is_finished(new)):
            self._taken.discard(self._by_uid.pop(old["metadata"]["uid"], ""))
        if new is not None and not is_finished(new) and (address := text_at(new, "status", "podIP")):
            self._take(new["metadata"]["uid"], address)

    def _take(self, uid: str, address: str) -> None:
        self._by_uid[uid] = address
        self._taken.add(address)


class AddressesExhausted(WorldError):
    """All addresses of a node's network belong to Pods."""


def choose_address(pod_cidr: str, taken: Container[str]) -> str | None:
    """None when the network is full. Its first address is the gateway's."""
    network = ipaddress.ip_network(pod_cidr)
    usable = (str(network[offset]) for offset in range(2, network.num_addresses - 1))
    return next((address for address in usable if address not in taken), None)
