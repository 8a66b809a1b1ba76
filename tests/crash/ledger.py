"""Expectations that clients have of a server that dies, kept and checked.

For each object the ledger knows what was acknowledged last, and what was under way when the answer failed to come: then
either state is right, and the server's answer settles it.
"""

from dataclasses import dataclass, field

from kubeapi.meta import Manifest


@dataclass
class Entry:
    """`None` stands for an object that is not there. `pending` is a list of what may have been written since."""

    value: str | None = None
    version: int = 0
    pending: list[str | None] = field(default_factory=list[str | None])


class Lost(AssertionError):
    """An acknowledged write is not there, or something is there that nobody wrote."""


class Ledger:
    def __init__(self) -> None:
        self.entries: dict[str, Entry] = {}
        self.newest = 0
        self.acknowledged = 0
        self.unanswered = 0

    def __str__(self) -> str:
        return f"{self.acknowledged} acknowledged writes, {self.unanswered} unanswered"

    def begin(self, name: str, value: str | None) -> None:
        self.entries.setdefault(name, Entry()).pending = [value]

    def acknowledge(self, name: str, value: str | None, version: int) -> None:
        if version <= self.newest_of(name):
            raise Lost(f"{name}: revision {version} after {self.newest_of(name)}: a revision was used again")
        self.entries[name] = Entry(value, version)
        self.newest = max(self.newest, version)
        self.acknowledged += 1

    def refuse(self, name: str) -> None:
        """The server said that it did not do it."""
        self.entries[name].pending = []

    def newest_of(self, name: str) -> int:
        return self.entries[name].version

    def account(self, objects: list[Manifest], revision: int) -> None:
        """Compares with what a list of everything at `revision` shows. Raises: Lost."""
        if revision < self.newest:
            raise Lost(f"the server is at revision {revision}, and acknowledged {self.newest}")
        there = {found["metadata"]["name"]: found for found in objects}
        strangers = set(there) - set(self.entries)
        if strangers:
            raise Lost(f"nobody wrote {sorted(strangers)}")
        for name, entry in self.entries.items():
            self._settle(name, entry, there.get(name))

    def _settle(self, name: str, entry: Entry, found: Manifest | None) -> None:
        value = found["data"]["value"] if found else None
        version = int(found["metadata"]["resourceVersion"]) if found else entry.version
        if value not in (entry.value, *entry.pending):
            raise Lost(f"{name}: {entry.value!r} was acknowledged and {entry.pending} under way; there is {value!r}")
        if value == entry.value and value is not None and version != entry.version and not entry.pending:
            raise Lost(f"{name}: acknowledged at revision {entry.version}, found at {version}")
        self.unanswered += bool(entry.pending)
        self.entries[name] = Entry(value, max(version, entry.version))
        self.newest = max(self.newest, version)
