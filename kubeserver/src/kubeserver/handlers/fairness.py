"""Fairness: one greedy client does not starve the rest.

    request ▸ a free seat? ──yes──▶ handled
                  └─no──▶ its user's queue ──the next seat goes to the user whose turn it is──▶ handled
                              └─full, or waited too long──▶ 429

Reads and writes have seats of their own: reads keep the loop busy, so few of them are let in at a time; writes wait
for the disk, and the more of them wait together, the cheaper is each. Large ones keep the loop busy, too: few are let
in, one in a round. What leads to a member cluster has seats of its own, too: it waits for that member. A watch gives
its seat back once it is open. Probes pass without a seat. Whoever asks too often in a second is sent away before that,
but for administrators.

Kubernetes: API priority and fairness; the idea, with one level and a queue for each user.
"""

import math
from dataclasses import dataclass

from kubeapi.loop import Clock, SystemClock
from kubeapi.loop.seats import Crowded, Seats
from kubeapi.status import Status, StatusDetails
from kubeapi.transport import Request, Response
from kubeserver.errors import status_response
from kubeserver.handler import ADMIN_GROUP, Handler, StreamResponse, User
from kubeserver.handlers.connecting import leads_out
from kubeserver.handlers.rate_limits import RateLimiter
from kubeserver.health import OPEN_PATHS
from kubeserver.registry.large_objects import LARGE_BYTES, pause

RETRY_AFTER_SECONDS = 1


@dataclass(frozen=True, slots=True)
class Limits:
    """`queued`, `per_second` and `burst` count for each user; so long may a request wait for its seat."""

    reading: int = 16
    writing: int = 256
    writing_large: int = 16
    leading_out: int = 256
    queued: int = 1_024
    waiting_seconds: float = 20.0
    per_second: float = 1_000.0
    burst: int = 5_000


class Fairness:
    """A `Handler` before another."""

    def __init__(self, handler: Handler, limits: Limits | None = None, clock: Clock | None = None) -> None:
        limits = limits or Limits()
        self._handler = handler
        self._reading = Seats(limits.reading, limits.queued, limits.waiting_seconds)
        self._writing = Seats(limits.writing, limits.queued, limits.waiting_seconds)
        self._writing_large = Seats(limits.writing_large, limits.queued, limits.waiting_seconds)
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
            await pause(len(request.body))
            return await self._handler.handle(request, user)
        finally:
            seats.give_back()

    def _seats(self, request: Request) -> "Seats":
        if leads_out(request.path):
            return self._leading_out
        if request.method in ("GET", "HEAD"):
            return self._reading
        return self._writing_large if len(request.body) > LARGE_BYTES else self._writing


def too_many(wait_seconds: float, message: str = "too many requests, please try again later") -> Response:
    seconds = math.ceil(wait_seconds)
    details = StatusDetails(retry_after_seconds=seconds)
    status = Status(message=message, reason="TooManyRequests", details=details, code=429)
    return status_response(status, {"retry-after": str(seconds)})
