"""The journal of a world: every write that became durable anywhere, in order, with its virtual time, and its hash.

A journal is the truth of a run: checkers read it, not what some cache believes. Two runs of the same seed have the
same hash, to the last byte.
"""

import hashlib
from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct

from kubeserver.store.backup import revision_behind
from kubeserver.store.medium import Batch, Loaded
from kubeserver.store.memory import MemoryMedium
from kubeserver.store.record import Record

Now = Callable[[], float]


class Write(Struct, frozen=True):
    """One record that became durable at `place`, `seconds` after the world began. `restored`: it was so already, when
    the backup was taken that is put back."""

    seconds: float
    place: str
    record: Record
    restored: bool = False


class Journal:
    """Tells its readers of every write, and keeps nothing but the hash and the count."""

    def __init__(self, now: Now) -> None:
        self.now = now
        self.count = 0
        self._hash = hashlib.blake2b(digest_size=16)
        self._readers: list[Callable[[Write], None]] = []
        self._replaced: list[Callable[[str], None]] = []
        self._restored: list[Callable[[str, float], None]] = []
        self._forgotten: list[Callable[[str, Sequence[int], int], None]] = []

    @property
    def trace_hash(self) -> str:
        return self._hash.hexdigest()

    def on_write(self, reader: Callable[[Write], None]) -> None:
        self._readers.append(reader)

    def on_replaced(self, reader: Callable[[str], None]) -> None:
        """Calls `reader` with the place whose whole contents are others from now on; its writes follow."""
        self._replaced.append(reader)

    def on_restored(self, reader: Callable[[str, float], None]) -> None:
        """Calls `reader` with the place that is as it was at an earlier time, and with that time, once its contents are
        replaced and all that it held then was told, as writes that are `restored`."""
        self._restored.append(reader)

    def on_forgotten(self, reader: Callable[[str, Sequence[int], int], None]) -> None:
        """Calls `reader` after each commit: the place, the revisions that it forgot, the oldest that can be read."""
        self._forgotten.append(reader)

    def write(self, place: str, record: Record, *, restored: bool = False) -> None:
        write = Write(self.now(), place, record, restored)
        self.count += 1
        head = f"{write.seconds!r} {place} {record.key} {record.revision} {record.deleted} "
        self._hash.update(head.encode())
        self._hash.update(record.value)
        for reader in self._readers:
            reader(write)

    def forgotten(self, place: str, revisions: Sequence[int], compacted: int) -> None:
        for reader in self._forgotten:
            reader(place, revisions, compacted)

    def replaced(self, place: str) -> None:
        self._hash.update(f"{self.now()!r} {place} replaced".encode())
        for reader in self._replaced:
            reader(place)

    def restored(self, place: str, taken_at: float, records: Iterable[Record]) -> None:
        self.replaced(place)
        for record in records:
            self.write(place, record, restored=True)
        for reader in self._restored:
            reader(place, taken_at)


class JournaledMedium(MemoryMedium):
    """A medium in memory that tells the journal what became durable: at a sync, and at a load after a crash."""

    def __init__(self, place: str, journal: Journal, sync_seconds: float = 0.0) -> None:
        super().__init__(sync_seconds)
        self._place = place
        self._journal = journal
        self._told = 0

    async def load(self) -> Loaded:
        """Loads what is kept. Of a backup it is told what is there, and not how that came to be: those were other days.
        What a server was about to commit when it was killed becomes durable here, with what it was to forget."""
        left = self.uncommitted
        loaded = await super().load()
        latest = {record.key: record for record in loaded.records}
        self._tell(sorted(latest.values(), key=lambda record: record.revision) if not self._told else loaded.records)
        for batch in left:
            self._journal.forgotten(self._place, batch.forgotten, batch.compacted)
        return loaded

    async def commit(self, batch: Batch) -> None:
        await super().commit(batch)
        self._tell(batch.records)
        self._journal.forgotten(self._place, batch.forgotten, batch.compacted)

    def replace(self, loaded: Loaded) -> None:
        """Replaces the contents: a member that lost its data, or comes back as it once was."""
        self.become(loaded)
        self._told = 0
        self._journal.replaced(self._place)

    def restore(self, backup: Loaded, taken_at: float) -> None:
        """Restores what was durable then, told at once. Revisions go on as they do behind a restore of a backup."""
        latest = {record.key: record for record in backup.records}
        newest = max((record.revision for record in backup.records), default=0)
        self.become(Loaded(backup.records, revision_behind(max(newest, backup.compacted), self._told)))
        self._told = newest
        there = (record for record in latest.values() if not record.deleted)
        self._journal.restored(self._place, taken_at, sorted(there, key=lambda record: record.revision))

    def _tell(self, records: Iterable[Record]) -> None:
        for record in records:
            if record.revision > self._told:
                self._told = record.revision
                self._journal.write(self._place, record)
