"""Turns of the event loop: work that is never done lets others run in between.

Workers that find everything they need in a cache never wait, and would keep the loop until their queue is empty. So
each asks for a turn before a piece of work. All of them together have `BUDGET_SECONDS` of each round of the loop;
whoever asks later goes on in the next round, in the order of asking, after everybody else of the process: probes,
heartbeats, requests. A single piece of work is not interrupted: what takes long asks again in between. Holds: L4, S13.

A round wakes about as many as had their turn in the one before, so that it costs what it does, however many wait: each
member of a large fleet has workers of its own.

Work that is `late` lets `LATE_TURNS` later ones go first, and is not begun while anybody has the `late_hold`.
`with_own_time` makes turns that take no time from these.
"""

import asyncio
import heapq
from collections.abc import Generator
from contextlib import contextmanager
from itertools import count
from typing import TypeVar

T = TypeVar("T")

BUDGET_SECONDS = 0.01
FEWEST_WOKEN = 8
LATE_TURNS = 10_000
MOST_HELD_SECONDS = 10.0


class LateHold:
    """Hold on late work: none is begun while anybody has it."""

    def __init__(self) -> None:
        self._holders: set[object] = set()
        self._free = asyncio.Event()
        self._free.set()

    async def wait(self) -> None:
        """Returns when nobody has it."""
        await self._free.wait()

    @contextmanager
    def held(self) -> Generator[None, None, None]:
        """Context in which late work is held, for `MOST_HELD_SECONDS` at most."""
        holder = object()
        self._holders.add(holder)
        self._free.clear()
        end = asyncio.get_running_loop().call_later(MOST_HELD_SECONDS, self._end, holder)
        try:
            yield
        finally:
            end.cancel()
            self._end(holder)

    def _end(self, holder: object) -> None:
        self._holders.discard(holder)
        if not self._holders:
            self._free.set()


class Turns:
    """Shared by those who share a loop."""

    def __init__(self, late_hold: LateHold | None = None) -> None:
        self._ends: float | None = None
        self._begins = False
        """Tells whether the next round is on its way."""
        self._taken = 0
        """Number of turns of this round."""
        self._asked = count()
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        self.late_hold = late_hold or LateHold()

    def with_own_time(self) -> "Turns":
        """Turns with a budget of their own in each round, and the same `late_hold`."""
        return Turns(self.late_hold)

    async def take(self, *, late: bool = False) -> None:
        """Returns at once while this round has time left, else in a later one."""
        number = next(self._asked)
        place = number + LATE_TURNS * late
        while not self._has_time() or (late and self._is_before(place)):
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            heapq.heappush(self._waiting, (place, number, turn))
            await turn
        self._taken += 1

    def _is_before(self, place: int) -> bool:
        """Tells whether somebody waits who comes before this place."""
        return bool(self._waiting) and self._waiting[0][0] < place

    async def finish(self, work: Generator[object, None, T]) -> T:
        """Result of `work`, with a turn for each of its steps."""
        while True:
            try:
                next(work)
            except StopIteration as ended:
                result: T = ended.value
                return result
            await self.take()

    def _has_time(self) -> bool:
        loop = asyncio.get_running_loop()
        now = loop.time()
        if self._ends is None:
            self._ends = now + BUDGET_SECONDS
            self._begin_next()
        return now < self._ends

    def _begin_next(self) -> None:
        if not self._begins:
            self._begins = True
            asyncio.get_running_loop().call_soon(self._next_round)

    def _next_round(self) -> None:
        """Wakes those who have waited longest. While others wait there is another round, even if these are gone."""
        self._ends, self._begins = None, False
        to_wake, self._taken = max(FEWEST_WOKEN, 2 * self._taken), 0
        while self._waiting and to_wake:
            _, _, turn = heapq.heappop(self._waiting)
            if not turn.done():
                turn.set_result(None)
                to_wake -= 1
        if self._waiting:
            self._begin_next()
