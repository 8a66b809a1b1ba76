"""Fairness: one greedy client does not starve the rest.

    request ▸ a free seat? ──yes──▶ handled
                  └─no──▶ its user's queue ──the next seat goes to the user whose turn it is──▶ handled
                              └─full, or waited too long──▶ 429

Reads and writes have seats of their own: reads keep the loop busy, so few of them are let in at a time; writes wait
for the disk, and the more of them wait together, the cheaper is each. What leads to a member cluster has seats of its
own, too: it waits for that member. A watch gives its seat back once it is open. Probes pass without a seat. Whoever
asks too often in a second is sent away before that, but for administrators.

Kubernetes: API priority and fairness; the idea, with one level and a queue for each user.
"""

import asyncio
import math
from collections import OrderedDict, deque
from dataclasses import dataclass

from kubeapi.loop.clock import Clock, SystemClock
from kubeapi.status import Status, StatusDetails
from kubeapi.transport import Request, Response
from kubeserver.errors import status_response
from kubeserver.handler import ADMIN_GROUP, Handler, StreamResponse, User
from kubeserver.handlers.connecting import leads_out
from kubeserver.handlers.rate_limits import RateLimiter
from kubeserver.health import OPEN_PATHS

RETRY_AFTER_SECONDS = 1


@dataclass(frozen=True, slots=True)
class Limits:
    """`queued`, `per_second` and `burst` count for each user; so long may a request wait for its seat."""

    reading: int = 16
    writing: int = 256
    leading_out: int = 256
    queued: int = 1_024
    waiting_seconds: float = 20.0
    per_second: float = 1_000.0
    burst: int = 5_000


class Crowded(Exception):
    """The user's queue is full, or its head did not move in time."""


class Fairness:
    """A `Handler` before another."""

    def __init__(self, handler: Handler, limits: Limits | None = None, clock: Clock | None = None) -> None:
        limits = limits or Limits()
        self._handler = handler
        self._reading = Seats(limits.reading, limits.queued, limits.waiting_seconds)
        self._writing = Seats(limits.writing, limits.queued, limits.waiting_seconds)
        self._leading_out = Seats(limits.leading_out, limits.queued, limits.waiting_seconds)
        self._rate_limiter = RateLimiter(limits.per_second, limits.burst)
        self._clock = clock or SystemClock()

    async def handle(self, request: Request, user: User) -> Response | StreamResponse:
        if request.path.startswith(OPEN_PATHS):
            return await self._handler.handle(request, user)
        if ADMIN_GROUP not in user.groups:
            wait_seconds = self._rate_limiter.wait_seconds(user.name, self._clock.monotonic())
            if wait_seconds > 0:
                return too_many(wait_seconds)
        seats = self._seats(request)
        try:
            await seats.take(user.name)
        except Crowded:
            return too_many(RETRY_AFTER_SECONDS)
        try:
            return await self._handler.handle(request, user)
        finally:
            seats.give_back()

    def _seats(self, request: Request) -> "Seats":
        if leads_out(request.path):
            return self._leading_out
        return self._reading if request.method in ("GET", "HEAD") else self._writing


class Seats:
    """`count` seats, and a queue for each user; users take turns."""

    def __init__(self, count: int, queued: int, waiting_seconds: float) -> None:
        self._free = count
        self._queued = queued
        self._waiting_seconds = waiting_seconds
        self._queues: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()

    async def take(self, user: str) -> None:
        """Returns with a seat. Raises: Crowded."""
        if self._free and not self._queues:
            self._free -= 1
            await self._let_others_come()
            return
        turn = self._queue(user)
        try:
            async with asyncio.timeout(self._waiting_seconds):
                await turn
        except BaseException as error:
            self._withdraw(user, turn)
            if isinstance(error, TimeoutError):
                raise Crowded from None
            raise

    def give_back(self) -> None:
        """The seat goes to the user whose turn it is."""
        while self._queues:
            user, queue = self._queues.popitem(last=False)
            turn = queue.popleft()
            if queue:
                self._queues[user] = queue
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1

    async def _let_others_come(self) -> None:
        """Reads never wait on their own: without this, nobody would ever find all seats taken."""
        try:
            await asyncio.sleep(0)
        except BaseException:
            self.give_back()
            raise

    def _queue(self, user: str) -> asyncio.Future[None]:
        queue = self._queues.setdefault(user, deque())
        if len(queue) >= self._queued:
            raise Crowded
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        queue.append(turn)
        return turn

    def _withdraw(self, user: str, turn: asyncio.Future[None]) -> None:
        """Gives up a place in the queue, or the seat that came at the very moment."""
        if turn.done() and not turn.cancelled():
            self.give_back()
            return
        queue = self._queues.get(user)
        if queue is not None and turn in queue:
            queue.remove(turn)
            if not queue:
                del self._queues[user]


def too_many(wait_seconds: float, message: str = "too many requests, please try again later") -> Response:
    seconds = math.ceil(wait_seconds)
    details = StatusDetails(retry_after_seconds=seconds)
    status = Status(message=message, reason="TooManyRequests", details=details, code=429)
    return status_response(status, {"retry-after": str(seconds)})
