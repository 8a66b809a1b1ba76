"""A queue of keys that are to be reconciled.

A key waits at most once, however often it is added, and is never worked on twice at the same time; so the queue is
bounded by the number of objects. A key can be added for later; the earliest time wins. Failures wait longer and
longer. Keys come out by rank, the lowest first, and those of one rank in the order in which they were added.
"""

import asyncio
from collections.abc import Callable, Hashable
from datetime import datetime
from itertools import count
from typing import Generic, TypeVar

from kubeapi.loop.clock import Clock
from kubeapi.loop.randomness import Randomness

K = TypeVar("K", bound=Hashable)

FIRST_RETRY_SECONDS = 0.05
LAST_RETRY_SECONDS = 30.0


class WorkQueue(Generic[K]):
    """`owns`: other keys are passed over, since another process works on them."""

    def __init__(
        self,
        clock: Clock,
        randomness: Randomness,
        rank: Callable[[K], int] = lambda key: 0,
        owns: Callable[[K], bool] = lambda key: True,
    ) -> None:
        self._clock = clock
        self._randomness = randomness
        self._rank = rank
        self._owns = owns
        self._turns = count()
        self._ready: asyncio.PriorityQueue[tuple[int, int, K]] = asyncio.PriorityQueue()
        self._waiting: set[K] = set()
        self._running: set[K] = set()
        self._timers: dict[K, tuple[float, asyncio.TimerHandle]] = {}
        self._failures: dict[K, int] = {}
        self._idle = self._vacancies = 0
        self._hire: Callable[[], None] = lambda: None
        self._closed = False

    def on_demand(self, hire: Callable[[], None], most: int) -> None:
        """Has `hire` called, up to `most` times, whenever a key is ready that nobody waits for in `get`."""
        self._hire, self._vacancies = hire, most
        for _ in range(min(self._ready.qsize(), most)):
            self._fill_vacancy()

    def add(self, key: K) -> None:
        """Has `key` reconciled as soon as a worker is free."""
        self._cancel_timer(key)
        if self._closed or key in self._waiting or not self._owns(key):
            return
        self._waiting.add(key)
        if key not in self._running:
            self._make_ready(key)

    def add_at(self, key: K, instant: datetime) -> None:
        """Has `key` reconciled at `instant`, or earlier if it is added for an earlier one."""
        self._add_after(key, (instant - self._clock.now()).total_seconds())

    def retry(self, key: K, at_least: float = 0) -> None:
        """Has `key` reconciled again after a failure, later with every failure in a row, `at_least` so many seconds."""
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        delay = min(FIRST_RETRY_SECONDS * 2 ** min(failures - 1, 30), LAST_RETRY_SECONDS)
        self._add_after(key, self._randomness.jitter(max(delay, at_least)))

    def succeeded(self, key: K) -> None:
        """Ends the row of failures of `key`."""
        self._failures.pop(key, None)

    def has_failed(self, key: K) -> bool:
        """Tells whether the last reconciliation of `key` has failed."""
        return key in self._failures

    async def get(self) -> K:
        """The next key; tell `done` when its reconciliation has ended."""
        self._idle += 1
        try:
            _, _, key = await self._ready.get()
        finally:
            self._idle -= 1
        self._waiting.discard(key)
        self._running.add(key)
        return key

    def done(self, key: K) -> None:
        self._running.discard(key)
        if key in self._waiting:
            self._make_ready(key)

    def close(self) -> None:
        """Cancels what was added for later, and takes nothing more."""
        self._closed = True
        for key in list(self._timers):
            self._cancel_timer(key)

    def __len__(self) -> int:
        return len(self._waiting)

    def _make_ready(self, key: K) -> None:
        self._ready.put_nowait((self._rank(key), next(self._turns), key))
        if self._vacancies and self._ready.qsize() > self._idle and not self._closed:
            self._fill_vacancy()

    def _fill_vacancy(self) -> None:
        self._vacancies -= 1
        self._hire()

    def _add_after(self, key: K, seconds: float) -> None:
        if seconds <= 0:
            self.add(key)
            return
        if self._closed or key in self._waiting or not self._owns(key):
            return
        loop = asyncio.get_running_loop()
        when = loop.time() + seconds
        planned = self._timers.get(key)
        if planned is not None and planned[0] <= when:
            return
        self._cancel_timer(key)
        self._timers[key] = (when, loop.call_at(when, self.add, key))

    def _cancel_timer(self, key: K) -> None:
        planned = self._timers.pop(key, None)
        if planned is not None:
            planned[1].cancel()
