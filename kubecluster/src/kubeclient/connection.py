"""A connection to one API server, as plain data, and the transport that it makes."""

import base64
import ssl
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from kubeapi.loop import Clock, SystemClock
from kubeapi.tls import load_pair
from kubeclient.bounds import CONTROL_PLANE_BOUNDS, Bounds
from kubeclient.credentials import ExecPlugin, ExecToken, FixedToken, TokenFile, TokenSource
from kubeclient.resolving import JudgesAddresses

if TYPE_CHECKING:
    from kubeapi.transport import Transport


@dataclass(frozen=True, slots=True)
class Connection:
    """One server and one identity. Certificates and keys are PEM; without a CA, the system's are trusted.

    `addresses` says where its names must not lead; None for a server that an operator has chosen.
    """

    server: str
    certificate_authority: bytes = field(default=b"", repr=False)
    insecure_skip_tls_verify: bool = False
    tls_server_name: str = ""
    proxy_url: str = ""
    client_certificate: bytes = field(default=b"", repr=False)
    client_key: bytes = field(default=b"", repr=False)
    token: str = field(default="", repr=False)
    token_file: Path | None = None
    username: str = ""
    password: str = field(default="", repr=False)
    exec_plugin: ExecPlugin | None = None
    namespace: str = ""
    addresses: JudgesAddresses | None = None
    bounds: Bounds = CONTROL_PLANE_BOUNDS


def transport_of(connection: Connection, clock: Clock | None = None) -> "Transport":
    """Raises: ValueError when a certificate or key cannot be used, or the server's address is none."""
    tls = ssl_context_of(connection) if connection.server.startswith("https:") else None
    token_source = token_source_of(connection, clock or SystemClock())
    if connection.proxy_url:
        from kubeclient.proxied import ProxiedTransport

        return ProxiedTransport(
            connection.server,
            tls,
            token_source=token_source,
            headers=_basic_authorization(connection),
            proxy=connection.proxy_url,
            server_name=certified_name(connection),
            addresses=connection.addresses,
            bounds=connection.bounds,
        )
    from kubeclient.http import HttpTransport

    return HttpTransport(
        connection.server,
        tls,
        token_source=token_source,
        headers=_basic_authorization(connection),
        server_name=certified_name(connection),
        addresses=connection.addresses,
        bounds=connection.bounds,
    )


def asking_transport_of(connection: Connection) -> "Transport":
    """Transport for who asks a few things, one after the other, on a loop where nothing else goes on; see `blocking`.

    Raises: ValueError when a certificate or key cannot be used.
    """
    if connection.proxy_url or certified_name(connection) or connection.addresses is not None:
        return transport_of(connection)
    from kubeclient.blocking import BlockingTransport

    return BlockingTransport(
        connection.server,
        ssl_context_of(connection) if connection.server.startswith("https:") else None,
        token_source=token_source_of(connection, SystemClock()),
        headers=_basic_authorization(connection),
        bounds=connection.bounds,
    )


def certified_name(connection: Connection) -> str:
    """Name that the server's certificate holds, where it is not the one in the address: empty for that one.

    A dot at the end of an address keeps search domains away; no certificate holds it (RFC 6066, 3).
    """
    host = urlsplit(connection.server).hostname or ""
    return connection.tls_server_name or (host.removesuffix(".") if host.endswith(".") else "")


def ssl_context_of(connection: Connection) -> ssl.SSLContext:
    """Raises: ValueError when a certificate or key cannot be used."""
    context = ssl.create_default_context(cadata=_authority_of(connection) or None)
    if connection.insecure_skip_tls_verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if connection.client_certificate:
        _load_certificate(context, connection.client_certificate, connection.client_key)
    return context


def _authority_of(connection: Connection) -> str:
    try:
        text = connection.certificate_authority.decode("ascii")
        if text:
            ssl.create_default_context(cadata=text)
    except (UnicodeDecodeError, ssl.SSLError) as error:
        raise ValueError(f"certificate authority of {connection.server} is not PEM: {error}") from error
    return text


def _load_certificate(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    try:
        load_pair(context, certificate, key)
    except ssl.SSLError as error:
        raise ValueError(f"client certificate and key do not fit or are not PEM: {error.reason or error}") from error


def token_source_of(connection: Connection, clock: Clock) -> TokenSource | None:
    if connection.token_file is not None:
        return TokenFile(connection.token_file)
    if connection.token:
        return FixedToken(connection.token)
    return ExecToken(connection.exec_plugin, clock) if connection.exec_plugin else None


def _basic_authorization(connection: Connection) -> dict[str, str]:
    if not connection.username:
        return {}
    pair = f"{connection.username}:{connection.password}".encode()
    return {"authorization": f"Basic {base64.b64encode(pair).decode()}"}
