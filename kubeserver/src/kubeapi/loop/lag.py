"""Lag of the event loop: how long this process stood still, and whether it did while somebody waited.

A loop stands still while one computation takes long, or while the process is stopped or its machine suspended. Answers,
events and renewals wait in its sockets meanwhile, and every deadline passes; none of that is the silence of others.
So a tick is due every second; by as much as it is late, nothing of this process ran.

    EventLoopLag.since     seconds stood still after an instant
    EventLoopLag.timeout   a deadline that runs over the time in which the loop ran

Never judges anybody. Holds: S13.
"""

import asyncio
import logging
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import NamedTuple

from kubeapi.loop.supervisor import Supervisor

log = logging.getLogger(__name__)

TICK_SECONDS = 1.0
TOLERATED_SECONDS = 0.25
"""A tick that is late by less says nothing."""
TOLD_SECONDS = 1.0
"""A stall of so long is logged."""
REMEMBERED_STALLS = 256
SHORTEST_EXTENSION_SECONDS = 0.5
"""A deadline that is put off is looked at again after so long at the earliest."""


class Stall(NamedTuple):
    """Instants of the loop's clock."""

    start: float
    end: float

    @property
    def seconds(self) -> float:
        return self.end - self.start


class EventLoopLag:
    """The stalls of the running loop; there are none before `start`."""

    def __init__(self) -> None:
        self._stalls: deque[Stall] = deque(maxlen=REMEMBERED_STALLS)
        self._due: float | None = None

    def start(self, supervisor: Supervisor, stalled: Callable[[float], None] = lambda seconds: None) -> None:
        """Ticks until the supervisor is closed. `stalled` is told the seconds of each stall."""
        self._due = asyncio.get_running_loop().time() + TICK_SECONDS
        supervisor.start(self._tick(stalled), "event-loop-lag")

    def stalls_since(self, instant: float) -> Iterator[Stall]:
        """The stalls after `instant`, the last one first, with the one that goes on or has just ended."""
        stall = self._going_on()
        if stall is not None and stall.end > instant:
            yield Stall(max(stall.start, instant), stall.end)
        for stall in reversed(self._stalls):
            if stall.end <= instant:
                return
            yield Stall(max(stall.start, instant), stall.end)

    def since(self, instant: float) -> float:
        """Seconds of the time after `instant` in which nothing ran."""
        return sum(stall.seconds for stall in self.stalls_since(instant))

    @asynccontextmanager
    async def timeout(self, seconds: float) -> AsyncGenerator[None, None]:
        """A bound on the body, over time in which the loop ran: an answer that waited while it stood still is taken.

        Raises: TimeoutError.
        """
        bound = _Bound(self, seconds)
        try:
            async with bound.scope:
                yield
        finally:
            bound.end()

    def _going_on(self) -> Stall | None:
        if self._due is None:
            return None
        now = asyncio.get_running_loop().time()
        return Stall(self._due, now) if now - self._due > TOLERATED_SECONDS else None

    async def _tick(self, stalled: Callable[[float], None]) -> None:
        loop = asyncio.get_running_loop()
        try:
            while True:
                await asyncio.sleep(TICK_SECONDS)
                stall, self._due = self._going_on(), loop.time() + TICK_SECONDS
                if stall is not None:
                    self._stalls.append(stall)
                    stalled(stall.seconds)
                    if stall.seconds >= TOLD_SECONDS:
                        log.warning("the event loop stood still for %.1f s", stall.seconds)
        finally:
            self._due = None


class _Bound:
    """A deadline that is put off by the time in which nothing ran. It and its timer know each other until it ends."""

    def __init__(self, lag: EventLoopLag, seconds: float) -> None:
        self.scope = asyncio.timeout(None)
        self._lag = lag
        self._seconds = seconds
        self._loop = asyncio.get_running_loop()
        self._began = self._loop.time()
        self._timer: asyncio.TimerHandle | None = self._loop.call_at(self._began + seconds, self._look)

    def end(self) -> None:
        """Nothing is left for the garbage collector."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        left = self._began + self._seconds + self._lag.since(self._began) - self._loop.time()
        if left > 0:
            self._timer = self._loop.call_later(max(left, SHORTEST_EXTENSION_SECONDS), self._look)
        else:
            self.scope.reschedule(self._loop.time())
