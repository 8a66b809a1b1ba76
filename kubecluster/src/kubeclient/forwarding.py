"""Passing requests of others on to an API server: bytes in, bytes out, as they come.

What belongs to one connection only (RFC 9110, 7.6.1) stays behind, and so do the credentials of the one who asked, in
whatever header or WebSocket protocol they come: each request goes on with the forwarder's own token. The query goes on
byte for byte. Bodies are neither decoded nor kept. Upgrades (WebSockets and SPDY: `kubectl exec`, `attach`, `cp`,
`port-forward`) go on as the bytes that they are.

Never retries, never follows a redirect.
"""

import asyncio
import io
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from kubeapi.loop import SystemClock
from kubeapi.transport import Request, escaped
from kubeclient.connection import Connection, certified_name, ssl_context_of, token_source_of
from kubeclient.proxied import mapped_library_errors, resolver_of
from kubeclient.upgrading import upgrade

CONNECT_SECONDS = 10.0
ANSWER_SECONDS = 50.0
"""Seconds until the answer begins; less than the API server's own patience, so that the reason can be told."""
QUIET_SECONDS = 4 * 3600.0
"""A stream may be as quiet as a kubelet lets one be."""
MAX_CONNECTIONS = 256
OF_THE_CONNECTION = frozenset(
    (
        *("connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection"),
        *("te", "trailer", "transfer-encoding", "upgrade"),
        *("host", "content-length", "authorization", "date", "server"),
    )
)
_OF_A_WEBSOCKET = "sec-websocket-"
_PROTOCOL = "sec-websocket-protocol"
_CREDENTIAL = "base64url.bearer.authorization.k8s.io."
_IMPERSONATION_PREFIX = "impersonate-"
"""Prefix of the headers that say who asks. No header of the connection says that it stays behind."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """A connection that speaks the protocol `upgrade`: its pieces as they come, and the way to send some. `pieces` must
    be closed, which ends it. `headers` are those of its answer."""

    pieces: AsyncGenerator[bytes, None]
    send: Callable[[bytes], Awaitable[None]]
    upgrade: str
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Forwarded:
    """The answer. `chunks` must be closed; it raises Unreachable when the answer breaks off.

    `drop` ends an answer of which nothing has been read: closing `chunks` before its beginning does not.
    """

    code: int
    headers: Mapping[str, str]
    chunks: AsyncGenerator[bytes, None]
    drop: Callable[[], None] = lambda: None


class Forwarder:
    """Forwarder to one server, with one identity. It connects on the loop that first uses it. Raises: ValueError."""

    def __init__(self, connection: Connection) -> None:
        self._server = connection.server.rstrip("/")
        self._tokens = token_source_of(connection, SystemClock())
        self._proxy = connection.proxy_url or None
        self._tls = ssl_context_of(connection) if connection.server.startswith("https:") else None
        self._addresses = connection.addresses
        self._server_name = certified_name(connection)
        self._session: aiohttp.ClientSession | None = None

    async def forward(self, request: Request) -> Forwarded | Conversation:
        """Returns when the answer begins. Raises: Unreachable, Untrusted.

        Who asks for an upgrade gets one; where the server does not agree, the answer says why.
        """
        what = f"{request.method} {self._server}{request.path}"
        wanted = request.headers.get("upgrade", "")
        if wanted and not request.body:
            with mapped_library_errors(what):
                if (upgraded := await self._upgrade(request, wanted)) is not None:
                    return upgraded
        return await self._forward(request, what)

    async def _upgrade(self, request: Request, wanted: str) -> Conversation | None:
        """A connection of its own, which stays open for as long as both sides like."""
        headers = [*(await self._headers(request.headers)).items(), ("connection", "Upgrade"), ("upgrade", wanted)]
        headers += _of_a_websocket(request.headers)
        async with asyncio.timeout(ANSWER_SECONDS):
            url, proxy = self._url(request), URL(self._proxy) if self._proxy else None
            name = self._server_name
            upgraded = await upgrade(url, headers, self._tls, request.method, self._addresses, proxy, name)
        if upgraded is None:
            return None
        agreed = upgraded.headers.get("upgrade", wanted)
        if agreed.lower() != wanted.lower():
            upgraded.writer.transport.abort()
            raise ConnectionResetError(f"asked for {wanted}, the server has switched to {agreed[:40]!r}")
        return Conversation(upgraded.chunks, upgraded.send, wanted, without_hops(upgraded.headers))

    async def _forward(self, request: Request, what: str) -> Forwarded:
        with mapped_library_errors(what):
            async with asyncio.timeout(ANSWER_SECONDS):
                answer = await self._opened().request(
                    request.method,
                    self._url(request),
                    headers=await self._headers(request.headers),
                    data=io.BytesIO(request.body) if request.body else None,
                    allow_redirects=False,
                    proxy=self._proxy,
                    server_hostname=self._server_name or None,
                )
        return Forwarded(answer.status, without_hops(answer.headers), _chunks(answer, what), answer.close)

    async def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def _headers(self, headers: Mapping[str, str]) -> CIMultiDict[str]:
        """Several values of one name, which a request has as lines, become headers of their own again.

        Raises: NoCredential."""
        kept = {**without_hops(headers), **{k: v for k, v in headers.items() if k.startswith(_IMPERSONATION_PREFIX)}}
        sent = CIMultiDict(
            (name, value)
            for name, lines in kept.items()
            if not name.startswith(_OF_A_WEBSOCKET)
            for value in lines.split("\n")
        )
        if self._tokens is not None:
            sent["authorization"] = f"Bearer {await self._tokens.token()}"
        return sent

    def _url(self, request: Request) -> URL:
        asked = request.query_string or urlencode(request.query)
        query = f"?{asked}" if asked else ""
        return URL(f"{self._server}{escaped(request.path)}{query}", encoded=True)

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    ssl=self._tls or True, limit=MAX_CONNECTIONS, resolver=resolver_of(self._addresses)
                ),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS, sock_read=QUIET_SECONDS),
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                skip_auto_headers=("content-type", "user-agent", "accept-encoding", "accept"),
            )
        return self._session


def _of_a_websocket(headers: Mapping[str, str]) -> list[tuple[str, str]]:
    """The headers by which a client and a server agree to a WebSocket, without a credential."""
    own = {name: value for name, value in headers.items() if name.startswith(_OF_A_WEBSOCKET)}
    protocols = ", ".join(_protocols(own.pop(_PROTOCOL, "")))
    return [*own.items(), *([(_PROTOCOL, protocols)] if protocols else [])]


def _protocols(offered: str) -> list[str]:
    """Subprotocols that are passed on: all but the one that carries a credential."""
    names = (name.strip() for name in offered.split(","))
    return [name for name in names if name and not name.startswith(_CREDENTIAL)]


def without_hops(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers that are for more than one connection, with names in lower case."""
    named = ",".join(value for name, value in headers.items() if name.lower() == "connection")
    own = {name.strip().lower() for name in named.split(",")}
    return {k.lower(): v for k, v in headers.items() if k.lower() not in OF_THE_CONNECTION | own}


async def _chunks(answer: aiohttp.ClientResponse, what: str) -> AsyncGenerator[bytes, None]:
    try:
        with mapped_library_errors(what):
            async for chunk in answer.content.iter_any():
                yield chunk
    finally:
        answer.close()
