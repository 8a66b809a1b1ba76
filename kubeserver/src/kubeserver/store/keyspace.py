"""The keys in order, each with its chain of records: the states of any revision down to the compacted one.

A chain ascends in revision. Its first record may be older than the compacted revision (it is the state there); a key
whose last record is a deletion stays until that deletion is forgotten.
"""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator
from operator import attrgetter

from kubeserver.store.record import Record, resource_prefix

_revision = attrgetter("revision")


class _Resource:
    """The keys of one `/<group>/<plural>/`."""

    def __init__(self) -> None:
        self.keys: list[str] = []
        self.chains: dict[str, list[Record]] = {}

    def between(self, prefix: str, start_after: str) -> Iterator[list[Record]]:
        first = max(bisect_left(self.keys, prefix), bisect_right(self.keys, start_after))
        for index in range(first, len(self.keys)):
            key = self.keys[index]
            if not key.startswith(prefix):
                return
            yield self.chains[key]


class Keyspace:
    """All chains of a store."""

    def __init__(self) -> None:
        self._resources: dict[str, _Resource] = {}

    def append(self, record: Record) -> None:
        """Adds the newest record of its key."""
        resource = self._resources.setdefault(resource_prefix(record.key), _Resource())
        chain = resource.chains.get(record.key)
        if chain is None:
            resource.chains[record.key] = [record]
            insort(resource.keys, record.key)
        else:
            chain.append(record)

    def newest(self, key: str) -> Record | None:
        """The last record of the key, be it a deletion."""
        resource = self._resources.get(resource_prefix(key))
        chain = resource.chains.get(key) if resource else None
        return chain[-1] if chain else None

    def at(self, revision: int, prefix: str, start_after: str) -> list[Record]:
        """Records that were live under `prefix`, behind the key `start_after`, at `revision`."""
        states = (
            _state_at(chain, revision)
            for resource in self._under(prefix)
            for chain in resource.between(prefix, start_after)
        )
        return [record for record in states if record is not None]

    def counts(self) -> dict[str, int]:
        """Number of keys that are live under each `/<group>/<plural>/`."""
        return {
            prefix: sum(not chain[-1].deleted for chain in resource.chains.values())
            for prefix, resource in self._resources.items()
        }

    def settle(self, record: Record) -> list[int]:
        """Forgets what came before `record` in its chain, and `record` itself if it is a deletion; gives the revisions.

        Holds: D6, for a live record is only forgotten together with a newer one of its key in its place.
        """
        resource = self._resources[resource_prefix(record.key)]
        chain = resource.chains[record.key]
        kept = bisect_left(chain, record.revision, key=_revision) + (1 if record.deleted else 0)
        forgotten = [old.revision for old in chain[:kept]]
        del chain[:kept]
        record.forget_previous()
        if not chain:
            self._remove(resource, record.key)
        return forgotten

    def _under(self, prefix: str) -> Iterator[_Resource]:
        name = resource_prefix(prefix)
        if name:
            if name in self._resources:
                yield self._resources[name]
            return
        for other in sorted(self._resources):
            if other.startswith(prefix):
                yield self._resources[other]

    def _remove(self, resource: _Resource, key: str) -> None:
        del resource.chains[key]
        del resource.keys[bisect_left(resource.keys, key)]
        if not resource.keys:
            del self._resources[resource_prefix(key)]


def _state_at(chain: list[Record], revision: int) -> Record | None:
    newest = chain[-1]
    if newest.revision > revision:
        index = bisect_right(chain, revision, key=_revision)
        if index == 0:
            return None
        newest = chain[index - 1]
    return None if newest.deleted else newest
