"""One request and its answer on a connection of HTTP/1.1: what arrives, read by llhttp (httptools), up to bounds.

    on_header ... on_headers_complete ─► on_body ... ─► on_message_complete
         1xx: forgotten, the answer follows       (or the end of the connection, where nothing else says the length)

The server may be a hostile one. A whole answer has at most `most` bytes, as they come; a stream is not read ahead of
who reads it; and whatever is no body (a head, trailers, the framing of chunks, answers that are none yet) has at most
`MAX_SILENT_BYTES` in a row. What is no HTTP, or what follows an answer that is complete, ends the connection.

Never writes, never retries.
"""

import asyncio
from collections.abc import Callable

import httptools

from kubeapi.errors import TooLarge
from kubeclient.bounds import MiB

MAX_SILENT_BYTES = 64 * 1024
READ_AHEAD_BYTES = MiB
_WITHOUT_BODY = frozenset((204, 304))
_SWITCHING = 101


class BadAnswer(ConnectionError):
    """Answer that is no HTTP, or beyond a bound."""


class Exchange:
    """The callbacks of a parser, and who waits for them. `most` is None for a stream."""

    def __init__(self, method: str, most: int | None, pause: Callable[[], None], resume: Callable[[], None]) -> None:
        self.code = 0
        self.headers: dict[str, str] = {}
        self.is_begun = False
        self.is_done = False
        self.is_reusable = False
        self._is_head = method == "HEAD"
        self._most = most
        self._pause, self._resume = pause, resume
        self._has_head = False
        self._body = bytearray()
        self._is_paused = False
        self._silent = 0
        self._error: Exception | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._parser: httptools.HttpResponseParser | None = httptools.HttpResponseParser(self)

    async def whole(self) -> bytes:
        """The body of the answer, as it came. Raises: OSError, TooLarge."""
        await self._until(lambda: self.is_done)
        return bytes(self._body)

    async def head(self) -> None:
        """Returns when the code and the headers are there. Raises: OSError."""
        await self._until(lambda: self._has_head)

    async def chunk(self) -> bytes:
        """Bytes that have come of a stream, empty at its end. Raises: OSError."""
        await self._until(lambda: bool(self._body) or self.is_done)
        chunk, self._body = bytes(self._body), bytearray()
        if self._is_paused:
            self._is_paused = False
            self._resume()
        return chunk

    def feed(self, data: bytes) -> bool:
        """Takes in received bytes. Returns whether the connection may go on."""
        parser = self._parser
        if parser is None:
            self.is_reusable = False
            return False
        self.is_begun = True
        self._silent += len(data)
        try:
            parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self.fail(BadAnswer(f"what the server has answered is no HTTP: {error}"))
        if self._silent > MAX_SILENT_BYTES and not self.is_done:
            self.fail(BadAnswer(f"more than {MAX_SILENT_BYTES} bytes of an answer are no body"))
        return self._error is None

    def fail(self, error: Exception) -> None:
        """The connection is of no use any more; an answer that is complete remains one."""
        self.is_reusable = False
        self._end(error)

    def lost(self, error: Exception | None) -> None:
        """The connection has ended: where nothing else says the length of the answer, that is its end."""
        self.is_reusable = False
        if error is None and self._has_head and self._ends_with_the_connection():
            self._end(None)
        else:
            self._end(error or ConnectionResetError("the server has closed the connection before the answer was there"))

    def on_message_begin(self) -> None:
        if self.is_done:
            self.is_reusable = False

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._has_head:
            self.headers[name.decode("latin-1").lower()] = value.decode(errors="surrogateescape")

    def on_headers_complete(self) -> None:
        if self._parser is None:
            return
        code = self._parser.get_status_code()
        if code == _SWITCHING:
            self.fail(BadAnswer("the server has switched to another protocol, which nobody has asked for"))
            return
        if code < 200:
            self.headers = {}
            return
        self.code = code
        self._has_head = True
        if self._is_head:
            self._end(None)
        elif self._most is None:
            self._wake()

    def on_body(self, body: bytes) -> None:
        self._silent = 0
        if self.is_done:
            return
        self._body += body
        if self._most is None:
            self._wake()
            if len(self._body) > READ_AHEAD_BYTES and not self._is_paused:
                self._is_paused = True
                self._pause()
        elif len(self._body) > self._most:
            self.fail(TooLarge(f"the answer is longer than {self._most / MiB:g} MiB"))

    def on_message_complete(self) -> None:
        if not self._has_head or self.is_done or self._parser is None:
            return
        self.is_reusable = self._parser.should_keep_alive()
        self._end(None)

    def _ends_with_the_connection(self) -> bool:
        has_length = "content-length" in self.headers or "transfer-encoding" in self.headers
        return not has_length and self.code not in _WITHOUT_BODY

    def _end(self, error: Exception | None) -> None:
        if self.is_done or self._error is not None:
            return
        self.is_done, self._error = error is None, error
        self._wake()

    async def _until(self, is_there: Callable[[], bool]) -> None:
        while not is_there():
            if self._error is not None:
                raise self._error
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def close(self) -> None:
        """Lets the parser go, which holds this."""
        self._parser = None
