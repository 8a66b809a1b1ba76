"""Answers of a server that lags behind: the state before the last write. For reads that are stale, once.

It is an honest answer of a moment ago: an object as it was before it was written last, not found where that made it,
and still there where that deleted it; a list of the revision before the last write to what it lists.
"""

from dataclasses import dataclass, field

from kubeclient import Request, Response
from kubecluster.journal import Journal, Write
from kubeserver.errors import not_found, status_response
from kubeserver.store.record import Record
from simulator.paths import Target, resource_of, target_of

JSON = {"content-type": "application/json"}


@dataclass(slots=True)
class _Resource:
    """State of one resource: what is there, by key, and what each key was before its last write."""

    there: dict[str, Record] = field(default_factory=dict[str, Record])
    before: dict[str, Record | None] = field(default_factory=dict[str, Record | None])
    last: dict[str, Record] = field(default_factory=dict[str, Record])

    def note(self, record: Record) -> None:
        self.before[record.key] = self.there.pop(record.key, None)
        self.last[record.key] = record
        if not record.deleted:
            self.there[record.key] = record


class StaleReads:
    """Listens to a journal from its beginning."""

    def __init__(self, journal: Journal) -> None:
        self._resources: dict[tuple[str, str], _Resource] = {}
        journal.on_write(self._note)
        journal.on_replaced(self._forget)

    def answer(self, place: str, request: Request) -> Response | None:
        """The stale answer to a read; None for what is no read of objects, or was never different."""
        target = target_of(request.path)
        if request.method != "GET" or target is None or target.subresource or "labelSelector" in request.query:
            return None
        found = self._resources.get((place, resource_of(target.prefix)))
        if found is None:
            return None
        return _object(found, target) if target.name else _list(found, target)

    def _note(self, write: Write) -> None:
        """Notes a write; what was restored was never otherwise in the server that holds it now."""
        where = (write.place, resource_of(write.record.key))
        found = self._resources.setdefault(where, _Resource())
        if write.restored:
            found.there[write.record.key] = write.record
        else:
            found.note(write.record)

    def _forget(self, place: str) -> None:
        for where in [where for where in self._resources if where[0] == place]:
            del self._resources[where]


def _object(found: _Resource, target: Target) -> Response | None:
    if target.key not in found.before:
        return None
    before = found.before[target.key]
    if before is not None:
        return Response(200, before.value, JSON)
    _, group, plural, _ = target.prefix.split("/", 3)
    return status_response(not_found(group, plural, target.name).status)


def _list(found: _Resource, target: Target) -> Response | None:
    """List without the last write to it; its revision is the one before."""
    writes = [record for key, record in found.last.items() if key.startswith(target.prefix)]
    if not writes:
        return None
    last = max(writes, key=lambda record: record.revision)
    there = {key: record for key, record in found.there.items() if key.startswith(target.prefix)}
    before = found.before[last.key]
    if before is None:
        there.pop(last.key, None)
    else:
        there[last.key] = before
    items = b",".join(there[key].value for key in sorted(there))
    head = b'{"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":"%d"},"items":[' % (last.revision - 1)
    return Response(200, head + items + b"]}", JSON)
