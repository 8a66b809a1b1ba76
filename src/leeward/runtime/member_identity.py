"""Identity of a Push member: who answers at its endpoint is first asked for the uid of its Namespace `kube-system`.

An endpoint or a credential that was given by mistake leads to another cluster of the fleet. There its Works would be
carried out a second time, and what cannot be seen there would count as gone (Holds: S5, S6). So nothing is sent to who
is known to be another one; a probe hears the reason.

A probe asks for that Namespace anyhow. Its answer serves, the first one and each later one: what an address leads to
can change without the Cluster. Who does not answer is told nothing else; who may not be asked is taken for the member.

The Namespace says as well which hub the member obeys (`hub_fence.py`). An answer is good for writes for
`LOOK_SECONDS`, which is longer than the pause between two probes.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from http import HTTPStatus

from kubeapi.errors import LocalFailure, Unreachable, Untrusted
from kubeapi.transport import Request, Response, Transport
from kubeclient import Client
from leeward.runtime.hub_fence import PATH, HubFence, namespace_in

ASK_SECONDS = 10.0
"""Deadline of the question before a watch; another request has its own."""
ASK_AGAIN_SECONDS = 10.0
"""Pause after which who was another one is asked again, when there is something to be sent."""
LOOK_SECONDS = 15.0
"""Time after an answer in which a write is begun without another question."""
_READING = ("GET", "HEAD")
_QUESTION = Request("GET", PATH, headers={"accept": "application/json"})
_HEALTH = ("/readyz", "/healthz")
"""Paths that are asked of whoever answers: of a member whose store is dead they say something, and it says nothing."""
_NOBODY_TELLS = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND)
"""Answers of who does not tell, now or later."""

Judge = Callable[[str], Awaitable[str]]
"""Tells why nothing is done in the cluster with this id; empty where there is no reason."""


async def anyone(_: str) -> str:
    """A `Judge` to whom every cluster is the one that is to be reached."""
    return ""


def obeying(client: Client, fence: HubFence) -> Client:
    """The client of a member, which sends nothing there while the member obeys a newer hub than that of `fence`."""
    return client.behind(lambda transport: IdentifiedTransport(transport, anyone, fence))


class AnotherCluster(Untrusted):
    """The server is known to be another cluster than is to be reached; nothing was sent."""


@dataclass(slots=True)
class _Question:
    """Question that is under way. `over` is set when it has its answer, or has failed."""

    over: asyncio.Event = field(default_factory=asyncio.Event)
    answer: Response | None = None


class IdentifiedTransport:
    """A `Transport` that sends nothing to a server which `judge` says is another one, nor to one that obeys a newer hub
    than that of `fence`. Holds: S5, S6."""

    def __init__(self, inner: Transport, judge: Judge, fence: HubFence | None = None) -> None:
        self._inner = inner
        self._judge = judge
        self._fence = fence
        self._answered_at: float | None = None
        self._problem = ""
        self._untold = ""
        """The reason why the member could not be told of this hub: until it is, nothing is written there."""
        self._asking: _Question | None = None

    async def send(self, request: Request, *, timeout_seconds: float) -> Response:
        """Raises: AnotherCluster; Unreachable, also where it is not known who would answer."""
        if request.method == "GET" and request.path == PATH:
            response = await self._ask(request, timeout_seconds)
            self._refuse()
            return response
        if request.path in _HEALTH:
            self._refuse()
        elif self._has_to_ask(writes=(writes := request.method not in _READING)):
            loop = asyncio.get_running_loop()
            deadline = loop.time() + timeout_seconds
            await self._identify(timeout_seconds)
            if writes and self._untold:
                raise Unreachable(self._untold)
            timeout_seconds = max(deadline - loop.time(), 0.0)
        return await self._inner.send(request, timeout_seconds=timeout_seconds)

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[AsyncIterator[bytes], None]:
        """Raises: AnotherCluster; and as of any transport."""
        if self._has_to_ask(writes=False):
            await self._identify(ASK_SECONDS)
        async with self._inner.stream(request) as lines:
            yield lines

    async def close(self) -> None:
        await self._inner.close()

    def _has_to_ask(self, *, writes: bool) -> bool:
        return self._answered_at is None or bool(self._problem) or (writes and (bool(self._untold) or self._is_old()))

    def _is_old(self) -> bool:
        """Tells whether another hub may have taken over since the last answer."""
        if self._fence is None or self._answered_at is None:
            return False
        return asyncio.get_running_loop().time() - self._answered_at >= LOOK_SECONDS

    async def _identify(self, seconds: float) -> None:
        """Returns when nothing is known that speaks against who answers. All that wait have one question.

        Raises: AnotherCluster, Unreachable.
        """
        try:
            async with asyncio.timeout(seconds):
                if self._is_due():
                    response = await self._ask(_QUESTION, seconds)
                    if self._answered_at is None or self._is_old():
                        raise Unreachable(f"GET {PATH}: HTTP {response.code}, so that nobody knows which cluster it is")
        except TimeoutError:
            raise Unreachable(f"GET {PATH}: no answer within {seconds:g} s") from None
        self._refuse()

    def _is_due(self) -> bool:
        if self._answered_at is None or self._untold or self._is_old():
            return True
        return bool(self._problem) and asyncio.get_running_loop().time() - self._answered_at >= ASK_AGAIN_SECONDS

    async def _ask(self, request: Request, timeout_seconds: float) -> Response:
        """The answer to the question who it is, taken in: to one that is under way, where that gets any. Raises:
        Unreachable."""
        while self._asking is not None:
            earlier = self._asking
            await earlier.over.wait()
            if earlier.answer is not None:
                return earlier.answer
        question = self._asking = _Question()
        try:
            response = await self._inner.send(request, timeout_seconds=timeout_seconds)
            await self._take_in(response)
            question.answer = response
            return response
        finally:
            self._asking = None
            question.over.set()

    async def _take_in(self, response: Response) -> None:
        """Judges an answer. One that says nothing changes nothing of what is known."""
        found = namespace_in(response)
        if found is not None:
            problem, self._untold = await self._judge(found.uid), ""
            if not problem and self._fence is not None:
                try:
                    problem = await self._fence.look(found, self._inner)
                except LocalFailure:
                    raise
                except Unreachable as error:
                    self._untold = str(error)
            self._problem = problem
        elif response.code not in _NOBODY_TELLS:
            return
        elif self._fence is not None:
            self._fence.unseen(response.code)
        self._answered_at = asyncio.get_running_loop().time()

    def _refuse(self) -> None:
        """Raises: AnotherCluster."""
        if self._problem:
            raise AnotherCluster(self._problem)
