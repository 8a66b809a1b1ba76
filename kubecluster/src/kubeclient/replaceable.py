"""A transport that can be replaced while it is in use: when its certificate ends, and there is a new one."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager

from kubeapi.transport import Request, Response, Transport


class ReplaceableTransport:
    """A `Transport` that passes on to the latest. A replacement cuts off requests that are under way; their callers try
    again, as when a connection breaks."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner

    async def replace(self, inner: Transport) -> None:
        old, self._inner = self._inner, inner
        await old.close()

    async def send(self, request: Request, *, timeout_seconds: float) -> Response:
        return await self._inner.send(request, timeout_seconds=timeout_seconds)

    def stream(self, request: Request) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        return self._inner.stream(request)

    async def close(self) -> None:
        await self._inner.close()
