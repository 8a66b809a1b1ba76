"""Passing requests of others on to an API server: bytes in, bytes out, as they come.

What belongs to one connection only (RFC 9110, 7.6.1) stays behind, and so does the credential of the one who asked:
each request goes on with the forwarder's own token. Bodies are neither decoded nor kept.

Never retries, never follows a redirect.
"""

import asyncio
import io
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from leeward.client.connection import Connection, ssl_context_of
from leeward.client.http import escaped, mapped_errors
from leeward.client.transport import Request

CONNECT_SECONDS = 10.0
ANSWER_SECONDS = 50.0
"""Until the answer begins; less than the API server's own patience, so that the reason can be told."""
QUIET_SECONDS = 4 * 3600.0
"""A stream may be as quiet as a kubelet lets one be."""
MAX_CONNECTIONS = 256
_OF_THE_CONNECTION = frozenset(
    (
        *("connection", "keep-alive", "proxy-authenticate", "proxy-authorization"),
        *("te", "trailer", "transfer-encoding", "upgrade"),
        *("host", "content-length", "authorization", "date", "server"),
    )
)


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

    async def forward(self, request: Request) -> Forwarded:
        """Returns when the answer begins. Raises: Unreachable, Untrusted."""
        what = f"{request.method} {self._server}{request.path}"
        query = f"?{request.query_string}" if request.query_string else ""
        with mapped_errors(what):
            async with asyncio.timeout(ANSWER_SECONDS):
                answer = await self._opened().request(
                    request.method,
                    URL(f"{self._server}{escaped(request.path)}{query}", encoded=True),
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
