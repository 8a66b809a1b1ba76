"""The transport to an API server behind a proxy (`proxyURL`), by aiohttp: what `HttpTransport` is to the others.

Bounds, errors, streams and what is never done are the same. A member behind a proxy is asked by name: where the name
leads is up to the proxy.
"""

import asyncio
import io
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager, contextmanager
from urllib.parse import urlencode

import aiohttp
from yarl import URL

from kubeapi.errors import Undecodable, Untrusted, WorldError
from kubeapi.retry_after import error_of_answer
from kubeapi.transport import Request, Response, escaped, split_lines
from kubeclient.bounds import DEFAULT_BOUNDS, MAX_OBJECT_BYTES, OPEN_TIMEOUT_SECONDS, Bounds
from kubeclient.credentials import TokenSource
from kubeclient.http import IDLE_TIMEOUT_SECONDS, MAX_REQUEST_CONNECTIONS, mapped_errors
from kubeclient.reading import encoding_of, read_bounded
from kubeclient.resolving import JudgedResolver, JudgesAddresses


class ProxiedTransport:
    """A `Transport` to the API server at `endpoint`, past no proxy where `proxy` is empty.

    Make it anywhere; it connects on the loop that first uses it.
    """

    def __init__(
        self,
        endpoint: str,
        ssl_context: ssl.SSLContext | None = None,
        *,
        token_source: TokenSource | None = None,
        headers: Mapping[str, str] | None = None,
        proxy: str,
        server_name: str = "",
        idle_timeout_seconds: float = IDLE_TIMEOUT_SECONDS,
        addresses: JudgesAddresses | None = None,
        bounds: Bounds = DEFAULT_BOUNDS,
    ) -> None:
        self._endpoint = endpoint.rstrip("/")
        self._ssl_context = ssl_context
        self._token_source = token_source
        self._headers = dict(headers or {})
        self._proxy = proxy or None
        self._server_name = server_name or None
        self._idle_timeout_seconds = idle_timeout_seconds
        self._addresses = addresses
        self._bounds = bounds
        self._requests: aiohttp.ClientSession | None = None
        self._streams: aiohttp.ClientSession | None = None

    async def send(self, request: Request, *, timeout_seconds: float) -> Response:
        with mapped_library_errors(self._name(request)):
            async with asyncio.timeout(timeout_seconds):
                async with await self._open(self._request_session(), request) as answer:
                    body = await _read(answer, self._bounds.body, self._name(request))
                    return Response(answer.status, body, _headers_of(answer))

    def stream(self, request: Request) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        return self._stream(request)

    async def close(self) -> None:
        sessions = [session for session in (self._requests, self._streams) if session is not None]
        self._requests = self._streams = None
        for session in sessions:
            await session.close()

    @asynccontextmanager
    async def _stream(self, request: Request) -> AsyncGenerator[AsyncGenerator[bytes, None], None]:
        answer = await self._open_stream(request)
        try:
            async with aclosing(self._lines(request, answer)) as lines:
                yield lines
        finally:
            answer.close()

    async def _open_stream(self, request: Request) -> aiohttp.ClientResponse:
        with mapped_library_errors(self._name(request)):
            async with asyncio.timeout(OPEN_TIMEOUT_SECONDS):
                answer = await self._open(self._stream_session(), request)
                if answer.status != 200:
                    async with answer:
                        body = await _read(answer, MAX_OBJECT_BYTES, self._name(request))
                        raise error_of_answer(answer.status, body, _headers_of(answer))
                if answer.headers.get("content-encoding", "identity") != "identity":
                    answer.close()
                    raise Undecodable(f"{self._name(request)}: a stream is answered compressed")
                return answer

    async def _lines(self, request: Request, answer: aiohttp.ClientResponse) -> AsyncGenerator[bytes, None]:
        async with aclosing(split_lines(answer.content.iter_any(), self._bounds.line)) as lines:
            while True:
                with mapped_library_errors(self._name(request)):
                    line = await anext(lines, None)
                if line is None:
                    return
                yield line

    async def _open(self, session: aiohttp.ClientSession, request: Request) -> aiohttp.ClientResponse:
        is_plain = session is self._streams or self._bounds.is_plain
        accepted = "identity" if is_plain else "gzip"
        answer = await session.request(
            request.method,
            self._url(request),
            headers={"accept-encoding": accepted, **self._headers, **request.headers, **await self._authorization()},
            data=io.BytesIO(request.body) if request.body else None,
            allow_redirects=False,
            proxy=self._proxy,
            server_hostname=self._server_name,
        )
        if answer.status == 401 and self._token_source is not None:
            self._token_source.forget()
        return answer

    async def _authorization(self) -> Mapping[str, str]:
        if self._token_source is None:
            return {}
        return {"authorization": f"Bearer {await self._token_source.token()}"}

    def _url(self, request: Request) -> URL:
        query = f"?{urlencode(request.query)}" if request.query else ""
        return URL(f"{self._endpoint}{escaped(request.path)}{query}", encoded=True)

    def _request_session(self) -> aiohttp.ClientSession:
        if self._requests is None:
            self._requests = self._session(MAX_REQUEST_CONNECTIONS, aiohttp.ClientTimeout(total=None))
        return self._requests

    def _stream_session(self) -> aiohttp.ClientSession:
        if self._streams is None:
            timeout = aiohttp.ClientTimeout(total=None, sock_read=self._idle_timeout_seconds)
            self._streams = self._session(0, timeout)
        return self._streams

    def _session(self, connections: int, timeout: aiohttp.ClientTimeout) -> aiohttp.ClientSession:
        tls = self._ssl_context if self._ssl_context is not None else True
        connector = aiohttp.TCPConnector(ssl=tls, limit=connections, resolver=resolver_of(self._addresses))
        return aiohttp.ClientSession(
            connector=connector,
            timeout=timeout,
            cookie_jar=aiohttp.DummyCookieJar(),
            skip_auto_headers=("content-type", "user-agent"),
            auto_decompress=False,
        )

    def _name(self, request: Request) -> str:
        return f"{request.method} {self._endpoint}{request.path}"


def _headers_of(answer: aiohttp.ClientResponse) -> dict[str, str]:
    return {name.lower(): value for name, value in answer.headers.items()}


async def _read(answer: aiohttp.ClientResponse, most: int, what: str) -> bytes:
    """Raises: TooLarge, Undecodable; the connection is closed then."""
    try:
        encoding = encoding_of(answer.headers, what)
        return await read_bounded(answer.content.iter_any(), encoding, most, what)
    except WorldError:
        answer.close()
        raise


def resolver_of(addresses: JudgesAddresses | None) -> JudgedResolver | None:
    """None, which is the library's own, where every address may be asked."""
    return None if addresses is None else JudgedResolver(addresses)


@contextmanager
def mapped_library_errors(what: str) -> Generator[None, None, None]:
    """Maps errors as `mapped_errors`, for what aiohttp says, too. Raises: Unreachable, Untrusted."""
    with mapped_errors(what):
        try:
            yield
        except aiohttp.ClientConnectorCertificateError as error:
            raise Untrusted(f"{what}: {error}") from error
        except aiohttp.ClientError as error:
            if isinstance(error, OSError):
                raise
            raise ConnectionError(str(error) or type(error).__name__) from error
