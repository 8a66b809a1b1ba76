"""Passing requests of others on to an API server: bytes in, bytes out, as they come.

What belongs to one connection only (RFC 9110, 7.6.1) stays behind, and so does the credential of the one who asked:
each request goes on with the forwarder's own token. Bodies are neither decoded nor kept. WebSockets go on as messages
of bytes (`kubectl exec`, `attach`, `port-forward`), every other upgrade (SPDY) as the bytes that it is.

Never retries, never follows a redirect.
"""

import asyncio
import io
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from leeward.client.connection import Connection, ssl_context_of
from leeward.client.http import escaped, mapped_errors
from leeward.client.transport import Request
from leeward.client.upgrading import upgrade

CONNECT_SECONDS = 10.0
ANSWER_SECONDS = 50.0
"""Until the answer begins; less than the API server's own patience, so that the reason can be told."""
QUIET_SECONDS = 4 * 3600.0
"""A stream may be as quiet as a kubelet lets one be."""
MAX_CONNECTIONS = 256
MAX_MESSAGE_BYTES = 4 * 1024 * 1024
PING_SECONDS = 30.0
_OF_THE_CONNECTION = frozenset(
    (
        *("connection", "keep-alive", "proxy-authenticate", "proxy-authorization"),
        *("te", "trailer", "transfer-encoding", "upgrade"),
        *("host", "content-length", "authorization", "date", "server"),
    )
)


@dataclass(frozen=True, slots=True)
class Conversation:
    """A WebSocket: its messages, and the way to send some. `messages` must be closed, which ends it.

    With an `upgrade` it is a connection of that protocol, its messages are pieces as they come, and `headers` are what
    the server has said of it.
    """

    protocol: str
    messages: AsyncGenerator[bytes, None]
    send: Callable[[bytes], Awaitable[None]]
    upgrade: str = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Forwarded:
    """The answer. `chunks` must be closed; it raises Unreachable when the answer breaks off."""

    code: int
    headers: Mapping[str, str]
    chunks: AsyncGenerator[bytes, None]


class Forwarder:
    """To one server, with one identity. It connects on the loop that first uses it. Raises: ValueError."""

    def __init__(self, connection: Connection) -> None:
        self._server = connection.server.rstrip("/")
        self._token = connection.token
        self._proxy = connection.proxy_url or None
        self._tls = ssl_context_of(connection) if connection.server.startswith("https:") else True
        self._session: aiohttp.ClientSession | None = None

    async def forward(self, request: Request) -> Forwarded | Conversation:
        """Returns when the answer begins. Raises: Unreachable, Untrusted.

        Who asks for a WebSocket or another upgrade gets one; where the server does not agree, the answer says why.
        """
        what = f"{request.method} {self._server}{request.path}"
        wanted = request.headers.get("upgrade", "")
        if wanted.lower() == "websocket":
            with mapped_errors(what), suppress(aiohttp.WSServerHandshakeError):
                return await self._converse(request, what)
        elif wanted and not self._proxy and not request.body:
            with mapped_errors(what):
                if (upgraded := await self._upgrade(request, wanted)) is not None:
                    return upgraded
        return await self._forward(request, what)

    async def _upgrade(self, request: Request, wanted: str) -> Conversation | None:
        """A connection of its own, which stays open for as long as both sides like."""
        headers = [*self._headers(request.headers).items(), ("connection", "Upgrade"), ("upgrade", wanted)]
        async with asyncio.timeout(ANSWER_SECONDS):
            upgraded = await upgrade(self._url(request), headers, self._tls, request.method)
        if upgraded is None:
            return None
        agreed = upgraded.headers.get("upgrade", wanted)
        return Conversation("", upgraded.chunks, upgraded.send, agreed, _kept(upgraded.headers))

    async def _converse(self, request: Request, what: str) -> Conversation:
        headers = {k: v for k, v in request.headers.items() if not k.startswith("sec-websocket-")}
        async with asyncio.timeout(ANSWER_SECONDS):
            socket = await self._opened().ws_connect(
                self._url(request),
                protocols=_protocols(request.headers.get("sec-websocket-protocol", "")),
                headers=self._headers(headers),
                proxy=self._proxy,
                max_msg_size=MAX_MESSAGE_BYTES,
                heartbeat=PING_SECONDS,
            )

        async def send(message: bytes) -> None:
            with mapped_errors(what):
                await socket.send_bytes(message)

        return Conversation(socket.protocol or "", _messages(socket, what), send)

    async def _forward(self, request: Request, what: str) -> Forwarded:
        with mapped_errors(what):
            async with asyncio.timeout(ANSWER_SECONDS):
                answer = await self._opened().request(
                    request.method,
                    self._url(request),
                    headers=self._headers(request.headers),
                    data=io.BytesIO(request.body) if request.body else None,
                    allow_redirects=False,
                    proxy=self._proxy,
                )
        return Forwarded(answer.status, _kept(answer.headers), _chunks(answer, what))

    async def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def _headers(self, headers: Mapping[str, str]) -> CIMultiDict[str]:
        """Several values of one name, which a request has as lines, become headers of their own again."""
        sent = CIMultiDict((name, value) for name, lines in _kept(headers).items() for value in lines.split("\n"))
        sent["authorization"] = f"Bearer {self._token}"
        return sent

    def _url(self, request: Request) -> URL:
        query = f"?{request.query_string}" if request.query_string else ""
        return URL(f"{self._server}{escaped(request.path)}{query}", encoded=True)

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(ssl=self._tls, limit=MAX_CONNECTIONS),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS, sock_read=QUIET_SECONDS),
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                skip_auto_headers=("content-type", "user-agent", "accept-encoding", "accept"),
            )
        return self._session


def _protocols(offered: str) -> list[str]:
    """Those of bytes. The others are for browsers, and one of them carries a credential."""
    names = (name.strip() for name in offered.split(","))
    return [name for name in names if name and not name.startswith("base64")]


def _kept(headers: Mapping[str, str]) -> dict[str, str]:
    own = {name.strip().lower() for name in headers.get("connection", "").split(",")}
    return {k.lower(): v for k, v in headers.items() if k.lower() not in _OF_THE_CONNECTION | own}


async def _chunks(answer: aiohttp.ClientResponse, what: str) -> AsyncGenerator[bytes, None]:
    try:
        with mapped_errors(what):
            async for chunk in answer.content.iter_any():
                yield chunk
    finally:
        answer.close()


async def _messages(socket: aiohttp.ClientWebSocketResponse, what: str) -> AsyncGenerator[bytes, None]:
    try:
        with mapped_errors(what):
            async for message in socket:
                if message.type is aiohttp.WSMsgType.BINARY:
                    yield message.data
    finally:
        await socket.close()
