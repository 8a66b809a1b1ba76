"""Watches: cursors in the history.

`History` keeps the records since the compacted revision, in a `Log` per resource and in one of everything. A `Watcher`
is a position in one log: it buffers nothing, so a slow one costs nothing but its own end. One that waits is woken by
the first record under its prefix, once for all that became durable together; a record wakes nobody who watches another
resource.
"""

import asyncio
import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import NamedTuple

from kubeserver.store.record import Record, resource_prefix

YIELD_RECORDS = 64
"""Records that a reader gets at once before it lets others run."""
YIELD_BYTES = 256 * 1024
"""Bytes of values that are enough at once, however few records that are."""

_revision = attrgetter("revision")


class Ready(NamedTuple):
    """Records that a reader gets at once. `all`: there is nothing behind the last record yet."""

    records: Sequence[Record]
    all: bool


class Log:
    """Records of one resource (or of all) in ascending revision, and who waits for the next one."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.waiting: dict[Watcher, None] = {}
        self._asked_last: tuple[str, int, int] | None = None
        self._answered_last = Ready((), all=True)

    def append(self, record: Record) -> None:
        self.records.append(record)
        self._asked_last = None
        for watcher in [w for w in self.waiting if w.is_woken_by(record)]:
            watcher.wake(record.revision - 1)

    def index_after(self, revision: int) -> int:
        return bisect_right(self.records, revision, key=_revision)

    def read(self, prefix: str, after: int, limit: int) -> Ready:
        """Records behind the revision `after`, up to `limit` records or so many bytes.

        Watchers that wait at one place ask for the same one after the other: the answer is kept until it changes.
        """
        asked = (prefix, after, limit)
        if self._asked_last != asked:
            self._asked_last, self._answered_last = asked, self._read(prefix, after, limit)
        return self._answered_last

    def drop(self, revision: int) -> None:
        """Forgets the records up to `revision`."""
        del self.records[: self.index_after(revision)]
        self._asked_last = None

    def _read(self, prefix: str, after: int, limit: int) -> Ready:
        found, size = list[Record](), 0
        for index in range(self.index_after(after), len(self.records)):
            record = self.records[index]
            if record.key.startswith(prefix):
                found.append(record)
                size += len(record.value)
                if len(found) == limit or size >= YIELD_BYTES:
                    return Ready(found, all=False)
        return Ready(found, all=True)


class History:
    """Everything that was written since the compacted revision, and how far that goes."""

    def __init__(self, revision: int, compacted: int) -> None:
        self.revision = revision
        self.compacted = compacted
        self.closed = False
        self.bytes = 0
        self.everything = Log()
        self.last_changes: dict[str, int] = {}
        """The newest revision of each resource."""
        self._logs: dict[str, Log] = {}

    def append(self, record: Record) -> None:
        """Adds a record and wakes its watchers, who run when the present step of the loop has ended."""
        self.bytes += len(record.value)
        self.last_changes[resource_prefix(record.key)] = record.revision
        self.everything.append(record)
        self.log_of(record.key).append(record)

    def log_of(self, key_or_prefix: str) -> Log:
        name = resource_prefix(key_or_prefix)
        return self._logs.setdefault(name, Log()) if name else self.everything

    def has_compacted(self) -> bool:
        """Tells whether there is something for `pop_compacted`."""
        records = self.everything.records
        return bool(records) and records[0].revision < self.compacted

    def pop_compacted(self, limit: int) -> list[Record]:
        """Takes up to `limit` of the oldest records below the compacted revision out of the logs."""
        count = min(limit, self.everything.index_after(self.compacted - 1))
        popped = self.everything.records[:count]
        for name in {resource_prefix(record.key): None for record in popped}:
            self._logs[name].drop(popped[-1].revision)
        del self.everything.records[:count]
        self.bytes -= sum(len(record.value) for record in popped)
        return popped

    def close(self) -> None:
        """Ends every watcher."""
        self.closed = True
        for log in (self.everything, *self._logs.values()):
            for watcher in list(log.waiting):
                watcher.close()


class Watcher:
    """Hands out the records under `prefix`, one by one or all that are ready.

    Holds: D5. It ends by itself when its reader is more than `limit` records of the resource behind (what was there
    before the watch began not counted), or when what it has to read next is compacted. A reader that waits is not
    woken for records that do not concern it, and must pass over those that it is handed all the same.
    """

    def __init__(
        self, history: History, prefix: str, after: int, limit: int, concerns: Callable[[Record], bool] | None = None
    ) -> None:
        self.prefix = prefix
        self._concerns = concerns
        self._history = history
        self._log = history.log_of(prefix)
        self._position = after
        self._began = history.revision
        self._limit = limit
        self._since_yield = YIELD_RECORDS
        self._ended = False
        self._woken: asyncio.Future[None] | None = None

    @property
    def progress(self) -> int:
        """Revision up to which every record has been handed out, or is not under the prefix."""
        return self._history.revision if self in self._log.waiting else self._position

    @property
    def ended(self) -> bool:
        """Tells whether nothing more will be handed out."""
        too_old = self._position < self._history.compacted
        self._ended = self._ended or self._history.closed or too_old or self._is_far_behind()
        return self._ended

    def _is_far_behind(self) -> bool:
        records = self._log.records
        if len(records) <= self._limit:
            return False
        return len(records) - self._log.index_after(max(self._position, self._began)) > self._limit

    async def next(self) -> Record | None:
        """The next record in revision order; None when the watch has ended. Cancelling it loses nothing."""
        records = await self._take(1, math.inf)
        return records[0] if records else None

    async def take(self, until: float) -> Sequence[Record]:
        """The next records that are ready, in revision order: at most `YIELD_RECORDS`, at least one.

        Empty when the watch has `ended`, or when nothing came until the loop's time `until`. Cancelling it loses
        nothing.
        """
        return await self._take(YIELD_RECORDS, until)

    def is_woken_by(self, record: Record) -> bool:
        return record.key.startswith(self.prefix) and (self._concerns is None or self._concerns(record))

    def wake(self, position: int) -> None:
        """Ends the waiting: up to `position` there was nothing to hand out."""
        self._position = position
        self._log.waiting.pop(self, None)
        if self._woken is not None and not self._woken.done():
            self._woken.set_result(None)

    def close(self) -> None:
        self._ended = True
        self.wake(self.progress)

    async def _take(self, limit: int, until: float) -> Sequence[Record]:
        if self._since_yield >= YIELD_RECORDS:
            self._since_yield = 0
            await asyncio.sleep(0)
        while not self.ended:
            records = self._advance(limit)
            if records or asyncio.get_running_loop().time() >= until:
                self._since_yield += len(records)
                return records
            await self._wait(until)
        return ()

    def _advance(self, limit: int) -> Sequence[Record]:
        records, has_all = self._log.read(self.prefix, self._position, limit)
        self._position = self._history.revision if has_all else records[-1].revision
        return records

    async def _wait(self, until: float) -> None:
        loop = asyncio.get_running_loop()
        self._woken = loop.create_future()
        self._log.waiting[self] = None
        alarm = loop.call_at(until, self._end_waiting) if until < math.inf else None
        try:
            await self._woken
        finally:
            if alarm is not None:
                alarm.cancel()
            self._end_waiting()

    def _end_waiting(self) -> None:
        if self in self._log.waiting:
            self.wake(self.progress)
