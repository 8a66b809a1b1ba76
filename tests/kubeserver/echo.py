"""A handler that says what it was asked, and an HTTP client that knows nobody but it: what the tests of HTTP share."""

import asyncio
import io
import json
import ssl
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any
from urllib.parse import quote, urlencode

import aiohttp
from yarl import URL

from kubeapi.transport import Request, Response, split_lines
from kubeserver.handler import StreamResponse, User

LONGEST_LINE = 16 * 1024 * 1024


class SkippingLoop(asyncio.SelectorEventLoop):
    """A loop on sockets whose deadlines need not be waited for: `skip` takes it past them."""

    skipped_seconds = 0.0

    def time(self) -> float:
        return super().time() + self.skipped_seconds


def skip(seconds: float) -> None:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, SkippingLoop)
    loop.skipped_seconds += seconds


class Echo:
    """A handler that says what it was asked, and streams what it is told to."""

    def __init__(self) -> None:
        self.lines: asyncio.Queue[bytes | Exception | None] = asyncio.Queue()
        self.closed = asyncio.Event()

    async def handle(self, request: Request, user: User) -> Response | StreamResponse:
        match request.path:
            case "/watch":
                return StreamResponse(self._stream())
            case "/crash":
                raise ZeroDivisionError
            case "/large":
                return Response(200, b'{"a":"' + b"x" * 300_000 + b'"}')
            case "/huge":
                return Response(200, b"x" * 30_000_000)
            case "/expired":
                return Response(410, b'{"kind":"Status","reason":"Expired","code":410}')
            case _:
                return Response(201, json.dumps(_seen(request, user)).encode(), {"warning": "299"})

    async def _stream(self) -> AsyncGenerator[bytes, None]:
        try:
            while (line := await self.lines.get()) is not None:
                if isinstance(line, Exception):
                    raise line
                yield line
        finally:
            self.closed.set()


def _seen(request: Request, user: User) -> dict[str, Any]:
    headers = {key: request.headers[key] for key in ("content-type", "x-test") if key in request.headers}
    return {
        "method": request.method,
        "path": request.path,
        "query": dict(request.query),
        "headers": headers,
        "body": request.body.decode(),
        "user": [user.name, *user.groups],
    }


class EchoClient:
    """Asks the server at `url`. It accepts compressed answers, and unpacks them."""

    def __init__(self, url: str, token: str = "", tls: ssl.SSLContext | None = None) -> None:
        self._url = url
        self._headers = {"authorization": f"Bearer {token}"} if token else {}
        connector = aiohttp.TCPConnector(ssl=tls if tls is not None else True)
        self._session = aiohttp.ClientSession(connector=connector, skip_auto_headers=("content-type", "user-agent"))

    async def send(self, request: Request, *, timeout_seconds: float) -> Response:
        """Raises: TimeoutError, aiohttp.ClientError."""
        async with asyncio.timeout(timeout_seconds), self._ask(request) as answer:
            return Response(answer.status, await answer.read(), {k.lower(): v for k, v in answer.headers.items()})

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[AsyncIterator[bytes]]:
        async with self._ask(request) as answer, aclosing(_lines(answer)) as lines:
            yield lines

    async def close(self) -> None:
        await self._session.close()

    @asynccontextmanager
    async def _ask(self, request: Request) -> AsyncGenerator[aiohttp.ClientResponse]:
        query = f"?{urlencode(request.query)}" if request.query else ""
        url = URL(f"{self._url}{quote(request.path)}{query}", encoded=True)
        headers = {**self._headers, **request.headers}
        body = io.BytesIO(request.body) if request.body else None
        answer = await self._session.request(request.method, url, headers=headers, data=body)
        try:
            yield answer
        finally:
            answer.close()


async def _lines(answer: aiohttp.ClientResponse) -> AsyncGenerator[bytes]:
    async with aclosing(split_lines(answer.content.iter_any(), LONGEST_LINE)) as lines:
        async for line in lines:
            yield line
