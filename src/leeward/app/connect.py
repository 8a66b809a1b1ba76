"""How the control plane reaches a member: the endpoint of its Cluster, and the credential of its Secret.

Karmada: pkg/util/membercluster_client.go and pkg/util/proxy; the same keys (`token`, `caBundle`).
"""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager

from leeward.api.cluster import Cluster
from leeward.api.core import Secret
from leeward.client import Client, Request, Response, Transport
from leeward.client.connection import Connection, transport_of
from leeward.client.errors import NoCredential
from leeward.client.forwarding import Forwarder

TOKEN_KEY, CA_KEY = "token", "caBundle"


def connect(cluster: Cluster, secret: Secret | None) -> Client:
    """A client of the member; when it cannot be built, one that says why at every request."""
    try:
        return Client(transport_to(cluster, secret), "leeward-controller-manager")
    except ValueError as error:
        return Client(UnusableTransport(str(error)))


def transport_to(cluster: Cluster, secret: Secret | None) -> Transport:
    """Raises: ValueError that names what is missing."""
    return transport_of(connection_of(cluster, secret))


def connection_of(cluster: Cluster, secret: Secret | None) -> Connection:
    """Raises: ValueError that names what is missing."""
    spec = cluster.spec
    if not spec.api_endpoint:
        raise ValueError("spec.apiEndpoint of the Cluster is empty")
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
    )


def reach(cluster: Cluster, authority: Secret | None, impersonator: Secret) -> Forwarder:
    """The way for users' own requests. Without `authority`, the system's CAs are trusted. Raises: ValueError."""
    spec = cluster.spec
    if not spec.api_endpoint:
        raise ValueError("spec.apiEndpoint of the Cluster is empty")
    return Forwarder(
        Connection(
            server=spec.api_endpoint,
            certificate_authority=authority.data.get(CA_KEY, b"") if authority is not None else b"",
            insecure_skip_tls_verify=spec.insecure_skip_tls_verification,
            proxy_url=spec.proxy_url,
            token=_token(impersonator),
        )
    )


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
        """There is nothing to let go of."""
