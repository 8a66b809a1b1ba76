"""Objects that end by themselves: each is deleted when its end has come, which `ends.py` knows.

    follow: every change of an object ▸ when it is due      expire: sleep until the first is due ▸ delete what is

Whoever changes an object may change its end: only the newest one counts. What cannot be deleted now is tried again.
"""

import asyncio
import heapq
import logging
from collections.abc import Awaitable, Callable
from contextlib import aclosing, suppress
from datetime import datetime, timedelta
from typing import NamedTuple

from kubeapi.loop import Clock
from kubeserver.controllers.changes import changes
from kubeserver.errors import Refused
from kubeserver.store import Raced, Record, Store, StoreFailed

log = logging.getLogger(__name__)

MAX_DELETIONS = 200
"""Most deletions at a time; between two such steps others have their turn."""
PAUSE_SECONDS, RETRY_SECONDS, LONGEST_SLEEP_SECONDS = 0.05, 30.0, 60.0
_SPARE = 1_000


class Expiring(NamedTuple):
    """Objects under `prefix`. `end_of` may go by the instant at which a record was written; None: before this server.

    `delete` raises: Raced, Refused, StoreFailed.
    """

    prefix: str
    end_of: Callable[[Record, datetime | None], datetime | None]
    delete: Callable[[Record], Awaitable[None]]


class _Due(NamedTuple):
    end: datetime
    key: str
    revision: int
    objects: Expiring


class Expiry:
    """Deletes what has come to its end."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._due: list[_Due] = []
        """A heap, the next end first. Some of it may be out of date."""
        self._current: dict[str, int] = {}
        """The revision of each object that will end."""
        self._earlier = asyncio.Event()

    async def follow(self, objects: Expiring) -> None:
        """Learns of such objects until it is cancelled."""
        for record in self._store.list(objects.prefix).records:
            self._learn(objects, record, None)
        async with aclosing(changes(self._store, objects.prefix)) as records:
            async for record in records:
                if self._current.get(record.key) != record.revision:
                    self._learn(objects, record, self._clock.now())

    async def expire(self) -> None:
        """Deletes what is due until it is cancelled."""
        while True:
            due = self._take_due()
            for each in due:
                await self._delete(each)
            if due:
                await asyncio.sleep(PAUSE_SECONDS)
                continue
            self._earlier.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(self._sleep_seconds()):
                    await self._earlier.wait()

    def _learn(self, objects: Expiring, record: Record, written: datetime | None) -> None:
        end = None if record.deleted else objects.end_of(record, written)
        if end is None:
            self._current.pop(record.key, None)
            return
        self._current[record.key] = record.revision
        self._put(_Due(end, record.key, record.revision, objects))

    def _put(self, due: _Due) -> None:
        heapq.heappush(self._due, due)
        if self._due[0] is due:
            self._earlier.set()
        if len(self._due) > 2 * len(self._current) + _SPARE:
            self._due = [each for each in self._due if self._is_current(each)]
            heapq.heapify(self._due)

    def _is_current(self, due: _Due) -> bool:
        return self._current.get(due.key) == due.revision

    def _take_due(self) -> list[_Due]:
        due, now = list[_Due](), self._clock.now()
        while self._due and self._due[0].end <= now and len(due) < MAX_DELETIONS:
            first = heapq.heappop(self._due)
            if self._is_current(first):
                due.append(first)
        return due

    def _sleep_seconds(self) -> float | None:
        """Seconds to sleep, never very many, for a clock may be set; None where there is nothing to wait for."""
        if not self._due:
            return None
        left = (self._due[0].end - self._clock.now()).total_seconds()
        return min(max(left, PAUSE_SECONDS), LONGEST_SLEEP_SECONDS)

    async def _delete(self, due: _Due) -> None:
        """An object that was written again meanwhile is learned of anew."""
        record = self._store.head(due.key)
        if record is None or record.revision != due.revision:
            return
        try:
            await due.objects.delete(record)
        except Raced:
            pass
        except (Refused, StoreFailed) as error:
            log.warning("%s could not be deleted at its end: %s", due.key, error)
            self._put(due._replace(end=self._clock.now() + timedelta(seconds=RETRY_SECONDS)))
