"""A client that only creates: requests that are bytes already, on connections that stay, and answers of one number.

It shares the machine's processors with the server that it measures, so what it uses itself must be little, and the
same for every server.
"""

import asyncio
import re
import ssl

from bench.servers import TOKEN

ANSWER_SECONDS = 60.0
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)\r\n", re.IGNORECASE)
_LAST_CHUNK = b"\r\n0\r\n\r\n"


class Poster(asyncio.Protocol):
    """One connection, with one request under way at most."""

    def __init__(self, port: int, context: ssl.SSLContext) -> None:
        self._port = port
        self._context = context
        self._received = b""
        self._answered: asyncio.Future[bytes] | None = None

    async def open(self) -> None:
        loop = asyncio.get_running_loop()
        self._transport, _ = await loop.create_connection(lambda: self, "127.0.0.1", self._port, ssl=self._context)

    async def create(self, path: str, body: bytes) -> None:
        """Returns when the server has answered 201."""
        head = (
            f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {TOKEN}\r\nUser-Agent: bench\r\n"
            f"Accept: application/json\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        self._received, self._answered = b"", asyncio.get_running_loop().create_future()
        self._transport.write(head.encode() + body)
        async with asyncio.timeout(ANSWER_SECONDS):
            answer = await self._answered
        assert answer.startswith(b"HTTP/1.1 201"), answer

    def data_received(self, data: bytes) -> None:
        self._received += data
        if self._answered is not None and not self._answered.done() and _is_whole(self._received):
            self._answered.set_result(self._received)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._answered is not None and not self._answered.done():
            self._answered.set_exception(ConnectionError(f"the server closed the connection: {exc}"))

    def close(self) -> None:
        self._transport.abort()


def _is_whole(received: bytes) -> bool:
    """Tells whether the one answer is there: by its length, or by its last chunk."""
    head = received.find(b"\r\n\r\n")
    if head < 0:
        return False
    length = _LENGTH.search(received, 0, head + 2)
    return len(received) >= head + 4 + int(length[1]) if length else received.endswith(_LAST_CHUNK)
