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


class LimitedTransport:
    """A `Transport` whose requests wait for their turn. Watches, which are few, do not."""

    def __init__(self, inner: Transport, per_second: float, burst: int) -> None:
        self._inner = inner
        self._interval = 1 / max(per_second, 0.001)
        self._burst = burst
        self._next = float("-inf")

    async def send(self, request: Request, *, timeout_seconds: float) -> Response:
        """Raises: Unreachable when the turn does not come in time."""
        wait = self._take_turn(asyncio.get_running_loop().time(), timeout_seconds)
        await asyncio.sleep(wait)
        return await self._inner.send(request, timeout_seconds=timeout_seconds - wait)

    def stream(self, request: Request) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        return self._inner.stream(request)

    async def close(self) -> None:
        await self._inner.close()

    def _take_turn(self, now: float, timeout_seconds: float) -> float:
        """Seconds until the turn comes. Raises: Unreachable."""
        turn = max(self._next, now - self._interval * (self._burst - 1))
        wait = max(turn - now, 0.0)
        if wait >= timeout_seconds:
            raise Unreachable(f"no turn within {timeout_seconds:g} s: the limit on requests is too low")
        self._next = turn + self._interval
        return wait


def limited(transport: Transport, limit: Limit) -> Transport:
    return transport if limit.per_second is None else LimitedTransport(transport, limit.per_second, limit.burst)
