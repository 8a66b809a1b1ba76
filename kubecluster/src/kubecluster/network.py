"""The network between the parties of a world: links that can be cut, hang, be slow, and have faults."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Any, Protocol

from kubeapi.loop import Life
from kubeclient import Request, Response, Unreachable
from kubecluster.network_faults import NetworkFaults
from kubeserver.handler import Handler, StreamResponse, User
from kubeserver.inprocess import InProcessTransport

OPEN_TIMEOUT_SECONDS = 10.0


class Wait(Protocol):
    """Wait for what is under way over a link."""

    def interrupt(self) -> None:
        """Ends it: the link is cut."""
        ...


class Link:
    """The state of the way to one party; all transports over it share its fate.

    `refused`: every request fails at once, open streams break (a process that is gone). `hung`: nothing comes back
    until it ends (a process that is frozen). `latency_seconds`: every answer comes that much later. `faults`: what
    goes wrong with single requests and lines.
    """

    def __init__(self) -> None:
        self.latency_seconds = 0.0
        self.refused = False
        self.faults: NetworkFaults | None = None
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._waits: dict[Wait, None] = {}

    @property
    def clear(self) -> bool:
        """Tells whether messages pass at once."""
        return not self.refused and not self.latency_seconds and self._flowing.is_set()

    def cut(self) -> None:
        self.refused = True
        self.interrupt()

    def interrupt(self) -> None:
        """Breaks what is under way, and nothing else."""
        while self._waits:
            wait, _ = self._waits.popitem()
            wait.interrupt()

    def mend(self) -> None:
        self.refused = False

    def hang(self) -> None:
        self._flowing.clear()

    def flow(self) -> None:
        self._flowing.set()

    async def pass_through(self, *, late: bool = True) -> None:
        """Waits as long as the link makes a message wait. Raises: Unreachable when it is cut."""
        if self.refused:
            raise Unreachable("connection refused")
        if late and self.latency_seconds:
            await asyncio.sleep(self.latency_seconds)
        await self._flowing.wait()

    def join(self, wait: "Wait") -> None:
        """Has `wait` end when the link is cut."""
        self._waits[wait] = None

    def leave(self, wait: "Wait") -> None:
        self._waits.pop(wait, None)


Answering = Coroutine[Any, Any, Response | StreamResponse]
_Task = asyncio.Task[Response | StreamResponse]


class Place:
    """Place where a server is found: empty while it is stopped, another one after a restart.

    A server with a life works in that life, whatever becomes of those who ask; without one, in the asker's task.
    `witness` sees every request that arrives; `audit` does the answering, so that it sees what comes of it.
    """

    witness: Callable[[Request, User], None] | None = None
    audit: Callable[[Request, Callable[[], Answering]], Answering] | None = None

    def __init__(self) -> None:
        self.link = Link()
        self._server: Handler | None = None
        self._life: Life | None = None
        self._answering: dict[_Task, Request] = {}

    def put(self, server: Handler, life: Life | None = None) -> None:
        self._server, self._life = server, life
        self.link.mend()

    def take_away(self) -> None:
        self._server = self._life = None
        self.link.cut()
        for answering in list(self._answering):
            answering.cancel()

    @property
    def writes_under_way(self) -> int:
        return sum(request.method != "GET" for request in self._answering.values())

    async def handle(self, request: Request, user: User) -> Response | StreamResponse:
        if self._server is None:
            raise Unreachable("connection refused")
        if self.witness is not None:
            self.witness(request, user)
        work = self._answer(self._server, request, user)
        if self._life is None:
            return await work
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Response | StreamResponse] = loop.create_future()
        answering = loop.create_task(work, context=self._life.context())
        self._answering[answering] = request
        answering.add_done_callback(partial(self._hand_over, answer))
        return await answer

    def _hand_over(self, answer: asyncio.Future[Response | StreamResponse], answering: _Task) -> None:
        """Gives the asker what came of the work, if it still waits. As `asyncio.shield`, in one step of the loop."""
        del self._answering[answering]
        error = None if answering.cancelled() else answering.exception()
        if answer.done():
            return
        if answering.cancelled():
            answer.cancel()
        elif error is not None:
            answer.set_exception(error)
        else:
            answer.set_result(answering.result())

    def _answer(self, server: Handler, request: Request, user: User) -> Answering:
        if self.audit is None:
            return server.handle(request, user)
        return self.audit(request, lambda: server.handle(request, user))


class LinkedTransport:
    """A `Transport` to a place, over links that must all let a message pass."""

    def __init__(self, place: Place, user: User, *others: Link) -> None:
        self._inner = InProcessTransport(place, user)
        self._links = (place.link, *others)

    async def send(self, request: Request, *, timeout_seconds: float) -> Response:
        """A link that fails while the server works keeps the answer back: what was written is written."""
        with _Wait(self._links, request, timeout_seconds):
            await self._pass_links()
            for link in self._links:
                if link.faults is not None:
                    return await link.faults.send(request, self._inner, timeout_seconds)
            response = await self._inner.carry(request, timeout_seconds)
            await self._pass_links(late=False)
            return response

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[AsyncIterator[bytes], None]:
        """A server that is killed while it opens the stream is out of reach, as any other."""
        async with AsyncExitStack() as stack:
            with _Wait(self._links, request, OPEN_TIMEOUT_SECONDS):
                await self._pass_links()
                for link in self._links:
                    if link.faults is not None:
                        link.faults.open(request)
                lines = await stack.enter_async_context(self._inner.stream(request))
            guarded = self._guard(lines, request)
            try:
                yield guarded
            finally:
                await guarded.aclose()

    async def close(self) -> None:
        await self._inner.close()

    async def _guard(self, lines: AsyncIterator[bytes], request: Request) -> AsyncGenerator[bytes, None]:
        """The lines, until a link is cut. Lines that were sent together come together, however slow the link."""
        loop = asyncio.get_running_loop()
        while True:
            asked_at = loop.time()
            with _Wait(self._links, request):
                line = await anext(lines, None)
            if line is None:
                return
            copies = 1
            if not all(link.clear and link.faults is None for link in self._links):
                with _Wait(self._links, request):
                    await self._pass_links(late=loop.time() > asked_at)
                    copies = await self._copies_of_line()
            for _ in range(copies):
                yield line

    async def _copies_of_line(self) -> int:
        all_faults = [link.faults for link in self._links if link.faults is not None]
        return max([await faults.line() for faults in all_faults], default=1)

    async def _pass_links(self, *, late: bool = True) -> None:
        for link in self._links:
            if not link.clear:
                await link.pass_through(late=late)


class _Wait:
    """A wait of the running task that ends when one of the links is cut, or at its deadline. Raises: Unreachable.

    As `asyncio.timeout`, but for two reasons to end, and without a step of the loop: there is one for every message.
    When it is over it lets its timer go, which knows it: neither is left for the garbage collector.
    """

    __slots__ = ("_broken", "_cancelled", "_cancelling", "_links", "_request", "_seconds", "_task", "_timer")

    def __init__(self, links: Sequence[Link], request: Request, timeout_seconds: float | None = None) -> None:
        self._links = links
        self._request = request
        self._seconds = timeout_seconds
        self._timer: asyncio.Handle | None = None
        self._broken = self._cancelled = False

    def __enter__(self) -> None:
        for link in self._links:
            if link.refused:
                raise Unreachable("connection refused")
        task = asyncio.current_task()
        assert task is not None
        self._task, self._cancelling = task, task.cancelling()
        if self._seconds is not None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_at(loop.time() + self._seconds, self._cancel)
        for link in self._links:
            link.join(self)

    def interrupt(self) -> None:
        """The link has been cut."""
        if not self._cancelled:
            self._broken = True
            self._stop_timer()
            self._timer = asyncio.get_running_loop().call_soon(self._cancel)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        for link in self._links:
            link.leave(self)
        self._stop_timer()
        if self._cancelled and self._task.uncancel() <= self._cancelling and kind is asyncio.CancelledError:
            raise Unreachable(self._why()) from None

    def _cancel(self) -> None:
        self._cancelled = True
        self._task.cancel()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _why(self) -> str:
        what = f"{self._request.method} {self._request.path}"
        return "connection reset" if self._broken else f"{what}: no answer within {self._seconds:g} s"
