"""Order of the writes to one server: those that have an application serve go before those that record it.

Each write has a deadline of its own, and the earliest deadline goes first:

    at once      a Work, a Cluster, the addresses of a Service, an Ingress or a Gateway, and what is not told below
    5 seconds    the decision about a binding
    20 seconds   an Event, a status, an Outage: they record what has happened

So a record that has waited for its twenty seconds goes before whatever came later: nothing waits for ever. Reads,
watches and Leases do not wait. Only so many writes are under way at once: the order counts for those that a server has
not got yet. A server that answers many as soon as one has none of them waiting, and gets more (`WritePace`). A write
that is not answered within a second counts no more: a server that hangs holds back nothing else. Differs from
Karmada, where all writes of a mass failover compete.
"""

import asyncio
import heapq
import math
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from itertools import count

from kubeapi.errors import Unreachable
from kubeapi.transport import Request, Response, Transport

WRITES_AT_ONCE, RECORDS_AT_ONCE = 16, 8
"""Numbers of writes under way to a server that is busy, and of records among them: few enough for an order."""
MOST_AT_ONCE = 256
"""Number of writes under way to a server that is not busy; half of them may be records."""
SLOWER, REMEMBERED_SECONDS = 3, 60.0
"""Times as long as the quickest answer of about a minute, from which on a server is busy."""
SLOW_SECONDS = 1.0
DECISION_SECONDS, RECORD_SECONDS = 5.0, 20.0
_WRITES = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_UNORDERED, _RECORDS = frozenset({"leases"}), frozenset({"events", "outages"})
_DECISIONS = frozenset({"resourcebindings", "clusterresourcebindings"})
_AT_ONCE = frozenset({"clusters", "services", "ingresses", "gateways"})
_OF_NAMESPACES = frozenset({"status", "finalize"})
_Waiting = list[tuple[float, int, asyncio.Future[None]]]


class WritePace:
    """Number of writes that may be under way to one server: more with each answer that comes as soon as the quickest.

    The way to a server takes the same for one write as for many. Where many take longer they wait for each other there,
    and come in no order.
    """

    def __init__(self) -> None:
        self.most = WRITES_AT_ONCE
        self._quickest = self._before = math.inf
        self._since = 0.0

    def answered(self, seconds: float, now: float, *, others_wait: bool) -> None:
        """Notes how long an answer took that came now."""
        if now >= self._since + REMEMBERED_SECONDS:
            self._before, self._quickest, self._since = self._quickest, math.inf, now
        self._quickest = min(self._quickest, seconds)
        if seconds > SLOWER * min(self._quickest, self._before):
            self.most = max(WRITES_AT_ONCE, self.most - self.most // 8)
        elif others_wait:
            self.most = min(MOST_AT_ONCE, self.most + 1)


class OrderedTransport:
    """A `Transport` whose writes wait for their turn."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self._numbers = count()
        self._others: _Waiting = []
        self._records: _Waiting = []
        self._pace = WritePace()
        self._under_way: dict[asyncio.Future[None], bool] = {}
        """Turns of the writes that count, and whether each is a record."""

    async def send(self, request: Request, *, timeout_seconds: float) -> Response:
        """A record's turn may come `RECORD_SECONDS` later than in `timeout_seconds`. Raises: Unreachable."""
        seconds = seconds_to_wait(request)
        if seconds is None:
            return await self._inner.send(request, timeout_seconds=timeout_seconds)
        loop = asyncio.get_running_loop()
        is_record, begun = seconds == RECORD_SECONDS, loop.time()
        limit = timeout_seconds + RECORD_SECONDS * is_record
        turn = await self._take(begun + seconds, limit, is_record=is_record)
        slow, sent = loop.call_later(SLOW_SECONDS, self._give_back, turn), loop.time()
        try:
            answer = await self._inner.send(request, timeout_seconds=min(timeout_seconds, begun + limit - sent))
            waits = bool(self._others or self._records)
            self._pace.answered(loop.time() - sent, loop.time(), others_wait=waits)
            return answer
        finally:
            slow.cancel()
            self._give_back(turn)

    def stream(self, request: Request) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        return self._inner.stream(request)

    async def close(self) -> None:
        await self._inner.close()

    async def _take(self, deadline: float, timeout_seconds: float, *, is_record: bool) -> asyncio.Future[None]:
        turn = asyncio.get_running_loop().create_future()
        heapq.heappush(self._records if is_record else self._others, (deadline, next(self._numbers), turn))
        self._begin_next()
        try:
            async with asyncio.timeout(timeout_seconds):
                await turn
        except (TimeoutError, asyncio.CancelledError) as error:
            self._give_back(turn)
            if isinstance(error, TimeoutError):
                raise Unreachable(f"no turn to write within {timeout_seconds:g} s") from None
            raise
        return turn

    def _give_back(self, turn: asyncio.Future[None]) -> None:
        if self._under_way.pop(turn, None) is not None:
            self._begin_next()

    def _begin_next(self) -> None:
        while len(self._under_way) < self._pace.most:
            is_full = sum(self._under_way.values()) >= self._pace.most * RECORDS_AT_ONCE // WRITES_AT_ONCE
            waiting = min(filter(None, [self._others] if is_full else [self._others, self._records]), default=None)
            if waiting is None:
                return
            _, _, turn = heapq.heappop(waiting)
            if not turn.done():
                self._under_way[turn] = waiting is self._records
                turn.set_result(None)


def seconds_to_wait(request: Request) -> float | None:
    """Seconds that a request lets others go first; None for one that does not wait at all."""
    plural, subresource = _named(request.path)
    if request.method not in _WRITES or plural in _UNORDERED:
        return None
    if plural in _AT_ONCE:
        return 0.0
    if subresource == "status" or plural in _RECORDS:
        return RECORD_SECONDS
    return DECISION_SECONDS if plural in _DECISIONS else 0.0


def _named(path: str) -> tuple[str, str]:
    """The plural and the subresource of a path as `/apis/apps/v1/namespaces/default/deployments/web/status`."""
    parts = path.split("/")
    named = parts[3:] if parts[1:2] == ["api"] else parts[4:]
    if named[:1] == ["namespaces"] and len(named) > 2 and named[2] not in _OF_NAMESPACES:
        named = named[2:]
    return (*named, "", "", "")[0], (*named, "", "", "")[2]
