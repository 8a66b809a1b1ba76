"""Cache of an informer: the objects of a kind in memory, of which those that nobody has read lately are kept as bytes.

An object takes five times as much room as mappings as it does as JSON, and of a fleet that is at rest hardly any is
read. So manifests are packed when others have been read since, and read from their bytes when they are asked for
again: who holds one keeps it, whatever becomes of the entry. Objects of our own types are not, for there is always
somebody who looks at all of them.

What the fields of an object are that each manager owns (`fieldsV1`) is as long as the object and nobody's business
here: it is left out, the names of the managers stay.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Generic, TypeVar, cast

from kubeapi import codec
from kubeapi.meta import Manifest
from leeward.core.interpreter.fields import list_at, mapping_at
from leeward.runtime.identity import Key, kept, version_of

T = TypeVar("T")

RECENT = 128
"""Number of objects of a kind that are kept as they were read."""


class CachedObject(Generic[T]):
    """One state of an object: the same entry is the same state."""

    __slots__ = ("body", "obj", "version")

    def __init__(self, obj: T) -> None:
        self.version = version_of(obj)
        self.obj: T | None = obj
        self.body = b""

    def pack(self) -> None:
        self.body, self.obj = self.body or codec.encode(self.obj), None


class InformerCache(Generic[T]):
    def __init__(self, object_type: type[T]) -> None:
        self._type = object_type
        self._packs = object_type is dict
        self._entries: dict[Key, CachedObject[T]] = {}
        self._by_namespace: dict[str, dict[Key, CachedObject[T]]] = {}
        self._recent: dict[Key, None] = {}
        """Keys of the objects that are not packed, the one that was read last at the end."""

    def __contains__(self, key: Key) -> bool:
        return key in self._entries

    def get(self, key: Key) -> T | None:
        entry = self._entries.get(key)
        if entry is None or not self._packs:
            return None if entry is None else entry.obj
        if entry.obj is None:
            entry.obj = self._read(entry)
        self._touch(key)
        return entry.obj

    def entry(self, key: Key) -> CachedObject[T] | None:
        return self._entries.get(key)

    def entries(self) -> dict[Key, CachedObject[T]]:
        """Entries of all objects as they are now."""
        return dict(self._entries)

    def list(self, namespace: str | None = None) -> Iterator[T]:
        """Objects as they are now, all or those of one namespace; one after the other is read."""
        found = self._entries if namespace is None else self._by_namespace.get(namespace, {})
        return self._objects(list(found.values()))

    def all_keys(self) -> Sequence[Key]:
        """None is read for that."""
        return tuple(self._entries)

    def put(self, key: Key, obj: T) -> None:
        key = key if key in self._entries else kept(key)
        entry = self._entries[key] = CachedObject(obj)
        self._by_namespace.setdefault(key.namespace, {})[key] = entry
        if self._packs:
            self._touch(key)

    def pop(self, key: Key) -> T:
        entry = self._entries.pop(key)
        self._recent.pop(key, None)
        siblings = self._by_namespace[key.namespace]
        del siblings[key]
        if not siblings:
            del self._by_namespace[key.namespace]
        return self._read(entry) if entry.obj is None else entry.obj

    def _objects(self, entries: Iterable[CachedObject[T]]) -> Iterator[T]:
        for entry in entries:
            yield self._read(entry) if entry.obj is None else entry.obj

    def _read(self, entry: CachedObject[T]) -> T:
        return codec.decode(entry.body, self._type)

    def _touch(self, key: Key) -> None:
        self._recent.pop(key, None)
        self._recent[key] = None
        if len(self._recent) > RECENT:
            oldest = next(iter(self._recent))
            del self._recent[oldest]
            self._entries[oldest].pack()


def without_owned_fields(obj: T) -> T:
    """A manifest without what its managers own; anything else as it is."""
    managers = list_at(obj, "metadata", "managedFields")
    if not managers:
        return obj
    manifest = cast(Manifest, obj)
    slim = [{name: value for name, value in mapping_at(each).items() if name != "fieldsV1"} for each in managers]
    return cast(T, {**manifest, "metadata": {**manifest["metadata"], "managedFields": slim}})
