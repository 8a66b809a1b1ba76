"""Address of a webhook, and the port through which it is called.

A Service leads to its external name, or else to the first ready endpoint of its port: there is no network of a cluster
around this server that would carry requests to a cluster IP. The webhook shows a certificate for `NAME.NAMESPACE.svc`.

Kubernetes: apiserver/pkg/util/proxy; same names, but its default is the cluster IP, which nobody routes here.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import urlsplit

from kubeapi import codec
from kubeapi.meta import Manifest, ReadOnlyManifest
from kubeserver.store import Store
from kubeserver.values import entries, section, texts
from kubeserver.webhooks.configuration import ClientConfig, Configured, ServiceReference

_SLICES = "/discovery.k8s.io/endpointslices/"


class Uncallable(Exception):
    """A webhook that cannot be reached, or that answers with an error; the message says why."""


class LeadsNowhere(Uncallable):
    """The Service of a webhook is not there, or has no endpoints."""


@dataclass(frozen=True, slots=True)
class Address:
    """`url` has scheme, host and path; `server_name` is who the certificate must be for, where that is not the host."""

    url: str
    authority: str = ""
    server_name: str = ""


class WebhookClient(Protocol):
    async def post(self, address: Address, body: bytes, timeout_seconds: float) -> bytes:
        """The body of the answer, which was a good one. Raises: Uncallable."""
        ...

    async def close(self) -> None:
        """Lets go of all connections."""
        ...


PassedOver = Callable[[Configured], bool]
"""Predicate that tells whether a webhook whose Service leads nowhere is passed over, whatever its `failurePolicy`
says."""


def nobody(webhook: Configured) -> bool:
    """Passes over no webhook for its absence."""
    return False


class NoCalls:
    """A server that has no way out."""

    async def post(self, address: Address, body: bytes, timeout_seconds: float) -> bytes:
        raise Uncallable(f"this server was started without a way to call webhooks, as that at {address.url}")

    async def close(self) -> None:
        """Closes nothing: there is nothing to let go of."""


def address_of(client: ClientConfig, store: Store) -> Address:
    """Raises: LeadsNowhere; Uncallable when the Service has not that port."""
    if client.service is None:
        return Address(client.url, client.authority)
    reference = client.service
    host = _host(reference, store)
    path = reference.path if reference.path.startswith("/") else f"/{reference.path}"
    return Address(f"https://{host}{path}", client.authority, f"{reference.name}.{reference.namespace}.svc")


def split_url(url: str) -> tuple[str, str]:
    """The part that leads to the server, and the path there."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}", parts.path or "/"


def _host(reference: ServiceReference, store: Store) -> str:
    record = store.get(f"//services/{reference.namespace}/{reference.name}")
    if record is None:
        raise LeadsNowhere(f'service "{reference.name}" not found in the namespace "{reference.namespace}"')
    spec = section(codec.decode_manifest(record.value), "spec")
    if spec.get("type") == "ExternalName":
        return f"{spec['externalName']}:{reference.port}"
    port = next((port for port in entries(spec, "ports") if port.get("port") == reference.port), None)
    if port is None:
        raise Uncallable(f'no service port {reference.port} found for service "{reference.name}"')
    host = next(_endpoints(reference, store, port.get("name", "")), "")
    if not host:
        raise LeadsNowhere(f'no endpoints available for service "{reference.name}"')
    return host


def _endpoints(reference: ServiceReference, store: Store, port_name: str) -> Iterator[str]:
    """`host:port` of what is ready, by EndpointSlices, then by Endpoints."""
    for record in store.list(f"{_SLICES}{reference.namespace}/").records:
        found = codec.decode_manifest(record.value)
        if section(found["metadata"], "labels").get("kubernetes.io/service-name") == reference.name:
            yield from _of_slice(found, port_name)
    record = store.get(f"//endpoints/{reference.namespace}/{reference.name}")
    for subset in entries(codec.decode_manifest(record.value), "subsets") if record else ():
        addresses = [address["ip"] for address in entries(subset, "addresses")]
        yield from _joined(addresses, subset, port_name)


def _of_slice(found: Manifest, port_name: str) -> Iterator[str]:
    ready = [each for each in entries(found, "endpoints") if section(each, "conditions").get("ready", True)]
    addresses = [address for each in ready for address in texts(each, "addresses")]
    yield from _joined(addresses, found, port_name)


def _joined(addresses: list[str], owner: ReadOnlyManifest, port_name: str) -> Iterator[str]:
    ports: list[Any] = [port["port"] for port in entries(owner, "ports") if (port.get("name") or "") == port_name]
    for address in addresses:
        for port in ports:
            yield f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
