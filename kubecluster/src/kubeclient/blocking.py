"""Transport for a program that asks a few things, one after the other, and ends: `http.client`'s.

It does without aiohttp, whose import costs more of the processor than all that such a program does. The loop stands
still while it asks, so that it is for verbs of the command line alone. Its one connection is kept between requests.
It has no streams, no proxy, and asks for nothing compressed.

Never retries, never follows a redirect, and never reads a proxy from the environment.
"""

import io
import socket
import ssl
from collections.abc import AsyncIterator, Generator, Mapping
from contextlib import AbstractAsyncContextManager, contextmanager
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import cast
from urllib.parse import urlencode, urlsplit

from kubeapi.errors import TooLarge, Undecodable, Unreachable, Untrusted, told_of
from kubeapi.loop import Deadline
from kubeapi.tls import blames_a_certificate
from kubeapi.transport import Request, Response, escaped
from kubeclient.bounds import Bounds, MiB
from kubeclient.credentials import TokenSource


class BlockingTransport:
    """A `Transport` to the API server at `endpoint`, for requests that follow one another."""

    def __init__(
        self,
        endpoint: str,
        ssl_context: ssl.SSLContext | None,
        *,
        token_source: TokenSource | None,
        headers: Mapping[str, str],
        bounds: Bounds,
    ) -> None:
        self._endpoint = endpoint.rstrip("/")
        self._root = urlsplit(self._endpoint).path
        self._ssl_context = ssl_context
        self._token_source = token_source
        self._headers = dict(headers)
        self._bounds = bounds
        self._connection: HTTPConnection | None = None

    async def send(self, request: Request, *, timeout_seconds: float) -> Response:
        headers = {"accept-encoding": "identity", **self._headers, **request.headers}
        if self._token_source is not None:
            headers["authorization"] = f"Bearer {await self._token_source.token()}"
        with _mapped_errors(f"{request.method} {self._endpoint}{request.path}"):
            try:
                return self._exchange(request, headers, Deadline(timeout_seconds))
            except BaseException:
                self._disconnect()
                raise

    def stream(self, request: Request) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """Raises: UnsupportedOperation: who watches needs `HttpTransport`."""
        raise io.UnsupportedOperation("BlockingTransport carries no streams: who watches needs HttpTransport")

    async def close(self) -> None:
        self._disconnect()

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _exchange(self, request: Request, headers: Mapping[str, str], deadline: Deadline) -> Response:
        """Raises: OSError, HTTPException, TooLarge, Undecodable."""
        connection = self._connected(deadline)
        query = f"?{urlencode(request.query)}" if request.query else ""
        path = f"{self._root}{escaped(request.path)}{query}"
        connection.request(request.method, path, request.body or None, dict(headers))
        answer = connection.getresponse()
        body = answer.read(self._bounds.body + 1)
        if len(body) > self._bounds.body:
            raise TooLarge(
                f"{request.method} {request.path}: the answer is longer than {self._bounds.body / MiB:g} MiB"
            )
        if answer.headers.get("content-encoding", "identity") != "identity":
            raise Undecodable(f"{request.method} {request.path}: answered compressed, which was not asked for")
        if answer.status == 401 and self._token_source is not None:
            self._token_source.forget()
        if answer.will_close:
            self._disconnect()
        return Response(answer.status, body, {name.lower(): value for name, value in answer.headers.items()})

    def _connected(self, deadline: Deadline) -> HTTPConnection:
        if self._connection is None:
            parts, seconds = urlsplit(self._endpoint), _seconds_until(deadline)
            host = parts.hostname or ""
            if self._ssl_context is None:
                self._connection = HTTPConnection(host, parts.port, timeout=seconds)
            else:
                self._connection = HTTPSConnection(host, parts.port, timeout=seconds, context=self._ssl_context)
            self._connection.connect()
        self._connection.sock.settimeout(_seconds_until(deadline))
        self._connection.response_class = _answers_until(deadline)
        return self._connection


def _answers_until(deadline: Deadline) -> type[HTTPResponse]:
    """Answers whose reading lasts no longer than that."""

    class Answer(HTTPResponse):
        def __init__(
            self, sock: socket.socket, debuglevel: int = 0, method: str | None = None, url: str | None = None
        ) -> None:
            super().__init__(cast(socket.socket, _TimedSocket(sock, deadline)), debuglevel, method, url)

    return Answer


class _TimedSocket:
    """Socket that `HTTPResponse` reads from: each read may last until the deadline of the whole request."""

    def __init__(self, sock: socket.socket, deadline: Deadline) -> None:
        self._sock = sock
        self._deadline = deadline

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(_TimedReader(self._sock, self._deadline))


class _TimedReader(io.RawIOBase):
    def __init__(self, sock: socket.socket, deadline: Deadline) -> None:
        self._sock = sock
        self._deadline = deadline

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "bytearray | memoryview") -> int:  # pyright: ignore[reportIncompatibleMethodOverride]
        self._sock.settimeout(_seconds_until(self._deadline))
        return self._sock.recv_into(buffer)


def _seconds_until(deadline: Deadline) -> float:
    """Raises: TimeoutError when it is over."""
    left = deadline.seconds_left
    if left <= 0:
        raise TimeoutError
    return left


@contextmanager
def _mapped_errors(what: str) -> Generator[None, None, None]:
    """Raises: Unreachable, Untrusted."""
    try:
        yield
    except TimeoutError as error:
        raise Unreachable(f"{what}: no answer in time") from error
    except (HTTPException, OSError) as error:
        kind = Untrusted if blames_a_certificate(error) else Unreachable
        raise kind(f"{what}: {told_of(error)}") from error
