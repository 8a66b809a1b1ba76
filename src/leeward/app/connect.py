"""Connections of the control plane to members: the endpoint of its Cluster, and the credential of its Secret.

Karmada: pkg/util/membercluster_client.go and pkg/util/proxy; the same keys (`token`, `caBundle`).
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from urllib.parse import urlsplit

from kubeapi.core import Secret
from kubeapi.errors import NoCredential
from kubeapi.urls import endpoint_fault, proxy_fault, proxy_scheme_fault
from kubeclient import MEMBER_BOUNDS, Client, Request, Response, Transport
from kubeclient.connection import Connection, transport_of
from kubeclient.forwarding import Forwarder
from leeward.api.cluster import Cluster
from leeward.api.names import ALLOW_HTTP_ANNOTATION
from leeward.api.rules.member_addresses import (
    DEFAULT_RULES,
    AddressRules,
    Network,
    plain_http_fault,
    rules_of_control_plane,
)

TOKEN_KEY, CA_KEY = "token", "caBundle"


RESOLVE_SECONDS = 5.0


async def address_rules(server: str, allowed: tuple[Network, ...] = ()) -> AddressRules:
    """The rules for members beside the control plane at the URL `server`, whose name is resolved once."""
    url = urlsplit(server)
    try:
        async with asyncio.timeout(RESOLVE_SECONDS):
            found = await asyncio.get_running_loop().getaddrinfo(url.hostname, url.port, type=socket.SOCK_STREAM)
    except (OSError, TimeoutError):
        found = []
    return rules_of_control_plane(server, [str(address[0]) for *_, address in found], allowed)


def connect(cluster: Cluster, secret: Secret | None, addresses: AddressRules = DEFAULT_RULES) -> Client:
    """A client of the member; when it cannot be built, one that says why at every request."""
    return Client(transport_to(cluster, secret, addresses), "leeward-controller-manager")


def transport_to(cluster: Cluster, secret: Secret | None, addresses: AddressRules = DEFAULT_RULES) -> Transport:
    """The way to a member; when it cannot be built, one that says why at every request."""
    try:
        return transport_of(connection_of(cluster, secret, addresses))
    except ValueError as error:
        return UnusableTransport(str(error))


def connection_of(cluster: Cluster, secret: Secret | None, addresses: AddressRules = DEFAULT_RULES) -> Connection:
    """Raises: ValueError that names a missing value, or one that may not be asked."""
    spec = cluster.spec
    _check_addresses(cluster, addresses)
    if spec.secret_ref is None:
        raise ValueError("spec.secretRef of the Cluster is not set")
    name = f"{spec.secret_ref.namespace}/{spec.secret_ref.name}"
    if secret is None:
        raise ValueError(f"the Secret {name} does not exist")
    return Connection(
        server=spec.api_endpoint,
        certificate_authority=secret.data.get(CA_KEY, b""),
        insecure_skip_tls_verify=spec.insecure_skip_tls_verification,
        proxy_url=spec.proxy_url,
        token=_token(secret),
        addresses=addresses,
        bounds=MEMBER_BOUNDS,
    )


def reach(
    cluster: Cluster, authority: Secret | None, impersonator: Secret, addresses: AddressRules = DEFAULT_RULES
) -> Forwarder:
    """The way for users' own requests. Without `authority`, the system's CAs are trusted. Raises: ValueError."""
    spec = cluster.spec
    _check_addresses(cluster, addresses)
    return Forwarder(
        Connection(
            server=spec.api_endpoint,
            certificate_authority=authority.data.get(CA_KEY, b"") if authority is not None else b"",
            insecure_skip_tls_verify=spec.insecure_skip_tls_verification,
            proxy_url=spec.proxy_url,
            token=_token(impersonator),
            addresses=addresses,
        )
    )


def reaching(addresses: AddressRules) -> Callable[[Cluster, Secret | None, Secret], Forwarder]:
    """`reach` under these rules."""
    return lambda cluster, authority, impersonator: reach(cluster, authority, impersonator, addresses)


def connecting(addresses: AddressRules) -> Callable[[Cluster, Secret | None], Client]:
    """`connect` under these rules."""
    return lambda cluster, secret: connect(cluster, secret, addresses)


def _check_addresses(cluster: Cluster, addresses: AddressRules) -> None:
    """Checks addresses again at the time of use: admission may not have been asked, or by other rules.
    Raises: ValueError."""
    spec = cluster.spec
    if not spec.api_endpoint:
        raise ValueError("spec.apiEndpoint of the Cluster is empty")
    for field, url, fault_of in (
        ("apiEndpoint", spec.api_endpoint, endpoint_fault),
        ("proxyURL", spec.proxy_url, proxy_fault),
    ):
        if url and (fault := fault_of(url) or addresses.url_fault(url)):
            raise ValueError(f"spec.{field} of the Cluster: {fault}")
    if fault := proxy_scheme_fault(spec.proxy_url):
        raise ValueError(f"spec.proxyURL of the Cluster: {fault}")
    in_the_clear = cluster.metadata.annotations.get(ALLOW_HTTP_ANNOTATION) == "true"
    if fault := plain_http_fault(spec.api_endpoint, in_the_clear):
        raise ValueError(f"spec.apiEndpoint of the Cluster: {fault}")


def _token(secret: Secret) -> str:
    """Raises: ValueError."""
    token = secret.data.get(TOKEN_KEY, b"").decode(errors="replace").strip()
    if not token:
        raise ValueError(f"the Secret {secret.metadata.namespace}/{secret.metadata.name} has no data.{TOKEN_KEY}")
    return token


class UnusableTransport:
    """The transport to a member whose connection cannot be built."""

    def __init__(self, reason: str) -> None:
        self._reason = reason

    async def send(self, request: Request, *, timeout_seconds: float) -> Response:
        raise NoCredential(self._reason)

    def stream(self, request: Request) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        raise NoCredential(self._reason)

    async def close(self) -> None:
        """Closes nothing: there is nothing to let go of."""
