"""Ledger of what became durable in the control plane's store, key by key and in order: what answers and watches are
judged by."""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from kubecluster.journal import Journal, Write
from simulator.paths import resource_of

HOME = "control-plane"


class Entry(NamedTuple):
    revision: int
    key: str
    deleted: bool


@dataclass(slots=True)
class Ledger:
    """`newest` is the last revision that is durable."""

    newest: int = 0
    _of_key: dict[str, list[Entry]] = field(default_factory=dict[str, list[Entry]])
    _of_resource: dict[str, list[Entry]] = field(default_factory=dict[str, list[Entry]])

    def listen(self, journal: Journal) -> None:
        journal.on_write(self._note)
        journal.on_replaced(self._forget)

    def at(self, key: str, revision: int) -> Entry | None:
        """The last write of a key up to a revision."""
        entries = self._of_key.get(key, [])
        index = bisect_right(entries, revision, key=_revision)
        return entries[index - 1] if index else None

    def since(self, key: str, revision: int) -> Iterator[Entry]:
        """Entries that a reader may have seen who asked at `revision`: the write of then, and all that followed."""
        entries = self._of_key.get(key, [])
        yield from entries[max(0, bisect_right(entries, revision, key=_revision) - 1) :]

    def before(self, key: str, revision: int) -> Entry | None:
        """The write of the key that the one at `revision` replaced."""
        return self.at(key, revision - 1)

    def after(self, prefix: str, revision: int) -> Iterator[Entry]:
        """The writes under a prefix behind a revision; it goes on with what is written while it is read."""
        entries = self._of_resource.setdefault(resource_of(prefix), [])
        index = bisect_right(entries, revision, key=_revision)
        while index < len(entries):
            if entries[index].key.startswith(prefix):
                yield entries[index]
            index += 1

    def living(self, prefix: str, revision: int) -> dict[str, int]:
        """The revisions of what is there under a prefix, as of a revision."""
        found: dict[str, int] = {}
        for entry in self._of_resource.get(resource_of(prefix), ()):
            if entry.revision > revision:
                break
            if not entry.key.startswith(prefix):
                continue
            if entry.deleted:
                found.pop(entry.key, None)
            else:
                found[entry.key] = entry.revision
        return found

    def _note(self, write: Write) -> None:
        if write.place != HOME:
            return
        record = write.record
        entry = Entry(record.revision, record.key, record.deleted)
        self._of_key.setdefault(record.key, []).append(entry)
        self._of_resource.setdefault(resource_of(record.key), []).append(entry)
        self.newest = max(self.newest, record.revision)

    def _forget(self, place: str) -> None:
        """Forgets what was told of a store: of one that is restored everybody is told anew; streams that are open have
        their own entries."""
        if place == HOME:
            self._of_key, self._of_resource, self.newest = {}, {}, 0


def _revision(entry: Entry) -> int:
    return entry.revision
