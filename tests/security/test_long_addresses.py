"""Lists of addresses: each text is read once, however many rules ask about it.

    has            the right to write one Service or NetworkPolicy
    does           names tens of thousands of addresses and networks
    must not get   a server that reads each of them three to five times in one piece of work

Holds: L4.
"""

import ipaddress
import socket
from collections.abc import Callable
from types import ModuleType
from unittest import mock

import pytest

from kubeapi.meta import Manifest
from tests.kubeserver.api_world import ApiWorld, tell

MANY = 2_000
CORE, NETWORKING = (
    "/api/v1/namespaces/default/services",
    "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies",
)


def service(**spec: object) -> Manifest:
    ports = [{"port": 80}]
    return {"kind": "Service", "apiVersion": "v1", "metadata": {"name": "a"}, "spec": {"ports": ports, **spec}}


def network_policy(excepted: list[str]) -> Manifest:
    block = {"cidr": "10.0.0.0/8", "except": excepted}
    spec: Manifest = {"podSelector": {}, "ingress": [{"from": [{"ipBlock": block}]}]}
    return {"kind": "NetworkPolicy", "apiVersion": "networking.k8s.io/v1", "metadata": {"name": "a"}, "spec": spec}


ADDRESSES = [f"2001:db8::{number:x}" for number in range(MANY)]
NETWORKS = [f"10.0.{number >> 8}.{number & 255}/32" for number in range(MANY)]
WRITES: list[tuple[str, Manifest, ModuleType, str]] = [
    (CORE, service(externalIPs=ADDRESSES), socket, "inet_pton"),
    (CORE, service(type="LoadBalancer", loadBalancerSourceRanges=NETWORKS), ipaddress, "IPv4Address"),
    (NETWORKING, network_policy(NETWORKS), ipaddress, "IPv4Address"),
]


@pytest.mark.parametrize(("path", "manifest", "module", "reader"), WRITES, ids=["addresses", "ranges", "exceptions"])
def test_l4_an_address_is_read_once(path: str, manifest: Manifest, module: ModuleType, reader: str) -> None:
    read = list[object]()
    read_one: Callable[..., object] = getattr(module, reader)

    def counted(*given: object) -> object:
        if isinstance(given[-1], str):
            read.append(given[-1])
        return read_one(*given)

    async def story(world: ApiWorld) -> None:
        with mock.patch.object(module, reader, counted):
            assert (await world.create(path, manifest)).code == 201
        assert MANY <= len(read) <= MANY + 10

    tell(story)
