"""Usage of a store: objects and bytes that are live, with the writes under way, in all and for each namespace."""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from kubeserver.store.record import Record


class StoredAmount(NamedTuple):
    objects: int = 0
    bytes: int = 0

    def plus(self, objects: int, size: int) -> "StoredAmount":
        return StoredAmount(self.objects + objects, self.bytes + size)


class StoreUsage:
    """Counts, kept as records are written."""

    def __init__(self, live: Iterable[Record] = ()) -> None:
        self.everything = StoredAmount()
        self.namespaces: dict[str, StoredAmount] = {}
        self._resources: Counter[str] = Counter()
        for record in live:
            self._add(record.key, 1, len(record.value))

    def objects_of(self, prefix: str, namespace: str) -> int:
        """Number of objects under `/<group>/<plural>/` in a namespace."""
        return self._resources[f"{prefix}{namespace}/"]

    def of_namespace(self, namespace: str) -> StoredAmount:
        return self.namespaces.get(namespace, StoredAmount())

    def change(self, head: Record | None, record: Record) -> None:
        """Takes account of a record that follows the live one of its key."""
        objects = (not record.deleted) - (head is not None)
        size = (0 if record.deleted else len(record.value)) - (len(head.value) if head is not None else 0)
        self._add(record.key, objects, size)

    def _add(self, key: str, objects: int, size: int) -> None:
        place, _, _ = key.rpartition("/")
        namespace = place.rpartition("/")[2]
        self.everything = self.everything.plus(objects, size)
        if not namespace:
            return
        self._resources[f"{place}/"] += objects
        amount = self.namespaces[namespace] = self.of_namespace(namespace).plus(objects, size)
        if not amount.objects:
            del self.namespaces[namespace]
        if not self._resources[f"{place}/"]:
            del self._resources[f"{place}/"]
