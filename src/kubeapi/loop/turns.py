"""Turns of the event loop: work that is never done lets others run in between.

Workers that find everything they need in a cache never wait, and would keep the loop until their queue is empty. So
each asks for a turn before a piece of work. All of them together have `BUDGET_SECONDS` of each round of the loop;
whoever asks later goes on in the next round, in the order of asking, after everybody else of the process: probes,
heartbeats, requests. A single piece of work is not interrupted: what takes long asks again in between. Holds: L4, S13.
"""

import asyncio
import heapq
from collections.abc import Generator
from itertools import count
from typing import TypeVar

T = TypeVar("T")

BUDGET_SECONDS = 0.01


class Turns:
    """Shared by those who share a loop."""

    def __init__(self) -> None:
        self._ends: float | None = None
        self._is_ending = False
        self._taken = 0
        """Turns that were taken in this round."""
        self._asked = count()
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []

    async def take(self) -> None:
        """Returns at once while this round has time left, else in a later one."""
        asked = next(self._asked)
        while not self._has_time():
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            heapq.heappush(self._waiting, (asked, turn))
            await turn
        self._taken += 1

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
        now = asyncio.get_running_loop().time()
        if self._ends is None:
            self._ends = now + BUDGET_SECONDS
            self._end_soon()
        return now < self._ends

    def _end_soon(self) -> None:
        if not self._is_ending:
            self._is_ending = True
            asyncio.get_running_loop().call_soon(self._next_round)

    def _next_round(self) -> None:
        """Wakes the next in line: twice as many as had a turn in the last round, since each that is woken in vain costs
        as much as a short turn does."""
        self._ends, self._is_ending = None, False
        woken, self._taken = 2 * self._taken + 2, 0
        while self._waiting and woken > 0:
            _, turn = heapq.heappop(self._waiting)
            if not turn.done():
                turn.set_result(None)
                woken -= 1
        if self._waiting:
            self._end_soon()
