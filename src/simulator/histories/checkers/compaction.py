"""D6 and D9: compaction forgets nothing that can still be read, and never falls behind, so that the store stays small.

A record may be forgotten when a later one of its key is there at the oldest revision that can be read, or when it is a
deletion that hides nothing any more. The newest record of all is kept: it says where revisions go on (D3).
"""

from collections.abc import Iterator, Sequence

from kubecluster.journal import Journal, Write
from simulator.histories.checkers.ledger import Entry
from simulator.histories.checkers.scene import Scene, Violation
from simulator.histories.ground_truth import HOME

SLACK = 50
"""Records of a commit, and those that are forgotten with the next one."""


class CompactionChecker:
    """`revisions` is how many the store is to keep to watch from. `_kept` are its records by revision."""

    def __init__(self, scene: Scene, journal: Journal, revisions: int) -> None:
        self._scene = scene
        self._most_idle = 2 * revisions + SLACK
        self._kept: dict[int, Entry] = {}
        self._of_key: dict[str, list[Entry]] = {}
        self._newest = 0
        journal.on_write(self._note)
        journal.on_replaced(self._forget)

    def forgets(self, place: str, revisions: Sequence[int], compacted: int) -> Iterator[Violation]:
        """A commit has taken these records out of the medium; `compacted` is the oldest revision that can be read."""
        if place != HOME:
            return
        for revision in sorted(revisions):
            entry = self._kept.pop(revision, None)
            if entry is not None:
                problem = self._problem(entry, compacted)
                self._of_key[entry.key].remove(entry)
                if problem:
                    yield Violation(
                        "D6", self._scene.truth.now(), f"{entry.key} at {revision} was forgotten: {problem}"
                    )
        if len(self._kept) <= self._most_idle:
            return
        living = sum(not entries[-1].deleted for entries in self._of_key.values() if entries)
        if len(self._kept) > living + self._most_idle:
            message = f"{len(self._kept)} records are kept for {living} objects; compacted up to {compacted}"
            yield Violation("D9", self._scene.truth.now(), message)

    def _problem(self, entry: Entry, compacted: int) -> str:
        entries = self._of_key[entry.key]
        later = next((other for other in entries if other.revision > entry.revision), None)
        if entry.revision == self._newest:
            return "it is the newest record of all"
        if later is not None and later.revision <= compacted:
            return ""
        if not entry.deleted:
            return f"at {compacted}, which can be read, it is there"
        if entry.revision > compacted:
            return f"its deletion is later than {compacted}, from where watches may begin"
        return "it hides earlier records that are kept" if entries[0] is not entry else ""

    def _forget(self, place: str) -> None:
        if place == HOME:
            self._kept.clear()
            self._of_key.clear()

    def _note(self, write: Write) -> None:
        if write.place == HOME:
            record = write.record
            entry = Entry(record.revision, record.key, record.deleted)
            self._kept[record.revision] = entry
            self._of_key.setdefault(record.key, []).append(entry)
            self._newest = max(self._newest, record.revision)
