"""The transport to any API server over HTTP/1.1, with TLS or without.

Requests share a bounded pool of connections, each request in one write; every watch has a connection of its own. What
TLS, the operating system and the other side's HTTP say becomes `Unreachable`, or `Untrusted` when a certificate is at
fault, or `LocalFailure` when this machine is.

What is beyond the bounds of the server is not read to its end (`exchange.py`, `reading.py`). Members and streams are
asked not to compress what they answer. A request that only reads is asked once more, on a new connection, where an idle
one was closed just then; nothing else is sent again.

Never follows a redirect, and never reads a proxy from the environment; who goes through one uses `ProxiedTransport`.
"""

import asyncio
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager, contextmanager
from urllib.parse import urlencode, urlsplit

from kubeapi.errors import LocalFailure, NameNotFound, TooLarge, Undecodable, Unreachable, Untrusted, told_of
from kubeapi.retry_after import error_of_answer
from kubeapi.tls import blames_a_certificate
from kubeapi.transport import Request, Response, escaped, split_lines
from kubeclient.bounds import DEFAULT_BOUNDS, MAX_OBJECT_BYTES, OPEN_TIMEOUT_SECONDS, Bounds
from kubeclient.connection_pool import ConnectionPool
from kubeclient.credentials import TokenSource
from kubeclient.exchange import Exchange
from kubeclient.http_connection import HttpConnection, ServerAddress, connect
from kubeclient.reading import encoding_of, read_bounded, sliced
from kubeclient.resolving import JudgesAddresses, is_local_failure, is_missing_name

MAX_REQUEST_CONNECTIONS = 64
IDLE_TIMEOUT_SECONDS = 90.0
"""A watch that brings nothing for so long is dead: servers send a bookmark each minute."""
_READING = ("GET", "HEAD")
_WITH_BODY = ("POST", "PUT", "PATCH")


class HttpTransport:
    """A `Transport` to the API server at `endpoint`. Make it anywhere; it connects on the loop that first uses it.

    Raises: ValueError for an endpoint that is no URL of a server.
    """

    def __init__(
        self,
        endpoint: str,
        ssl_context: ssl.SSLContext | None = None,
        *,
        token_source: TokenSource | None = None,
        headers: Mapping[str, str] | None = None,
        server_name: str = "",
        idle_timeout_seconds: float = IDLE_TIMEOUT_SECONDS,
        addresses: JudgesAddresses | None = None,
        bounds: Bounds = DEFAULT_BOUNDS,
    ) -> None:
        parts = urlsplit(endpoint)
        is_tls = parts.scheme == "https"
        tls = (ssl_context or ssl.create_default_context()) if is_tls else None
        self._url = endpoint.rstrip("/")
        self._root = parts.path.rstrip("/")
        self._host = parts.netloc.rpartition("@")[2]
        self._endpoint = ServerAddress(
            parts.hostname or "", parts.port or (443 if is_tls else 80), tls, server_name or None, addresses
        )
        self._token_source = token_source
        self._headers = dict(headers or {})
        self._idle_timeout_seconds = idle_timeout_seconds
        self._bounds = bounds
        self._pool: ConnectionPool | None = None
        self._streams: set[HttpConnection] = set()

    async def send(self, request: Request, *, timeout_seconds: float) -> Response:
        what = f"{request.method} {self._url}{request.path}"
        with mapped_errors(what):
            async with asyncio.timeout(timeout_seconds):
                sent = await self._written(request, "identity" if self._bounds.is_plain else "gzip")
                answer, body = await self._answer(request.method, sent, what)
                self._note(answer)
                if encoding := encoding_of(answer.headers, what):
                    body = await read_bounded(sliced(body), encoding, self._bounds.body, what)
                return Response(answer.code, body, answer.headers)

    def stream(self, request: Request) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        return self._stream(request)

    async def close(self) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.close()
        for connection in self._streams:
            connection.abort()
        await asyncio.sleep(0)

    async def _answer(self, method: str, sent: bytes, what: str) -> tuple[Exchange, bytes]:
        """Raises: OSError, TooLarge."""
        if self._pool is None:
            self._pool = ConnectionPool(self._endpoint, MAX_REQUEST_CONNECTIONS)
        pool, is_again = self._pool, False
        while True:
            connection = await pool.take(fresh=is_again)
            exchange = None
            try:
                exchange = connection.ask(sent, method, self._bounds.body)
                return exchange, await exchange.whole()
            except TooLarge as error:
                raise TooLarge(f"{what}: {error}") from None
            except OSError:
                has_begun = exchange is not None and exchange.is_begun
                if connection.is_fresh or has_begun or method not in _READING:
                    raise
                is_again = True
            finally:
                pool.give_back(connection)

    @asynccontextmanager
    async def _stream(self, request: Request) -> AsyncGenerator[AsyncGenerator[bytes, None], None]:
        what = f"{request.method} {self._url}{request.path}"
        with mapped_errors(what):
            async with asyncio.timeout(OPEN_TIMEOUT_SECONDS):
                connection, exchange = await self._opened(request, what)
        try:
            async with aclosing(self._lines(exchange, what)) as lines:
                yield lines
        finally:
            self._end(connection)

    async def _opened(self, request: Request, what: str) -> tuple[HttpConnection, Exchange]:
        """A stream of which nothing but the head was read. Raises: OSError, ApiError, Undecodable."""
        sent = await self._written(request, "identity")
        connection = await connect(self._endpoint)
        self._streams.add(connection)
        try:
            exchange = connection.ask(sent, request.method)
            await exchange.head()
            self._note(exchange)
            await self._refuse_errors(exchange, what)
        except BaseException:
            self._end(connection)
            raise
        return connection, exchange

    def _end(self, connection: HttpConnection) -> None:
        self._streams.discard(connection)
        connection.finish()
        connection.abort()

    async def _refuse_errors(self, exchange: Exchange, what: str) -> None:
        """Raises: ApiError for an answer that is no stream; Undecodable for one that is compressed."""
        encoding = encoding_of(exchange.headers, what)
        if exchange.code != 200:
            chunks = _chunks(exchange, OPEN_TIMEOUT_SECONDS)
            async with aclosing(chunks):
                body = await read_bounded(chunks, encoding, MAX_OBJECT_BYTES, what)
                raise error_of_answer(exchange.code, body, exchange.headers)
        if encoding:
            raise Undecodable(f"{what}: a stream is answered compressed")

    async def _lines(self, exchange: Exchange, what: str) -> AsyncGenerator[bytes, None]:
        async with (
            aclosing(_chunks(exchange, self._idle_timeout_seconds)) as chunks,
            aclosing(split_lines(chunks, self._bounds.line)) as lines,
        ):
            while True:
                with mapped_errors(what):
                    line = await anext(lines, None)
                if line is None:
                    return
                yield line

    async def _written(self, request: Request, encoding: str) -> bytes:
        """The request as bytes. Raises: ValueError for a header that would be more than one line; NoCredential."""
        headers = {"host": self._host, "accept-encoding": encoding, **self._headers, **request.headers}
        if self._token_source is not None:
            headers["authorization"] = f"Bearer {await self._token_source.token()}"
        if request.body or request.method in _WITH_BODY:
            headers["content-length"] = str(len(request.body))
        query = f"?{urlencode(request.query)}" if request.query else ""
        lines = [f"{request.method} {self._root}{escaped(request.path)}{query} HTTP/1.1"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        head = "\r\n".join(lines)
        if head.count("\n") != len(headers) or head.count("\r") != len(headers) or "\0" in head:
            raise ValueError("a header holds the end of a line")
        return f"{head}\r\n\r\n".encode() + request.body

    def _note(self, answer: Exchange) -> None:
        if answer.code == 401 and self._token_source is not None:
            self._token_source.forget()


async def _chunks(exchange: Exchange, idle_seconds: float) -> AsyncGenerator[bytes, None]:
    """Raises: OSError, TimeoutError when nothing comes for so long."""
    while True:
        async with asyncio.timeout(idle_seconds):
            chunk = await exchange.chunk()
        if not chunk:
            return
        yield chunk


@contextmanager
def mapped_errors(what: str) -> Generator[None, None, None]:
    """Maps what goes wrong on the way to a server to our own errors; `what` says what was tried.

    Raises: Unreachable, Untrusted, LocalFailure.
    """
    try:
        yield
    except TimeoutError as error:
        raise Unreachable(f"{what}: no answer in time") from error
    except OSError as error:
        if is_local_failure(error):
            kind = NameNotFound if is_missing_name(error) else LocalFailure
            raise kind(f"{what}: {error}") from error
        kind = Untrusted if blames_a_certificate(error) else Unreachable
        raise kind(f"{what}: {told_of(error)}") from error
