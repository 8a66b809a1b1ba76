"""A limit on how many requests are made: so many a second, and so many at once after a pause.

Karmada: --kube-api-qps and --kube-api-burst of client-go; same, except that there is no limit by default.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

from kubeapi.errors import Unreachable
from kubeapi.transport import Request, Response, Transport


@dataclass(frozen=True, slots=True)
class Limit:
    """`per_second` None is without a limit; 0 counts as one in a thousand seconds."""

    per_second: float | None = None
    burst: int = 60


class RequestPace:
    """Turns of requests, of all transports that share a limit."""

    def __init__(self, per_second: float, burst: int) -> None:
        self._interval = 1 / max(per_second, 0.001)
        self._burst = burst
        self._next = float("-inf")

    @classmethod
    def of(cls, limit: Limit) -> "RequestPace | None":
        """None without a limit."""
        return None if limit.per_second is None else cls(limit.per_second, limit.burst)

    def take_turn(self, now: float, timeout_seconds: float) -> float:
        """Seconds until the turn comes. Raises: Unreachable."""
        turn = max(self._next, now - self._interval * (self._burst - 1))
        wait = max(turn - now, 0.0)
        if wait >= timeout_seconds:
            raise Unreachable(f"no turn within {timeout_seconds:g} s: the limit on requests is too low")
        self._next = turn + self._interval
        return wait


class LimitedTransport:
    """A `Transport` whose requests wait for their turn. Watches, which are few, do not.

    What decides whether a request may be sent at all belongs within: much may change while it waits (Holds: S8).
    """

    def __init__(self, inner: Transport, pace: RequestPace) -> None:
        self._inner = inner
        self._pace = pace

    async def send(self, request: Request, *, timeout_seconds: float) -> Response:
        """Raises: Unreachable when the turn does not come in time."""
        wait = self._pace.take_turn(asyncio.get_running_loop().time(), timeout_seconds)
        await asyncio.sleep(wait)
        return await self._inner.send(request, timeout_seconds=timeout_seconds - wait)

    def stream(self, request: Request) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        return self._inner.stream(request)

    async def close(self) -> None:
        await self._inner.close()


def limited(transport: Transport, limit: Limit) -> Transport:
    return paced(transport, RequestPace.of(limit))


def paced(transport: Transport, pace: RequestPace | None) -> Transport:
    return transport if pace is None else LimitedTransport(transport, pace)
