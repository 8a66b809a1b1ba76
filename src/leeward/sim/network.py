"""The network between the parties of a world: links that can be cut, hang, and be slow."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from leeward.apiserver.handler import Handler, StreamResponse, User
from leeward.apiserver.inprocess import InProcessTransport
from leeward.client import Request, Response, Unreachable

OPEN_TIMEOUT_SECONDS = 10.0


class Link:
    """The state of the way to one party; all transports over it share its fate.

    `refused`: every request fails at once, open streams break (a process that is gone). `hung`: nothing comes back
    until it ends (a process that is frozen). `latency_seconds`: every answer comes that much later.
    """

    def __init__(self) -> None:
        self.latency_seconds = 0.0
        self.refused = False
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._waits: set[asyncio.Timeout] = set()

    def cut(self) -> None:
        self.refused = True
        now = asyncio.get_running_loop().time()
        while self._waits:
            self._waits.pop().reschedule(now)

    def mend(self) -> None:
        self.refused = False

    def hang(self) -> None:
        self._flowing.clear()

    def flow(self) -> None:
        self._flowing.set()

    async def pass_through(self, *, late: bool = True) -> None:
        """Waits as long as the link makes a message wait. Raises: Unreachable when it is cut."""
        async with self.breaking():
            if late and self.latency_seconds:
                await asyncio.sleep(self.latency_seconds)
            await self._flowing.wait()

    @asynccontextmanager
    async def breaking(self) -> AsyncGenerator[None, None]:
        """What waits inside is broken off when the link is cut. Raises: Unreachable."""
        if self.refused:
            raise Unreachable("connection refused")
        wait = asyncio.timeout(None)
        try:
            async with wait:
                self._waits.add(wait)
                try:
                    yield
                finally:
                    self._waits.discard(wait)
        except TimeoutError:
            if not wait.expired():
                raise
            raise Unreachable("connection reset") from None


class Place:
    """Where a server is found: empty while it is stopped, another one after a restart."""

    def __init__(self) -> None:
        self.link = Link()
        self._server: Handler | None = None

    def put(self, server: Handler) -> None:
        self._server = server
        self.link.mend()

    def take_away(self) -> None:
        self._server = None
        self.link.cut()

    async def handle(self, request: Request, user: User) -> Response | StreamResponse:
        if self._server is None:
            raise Unreachable("connection refused")
        return await self._server.handle(request, user)


class LinkedTransport:
    """A `Transport` to a place, over links that must all let a message pass."""

    def __init__(self, place: Place, user: User, *others: Link) -> None:
        self._inner = InProcessTransport(place, user)
        self._links = (place.link, *others)

    async def send(self, request: Request, *, timeout_seconds: float) -> Response:
        """A link that fails while the server works keeps the answer back: what was written is written."""
        try:
            async with asyncio.timeout(timeout_seconds):
                await self._pass_links()
                async with self._breaking():
                    response = await self._inner.send(request, timeout_seconds=timeout_seconds)
                await self._pass_links(late=False)
                return response
        except TimeoutError:
            raise Unreachable(f"{request.method} {request.path}: no answer within {timeout_seconds:g} s") from None

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[AsyncIterator[bytes], None]:
        await self._open_links(request)
        async with self._inner.stream(request) as lines:
            guarded = self._guard(lines)
            try:
                yield guarded
            finally:
                await guarded.aclose()

    async def close(self) -> None:
        await self._inner.close()

    async def _guard(self, lines: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
        """The lines, until a link is cut. Lines that were sent together come together, however slow the link."""
        loop = asyncio.get_running_loop()
        while True:
            asked_at = loop.time()
            async with self._breaking():
                line = await anext(lines, None)
            if line is None:
                return
            await self._pass_links(late=loop.time() > asked_at)
            yield line

    async def _open_links(self, request: Request) -> None:
        try:
            async with asyncio.timeout(OPEN_TIMEOUT_SECONDS):
                await self._pass_links()
        except TimeoutError:
            raise Unreachable(f"{request.method} {request.path}: no answer in time") from None

    async def _pass_links(self, *, late: bool = True) -> None:
        for link in self._links:
            await link.pass_through(late=late)

    @asynccontextmanager
    async def _breaking(self) -> AsyncGenerator[None, None]:
        async with AsyncExitStack() as stack:
            for link in self._links:
                await stack.enter_async_context(link.breaking())
            yield
