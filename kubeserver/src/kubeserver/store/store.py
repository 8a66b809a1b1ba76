"""The store itself: one head per key, one queue, one task that commits, and readers who see only what is durable.

    put ──check the head──▶ queue ──group commit──▶ medium ──publish──▶ readers, watchers, then the writer

Everything but the commit is synchronous, so no write can slip between a check and its place in the queue.

Holds: D1, D2 (an answer is given after the medium's sync), D3 (revisions are drawn from one counter, and the newest
record is never compacted), D4 (heads), D5 (see `watch.py`), D6 and D9 (see `_compact_history`).
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NamedTuple

from kubeapi.loop import Supervisor
from kubeserver.store.keyspace import Keyspace
from kubeserver.store.medium import Batch, Loaded, Medium, MediumFailed, MediumFull
from kubeserver.store.record import Compacted, FutureRevision, Listing, Overloaded, Raced, Record, StoreFailed
from kubeserver.store.usage import StoreUsage
from kubeserver.store.watch import History, Watcher

log = logging.getLogger(__name__)

FIRST_REVISION = 1
HISTORY_REVISIONS = 50_000
HISTORY_BYTES = 256 * 1024 * 1024
COMPACTION_STEP = 1_000
MAX_UNDER_WAY = 10_000
CLOSE_TIMEOUT_SECONDS = 10.0
ROOM_SECONDS = 5.0
"""Seconds after which a full medium is asked whether it has room again."""

Render = Callable[[int], bytes]


class _Write(NamedTuple):
    record: Record
    done: asyncio.Future[Record]


class Store:
    """Objects as bytes under keys, with revisions, history and watches. Use `Store.open`."""

    def __init__(self, medium: Medium, loaded: Loaded, history_revisions: int, history_bytes: int) -> None:
        newest = max(loaded.records[-1].revision if loaded.records else 0, loaded.compacted, FIRST_REVISION)
        self._medium = medium
        self._history = History(newest, max(loaded.compacted, FIRST_REVISION))
        self._keyspace = Keyspace()
        self.usage = StoreUsage()
        self._assigned = newest
        self._heads: dict[str, Record] = {}
        self._queue: list[_Write] = []
        self._forgotten: list[int] = []
        self._under_way = 0
        self._wake = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._failure = ""
        self._full = ""
        self._history_revisions = history_revisions
        self._history_bytes = history_bytes
        self._committer: asyncio.Task[None] | None = None

    @classmethod
    async def open(
        cls,
        medium: Medium,
        supervisor: Supervisor,
        *,
        history_revisions: int = HISTORY_REVISIONS,
        history_bytes: int = HISTORY_BYTES,
    ) -> "Store":
        """Loads everything and begins to take writes. Raises: MediumFailed."""
        loaded = await medium.load()
        store = cls(medium, loaded, history_revisions, history_bytes)
        store._replay(loaded)
        store._committer = supervisor.start(store._commit_for_ever(), "store")
        return store

    async def close(self) -> None:
        """Ends the watches, commits what was queued, and lets go of the medium."""
        self._failure = self._failure or "the store is closed"
        self._history.close()
        try:
            async with asyncio.timeout(CLOSE_TIMEOUT_SECONDS):
                await self._idle.wait()
                await self._stop_committing()
                await self._medium.close()
        except TimeoutError:
            log.error("store: %d writes were not committed within %.0f s", self._under_way, CLOSE_TIMEOUT_SECONDS)
            await self._stop_committing()

    @property
    def revision(self) -> int:
        """The last revision that is durable; 1 in an empty store."""
        return self._history.revision

    @property
    def compacted(self) -> int:
        """The oldest revision that can be read, and watched from."""
        return self._history.compacted

    @property
    def failure(self) -> str:
        """Reason for which no more writes are taken; empty while they are."""
        return self._failure

    @property
    def full(self) -> str:
        """The reason why the medium had no room for the last commit; empty when it had. Later there may be room."""
        return self._full

    @property
    def history_length(self) -> int:
        """Number of records that the history holds."""
        return len(self._history.everything.records)

    def last_change(self, resource: str) -> int:
        """The newest revision under `/<group>/<plural>/` that readers see; 0 when there never was one."""
        return self._history.last_changes.get(resource, 0)

    def get(self, key: str) -> Record | None:
        """The live record as readers see it."""
        return Record.live(self._keyspace.newest(key))

    def head(self, key: str) -> Record | None:
        """The live record as a writer must see it: with the writes under way."""
        under_way = self._heads.get(key)
        return Record.live(under_way) if under_way is not None else self.get(key)

    def heads(self, prefix: str) -> Sequence[Record]:
        """Records that are live under `prefix` as a writer must see it: with the writes under way."""
        found = {record.key: record for record in self.list(prefix).records}
        found |= {key: record for key, record in self._heads.items() if key.startswith(prefix)}
        return [record for record in found.values() if not record.deleted]

    def list(self, prefix: str, *, revision: int | None = None, start_after: str = "", limit: int = 0) -> Listing:
        """Records that are live under `prefix`, behind the key `start_after`, at `revision`; up to `limit` when it is
        not 0.

        Raises: Compacted, FutureRevision.
        """
        revision = self.revision if revision is None else revision
        self._check_readable(revision)
        found = self._keyspace.at(revision, prefix, start_after)
        records = found[:limit] if limit else found
        remaining = len(found) - len(records)
        return Listing(records, revision, remaining > 0, remaining)

    def counts(self) -> dict[str, int]:
        """Number of objects of each resource; takes as long as there are objects."""
        return self._keyspace.counts()

    async def put(self, key: str, expected: Record | None, render: Render, form: object = None) -> Record:
        """Creates (`expected` None) or replaces the key; returns when that is durable and visible.

        `render(revision)` gives the value and is called at once. Raises: Raced, StoreFailed.
        """
        return await self._write(key, expected, render, form, deleted=False)

    async def delete(self, key: str, expected: Record, render: Render) -> Record:
        """Deletes the key; `render(revision)` gives its last state. Raises: Raced, StoreFailed."""
        return await self._write(key, expected, render, expected.form, deleted=True)

    def watch(
        self, prefix: str, after: int, limit: int = 10_000, concerns: Callable[[Record], bool] | None = None
    ) -> Watcher:
        """The records under `prefix` since `after`; `concerns`: see `Watcher`. Raises: Compacted, FutureRevision."""
        self._check_readable(after)
        return Watcher(self._history, prefix, after, limit, concerns)

    def compact(self, before: int) -> None:
        """Forgets history older than `before`: at once for readers, step by step in memory and on the medium."""
        self._history.compacted = max(self._history.compacted, min(before, self.revision))
        self._wake.set()

    def _replay(self, loaded: Loaded) -> None:
        for record in loaded.records:
            previous = self.get(record.key)
            linked = Record(record.key, record.revision, record.value, record.deleted, previous)
            self._keyspace.append(linked)
            self._history.append(linked)
        self.usage = StoreUsage(self.list("").records)
        self._compact_history()

    def _check_readable(self, revision: int) -> None:
        if revision < self._history.compacted:
            raise Compacted(f"revision {revision} is compacted; the oldest one is {self._history.compacted}")
        if revision > self.revision:
            raise FutureRevision(f"revision {revision} is not there yet; the newest one is {self.revision}")

    def _write(
        self, key: str, expected: Record | None, render: Render, form: object, *, deleted: bool
    ) -> asyncio.Future[Record]:
        """Queues a write if `expected` is the head. Holds: D4; there is no await in here."""
        self._check_writable()
        head = self.head(key)
        if (head.revision if head else 0) != (expected.revision if expected else 0):
            raise Raced(f"{key}: expected {Record.called(expected)}, found {Record.called(head)}")
        record = Record(key, self._assigned + 1, render(self._assigned + 1), deleted, head, form)
        self._assigned = record.revision
        self._heads[key] = record
        self.usage.change(head, record)
        return self._enqueue(record)

    def _check_writable(self) -> None:
        if self._failure:
            raise StoreFailed(self._failure)
        if self._under_way >= MAX_UNDER_WAY:
            raise Overloaded(f"{self._under_way} writes are under way; try again later")

    def _enqueue(self, record: Record) -> asyncio.Future[Record]:
        done: asyncio.Future[Record] = asyncio.get_running_loop().create_future()
        self._queue.append(_Write(record, done))
        self._under_way += 1
        self._idle.clear()
        self._wake.set()
        return done

    async def _commit_for_ever(self) -> None:
        writes: list[_Write] = []
        try:
            while True:
                await self._wait_for_work()
                writes, self._queue = self._queue, []
                try:
                    await self._commit(self._batch_of(writes))
                except MediumFull as error:
                    self._take_note_of(str(error))
                    self._refuse(writes, str(error))
                else:
                    self._take_note_of("")
                    self._forgotten = []
                    self._publish(writes)
                writes = []
        except MediumFailed as error:
            log.critical("store: takes no more writes: %s", error)
            self._fail(writes, str(error))
        finally:
            self._fail(writes, "the store was stopped")

    async def _stop_committing(self) -> None:
        if self._committer is not None:
            self._committer.cancel()
            await asyncio.wait([self._committer])

    async def _wait_for_work(self) -> None:
        """Waits until something is to be committed or forgotten; where there was no room, until it is time to try
        again."""
        if not self._full:
            await self._wake.wait()
        else:
            with suppress(TimeoutError):
                async with asyncio.timeout(ROOM_SECONDS):
                    await self._wake.wait()
        self._wake.clear()

    def _take_note_of(self, full: str) -> None:
        """Says when the disk has become full, and when there is room again."""
        if full and not self._full:
            log.error("store: writes are refused: %s", full)
        if self._full and not full:
            log.info("store: there is room on the disk again")
        self._full = full

    async def _commit(self, batch: Batch) -> None:
        """An empty batch shows whether there is room again."""
        if batch.records or batch.forgotten or self._full:
            await self._medium.commit(batch)
        else:
            await asyncio.sleep(0)

    def _batch_of(self, writes: Sequence[_Write]) -> Batch:
        """The next commit: the writes, and one step of forgetting in proportion to them. Holds: D6.

        What a commit that failed was to forget is forgotten by the next one: a deletion must never go before the
        records that it hides.
        """
        settled = self._history.pop_compacted(max(COMPACTION_STEP, 2 * len(writes)))
        self._forgotten += [revision for record in settled for revision in self._keyspace.settle(record)]
        return Batch([write.record for write in writes], self._forgotten, self._history.compacted)

    def _publish(self, writes: Sequence[_Write]) -> None:
        """Shows what has become durable to readers and watchers, then tells the writers."""
        for record, _ in writes:
            self._keyspace.append(record)
            self._history.append(record)
            if self._heads.get(record.key) is record:
                del self._heads[record.key]
        if writes:
            self._history.revision = writes[-1].record.revision
        for record, done in writes:
            if not done.done():
                done.set_result(record)
        self._under_way -= len(writes)
        self._compact_history()
        if not self._under_way:
            self._idle.set()

    def _compact_history(self) -> None:
        """Keeps the history within its bounds in revisions and bytes. Holds: D9."""
        history = self._history
        goal = self.revision - self._history_revisions
        if goal - history.compacted >= min(COMPACTION_STEP, self._history_revisions):
            self.compact(goal)
        if history.bytes > self._history_bytes:
            records = history.everything.records
            self.compact(records[min(COMPACTION_STEP, len(records) - 1)].revision)
        if history.has_compacted():
            self._wake.set()

    def _fail(self, writes: Sequence[_Write], reason: str) -> None:
        self._failure = self._failure or reason
        self._refuse(writes, reason)

    def _refuse(self, writes: Sequence[_Write], reason: str) -> None:
        """Fails the writes, and those in the queue, which may have been made on top of them."""
        for _, done in (*writes, *self._queue):
            if not done.done():
                done.set_exception(StoreFailed(reason))
        self._queue.clear()
        self._heads.clear()
        self.usage = StoreUsage(self.list("").records)
        self._under_way = 0
        self._idle.set()
