"""Calls webhooks over HTTPS: one pool of connections for each server and authority, the least used one goes first.

Never follows a redirect, never reads a proxy from the environment, and reads no more of an answer than its bound.
"""

import asyncio
import ssl
from collections import OrderedDict
from urllib.parse import quote

import aiohttp
from yarl import URL

from kubeserver.webhooks.calling import Address, Uncallable, split_url

MAX_SERVERS = 64
MAX_CONNECTIONS = 64
MAX_SHOWN = 200
MAX_ANSWER_BYTES = 32 * 1024 * 1024
"""Several times what a webhook is asked about at once."""
_HEADERS = {
    "content-type": "application/json",
    "accept": "application/json",
    "accept-encoding": "identity",
    "user-agent": "kube-apiserver-admission",
}
_PATH_SAFE = "/:@!$&'()*+,;=~"

_Key = tuple[str, str, str]


class HttpsWebhooks:
    """A `WebhookClient`. Certificates are checked against the webhook's own authority, else against the system's."""

    def __init__(self) -> None:
        self._sessions: OrderedDict[_Key, aiohttp.ClientSession] = OrderedDict()

    async def post(self, address: Address, body: bytes, timeout_seconds: float) -> bytes:
        server, path = split_url(address.url)
        try:
            session = await self._session(server, address)
            url = URL(f"{server}{quote(path, safe=_PATH_SAFE)}?timeout={timeout_seconds:g}s", encoded=True)
            async with (
                asyncio.timeout(timeout_seconds),
                session.post(
                    url, data=body, allow_redirects=False, server_hostname=address.server_name or None
                ) as answer,
            ):
                return await _read(address, answer)
        except TimeoutError as error:
            raise Uncallable(f"POST {server}{path}: no answer in time") from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise Uncallable(f"POST {server}{path}: {error or type(error).__name__}") from error

    async def close(self) -> None:
        while self._sessions:
            await self._sessions.popitem()[1].close()

    async def _session(self, server: str, address: Address) -> aiohttp.ClientSession:
        key = (server, address.authority, address.server_name)
        if key not in self._sessions:
            self._sessions[key] = _new_session(ssl.create_default_context(cadata=address.authority or None))
        self._sessions.move_to_end(key)
        session = self._sessions[key]
        if len(self._sessions) > MAX_SERVERS:
            await self._sessions.popitem(last=False)[1].close()
        return session


def _new_session(context: ssl.SSLContext) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(ssl=context, limit=MAX_CONNECTIONS),
        timeout=aiohttp.ClientTimeout(total=None),
        cookie_jar=aiohttp.DummyCookieJar(),
        headers=_HEADERS,
        auto_decompress=False,
    )


async def _read(address: Address, answer: aiohttp.ClientResponse) -> bytes:
    """Raises: Uncallable for an answer that is too long, or an error."""
    pieces: list[bytes] = []
    size = 0
    async for piece in answer.content.iter_any():
        pieces.append(piece)
        size += len(piece)
        if size > MAX_ANSWER_BYTES:
            answer.close()
            raise Uncallable(f"{address.url} answered with too many bytes: limit is {MAX_ANSWER_BYTES}")
    body = b"".join(pieces)
    if answer.status != 200:
        said = body[:MAX_SHOWN].decode(errors="replace")
        raise Uncallable(f"{address.url} answered with code {answer.status}: {said}")
    return body
