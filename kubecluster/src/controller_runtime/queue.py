"""A queue of keys that are to be reconciled.

A key waits at most once, however often it is added, and is never worked on twice at the same time; so the queue is
bounded by the number of objects. A key can be added for later; the earliest time wins. Failures wait longer and
longer. Keys come out by rank, the lowest first, and those of one rank in the order in which they were added.

A key that is probably as it should be is added as `late`: such keys have workers of their own, which let others have
their turns first. So a process that begins, and looks at everything once, does what there is to do before that. Whoever
adds the key otherwise meanwhile has it come with the others.
"""

import asyncio
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from datetime import datetime
from itertools import count
from typing import Any, Generic, NamedTuple, TypeVar

from kubeapi.loop import Clock, Randomness

K = TypeVar("K", bound=Hashable)

FIRST_RETRY_SECONDS = 0.05
LAST_RETRY_SECONDS = 30.0
LATE_RANK = 2**32
"""Rank from which on a key is late."""


class _Entry(NamedTuple):
    """Place of a key among those that are ready."""

    late: bool
    rank: int
    turn: int


@dataclass(slots=True)
class _Lane(Generic[K]):
    """Keys that are ready, and places left for workers. `idle` workers wait for a key."""

    ready: asyncio.PriorityQueue[tuple[int, int, K]] = field(default_factory=asyncio.PriorityQueue[Any])
    idle: int = 0
    vacancies: int = 0


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
        self._lanes = (_Lane[K](), _Lane[K]())
        """Lanes of the keys that come first, and of those that are late."""
        self._waiting: dict[K, bool] = {}
        """Tells of each key that waits whether it is late."""
        self._entries: dict[K, _Entry] = {}
        self._running: set[K] = set()
        self._timers: dict[K, tuple[float, asyncio.TimerHandle]] = {}
        self._failures: dict[K, int] = {}
        self._hire: Callable[[bool], None] = lambda late: None
        self._closed = False

    def on_demand(self, hire: Callable[[bool], None], most: int) -> None:
        """Has `hire` called, up to `most` times for each, whenever a key is ready that nobody waits for in `get`: with
        whether it is late."""
        self._hire = hire
        for late, lane in enumerate(self._lanes):
            lane.vacancies = most
            for _ in range(min(lane.ready.qsize(), most)):
                self._fill_vacancy(late=bool(late))

    def add(self, key: K, *, late: bool = False) -> None:
        """Has `key` reconciled as soon as a worker is free. What is late is not instead of what was planned."""
        if not late:
            self._cancel_timer(key)
        if self._closed or not self._owns(key):
            return
        self._waiting[key] = late and self._waiting.get(key, True)
        if key not in self._running:
            self._make_ready(key)

    def add_at(self, key: K, instant: datetime) -> None:
        """Has `key` reconciled at `instant`, or earlier if it is added for an earlier one."""
        self._add_after(key, (instant - self._clock.now()).total_seconds())

    def retry(self, key: K, at_least: float = 0) -> None:
        """Has `key` reconciled again after a failure, later with every failure in a row, `at_least` so many seconds as
        the server has asked for, within reason: who is busy now may be so no more long before a day is over."""
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        delay = min(FIRST_RETRY_SECONDS * 2 ** min(failures - 1, 30), LAST_RETRY_SECONDS)
        self._add_after(key, self._randomness.jitter(max(delay, min(at_least, LAST_RETRY_SECONDS))))

    def succeeded(self, key: K) -> None:
        """Ends the row of failures of `key`."""
        self._failures.pop(key, None)

    def has_failed(self, key: K) -> bool:
        """Tells whether the last reconciliation of `key` has failed."""
        return key in self._failures

    async def get(self, *, late: bool = False) -> K:
        """The next key of those that are late, or of the others; tell `done` when its reconciliation has ended."""
        lane = self._lanes[late]
        lane.idle += 1
        try:
            while True:
                rank, turn, key = await lane.ready.get()
                if self._entries.get(key) == (late, rank, turn):
                    break
        finally:
            lane.idle -= 1
        del self._entries[key], self._waiting[key]
        self._running.add(key)
        return key

    def done(self, key: K) -> None:
        self._running.discard(key)
        if key in self._waiting:
            self._make_ready(key)

    def close(self) -> None:
        """Cancels keys that were added for later, and takes nothing more."""
        self._closed = True
        for key in list(self._timers):
            self._cancel_timer(key)

    def __len__(self) -> int:
        return len(self._waiting)

    def _make_ready(self, key: K) -> None:
        """Puts it where it belongs, unless it is there: the place of one that was late before is passed over."""
        known = self._entries.get(key)
        if known is not None and (not known.late or self._waiting[key]):
            return
        rank = self._rank(key)
        late = self._waiting[key] or rank >= LATE_RANK
        if known is not None and late:
            return
        entry, lane = _Entry(late, rank, next(self._turns)), self._lanes[late]
        self._entries[key] = entry
        lane.ready.put_nowait((rank, entry.turn, key))
        if lane.vacancies and lane.ready.qsize() > lane.idle and not self._closed:
            self._fill_vacancy(late=late)

    def _fill_vacancy(self, *, late: bool) -> None:
        self._lanes[late].vacancies -= 1
        self._hire(late)

    def _add_after(self, key: K, seconds: float) -> None:
        if seconds <= 0:
            self.add(key)
            return
        if self._closed or not self._waiting.get(key, True) or not self._owns(key):
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
