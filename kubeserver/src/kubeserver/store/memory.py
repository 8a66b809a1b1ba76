"""A deterministic medium in memory, for simulation and tests: no threads, no files, and power cuts on request.

It outlives its stores: open another `Store` on the same medium to restart. What was committed but not yet synced when
a store ended is found again after a killed process, and is gone after `lose_unsynced`.
"""

import asyncio

from kubeserver.store.medium import Batch, Loaded, MediumFailed
from kubeserver.store.record import Record


class MemoryMedium:
    """Keeps records in a dictionary; a sync takes `sync_seconds` of the loop's time."""

    def __init__(self, sync_seconds: float = 0.0) -> None:
        self.sync_seconds = sync_seconds
        self._records: dict[int, Record] = {}
        self._compacted = 0
        self._unsynced: list[Batch] = []
        self._power_cuts = 0
        self._broken = ""

    @property
    def uncommitted(self) -> tuple[Batch, ...]:
        """Batches that were committed and are not synced yet."""
        return tuple(self._unsynced)

    async def load(self) -> Loaded:
        self._sync()
        return Loaded(list(self._records.values()), self._compacted)

    async def commit(self, batch: Batch) -> None:
        self._check_working()
        power_cuts = self._power_cuts
        self._unsynced.append(batch)
        await asyncio.sleep(self.sync_seconds)
        if power_cuts != self._power_cuts:
            raise MediumFailed("memory medium: the power was cut before the sync")
        self._check_working()
        self._sync()

    async def close(self) -> None:
        await asyncio.sleep(0)

    def lose_unsynced(self) -> None:
        """A power cut: what is not synced is gone, and the commit that runs fails."""
        self._power_cuts += 1
        self._unsynced.clear()

    def durable(self) -> Loaded:
        """Content that survives a power cut now, for a backup."""
        return Loaded(list(self._records.values()), self._compacted)

    def become(self, loaded: Loaded) -> None:
        """Replaces the contents, as a backup does; not while a store is open on it."""
        self._unsynced.clear()
        self._records = {record.revision: _alone(record) for record in loaded.records}
        self._compacted = loaded.compacted

    def break_down(self, reason: str = "input/output error") -> None:
        """Lets every commit fail until `repair`, the one that runs included."""
        self._broken = reason

    def repair(self) -> None:
        self._broken = ""

    def _check_working(self) -> None:
        if self._broken:
            raise MediumFailed(f"memory medium: {self._broken}")

    def _sync(self) -> None:
        for batch in self._unsynced:
            for record in batch.records:
                self._records[record.revision] = _alone(record)
            for revision in batch.forgotten:
                self._records.pop(revision, None)
            self._compacted = batch.compacted
        self._unsynced.clear()


def _alone(record: Record) -> Record:
    return Record(record.key, record.revision, record.value, record.deleted)
