"""A request as it comes over HTTP: its head at once, its body once it is known whose it is.

A head is small; the library sees to that. A body may be large, and many of them may come together: so each user gets
room for so many bytes at a time, and whoever shows no credential is not listened to for long.
"""

import asyncio
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from urllib.parse import quote

from aiohttp import web

from kubeapi.listening import Listener
from kubeapi.transport import Request
from kubeserver.handler import ANONYMOUS, REJECTED, User
from kubeserver.http.memory_limit import UserLimit
from kubeserver.limits import MAX_BODY_BYTES

READ_TIMEOUT_SECONDS = 30.0
MAX_ANONYMOUS_BODY_BYTES = 64 * 1024
_SINGLE_VALUES = ("impersonate-", "x-stream-protocol-version")
_OF_A_QUERY = "".join(map(chr, range(0x21, 0x7F)))


class TooLarge(Exception):
    """A body that is larger than `limit` bytes."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"Request entity too large: limit is {limit}")


def read_head(incoming: web.BaseRequest) -> Request:
    """Request without its body. Of a repeated parameter the first one counts."""
    query: dict[str, str] = {}
    for key, value in incoming.query.items():
        query.setdefault(_readable(key), _readable(value))
    query_string = _escaped(incoming.rel_url.raw_query_string)
    return Request(incoming.method, _readable(incoming.path), query, _headers(incoming), b"", query_string)


def _headers(incoming: web.BaseRequest) -> dict[str, str]:
    """Repeated ones become one: as lines where each value stands for itself, else as a list.

    `Impersonate-Group` holds names, which may have commas in them. Of `X-Stream-Protocol-Version`, kubelets before 1.19
    take each line for one protocol (kubernetes#89849).
    """
    headers: dict[str, str] = {}
    for key, value in incoming.headers.items():
        name, value = key.lower(), _readable(value)
        between = "\n" if name.startswith(_SINGLE_VALUES) else ", "
        headers[name] = f"{headers[name]}{between}{value}" if name in headers else value
    return headers


def _readable(text: str) -> str:
    """Bytes that are no UTF-8 come as halves of characters, which nobody could write down again."""
    return text if text.isascii() else text.encode(errors="replace").decode()


def _escaped(query_string: str) -> str:
    """The same bytes, of which those that no URL has in the clear are escaped."""
    if query_string.isascii():
        return query_string
    return quote(query_string.encode(errors="surrogateescape"), safe=_OF_A_QUERY)


@asynccontextmanager
async def read_body(incoming: web.BaseRequest, user: User, room: UserLimit) -> AsyncGenerator[bytes, None]:
    """The body, for which there is room until the context ends. Raises: TooLarge, UserLimitExceeded, TimeoutError.

    What came together with its head need not be waited for.
    """
    limit = MAX_ANONYMOUS_BODY_BYTES if user == ANONYMOUS else MAX_BODY_BYTES
    if (incoming.content_length or 0) > limit:
        raise TooLarge(limit)
    body = bytearray()

    def keep(chunk: bytes) -> None:
        room.take(user.name, len(chunk))
        body.extend(chunk)
        if len(body) > limit:
            raise TooLarge(limit)

    try:
        if incoming.content.is_eof():
            keep(incoming.content.read_nowait())
        else:
            async with asyncio.timeout(READ_TIMEOUT_SECONDS):
                async for chunk in incoming.content.iter_any():
                    keep(chunk)
        yield bytes(body)
    finally:
        room.give_back(user.name, len(body))


@contextmanager
def serving(listener: Listener | None, incoming: web.BaseRequest, user: User) -> Generator[None, None, None]:
    """A request under way on a connection, which is its user's from now on. Raises: TooManyConnections."""
    found = None if listener is None else listener.incoming(incoming.protocol)
    if listener is None or found is None:
        yield
        return
    if user not in (REJECTED, ANONYMOUS):
        listener.belongs_to(incoming.protocol, user.name)
    found.serving += 1
    try:
        yield
    finally:
        found.serving -= 1
