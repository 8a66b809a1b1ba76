"""Cache of an informer: the objects of a kind in memory, of which those that nobody has read lately are kept packed.

A manifest takes four times as much room as mappings as it does as JSON, and of a fleet that is at rest hardly any is
read. So manifests, and those in Works, are packed when so many others have been read since, of whatever kind and
server (`packing.py`), and read from their bytes when they are asked for again: who holds one keeps it, whatever becomes
of the entry. Other objects of our own types take little room, and are not packed.

What the fields of an object are that each manager owns (`fieldsV1`) is as long as the object and nobody's business
here: it is left out, the names of the managers stay.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Generic, TypeVar, cast

from controller_runtime.identity import Key, kept
from controller_runtime.packing import CachedObject, RecentObjects
from kubeapi.meta import Manifest
from kubeapi.node_ports import is_opened
from kubeapi.unstructured import list_at, mapping_at

T = TypeVar("T")


class InformerCache(Generic[T]):
    """The objects of a kind; `recent` is shared with the caches of other kinds and servers."""

    def __init__(self, object_type: type[T], recent: RecentObjects) -> None:
        self._packing = recent.packing_of(object_type)
        self._recent = recent
        self._entries: dict[Key, CachedObject[T]] = {}
        self._by_namespace: dict[str, dict[Key, CachedObject[T]]] = {}

    def __contains__(self, key: Key) -> bool:
        return key in self._entries

    def get(self, key: Key) -> T | None:
        entry = self._entries.get(key)
        if entry is None:
            return None
        if self._packing is not None:
            self._recent.touch(entry)
            entry.unpack()
        return entry.read()

    def entry(self, key: Key) -> CachedObject[T] | None:
        return self._entries.get(key)

    def entries(self) -> dict[Key, CachedObject[T]]:
        """Entries of all objects as they are now."""
        return dict(self._entries)

    def list(self, namespace: str | None = None) -> Iterator[T]:
        """Objects as they are now, all or those of one namespace; one after the other is read."""
        found = self._entries if namespace is None else self._by_namespace.get(namespace, {})
        return self._objects(list(found.values()))

    def list_outlines(self, needed: Callable[[T], bool]) -> Iterator[T]:
        """Objects as they are now, without what is packed of them but where it is `needed`: that is asked of the
        outline."""
        for entry in list(self._entries.values()):
            outline = entry.outline
            yield entry.read() if outline is None or needed(outline) else outline

    def all_keys(self) -> Sequence[Key]:
        """None is read for that."""
        return tuple(self._entries)

    def put(self, key: Key, obj: T) -> None:
        before = self._entries.get(key)
        key = key if before is not None else kept(key)
        entry = self._entries[key] = CachedObject(obj, self._packing)
        self._by_namespace.setdefault(key.namespace, {})[key] = entry
        if self._packing is not None:
            self._recent.forget(before)
            self._recent.touch(entry)

    def pop(self, key: Key) -> T:
        entry = self._entries.pop(key)
        self._recent.forget(entry)
        siblings = self._by_namespace[key.namespace]
        del siblings[key]
        if not siblings:
            del self._by_namespace[key.namespace]
        return entry.read()

    def _objects(self, entries: Iterable[CachedObject[T]]) -> Iterator[T]:
        for entry in entries:
            yield entry.read()


def without_owned_fields(obj: T) -> T:
    """A manifest without what its managers own; anything else as it is. Of a Service with node ports it tells whether
    somebody has asked for them."""
    managers = list_at(obj, "metadata", "managedFields")
    if not managers or is_opened(cast(Manifest, obj)):
        return obj
    manifest = cast(Manifest, obj)
    slim = [{name: value for name, value in mapping_at(each).items() if name != "fieldsV1"} for each in managers]
    return cast(T, {**manifest, "metadata": {**manifest["metadata"], "managedFields": slim}})
