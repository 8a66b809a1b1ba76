"""The objects of one kind by the owner that controls them, as the API server will soon say they are.

Between the answer to a deletion and its event, the cache still shows the object as if nothing had happened; whoever
counts then would delete another one. So a deleted object is shown as leaving until the event comes.
"""

from kubeapi.meta import Manifest, ReadOnlyManifest
from leeward.members.rules.owners import controller_uid
from leeward.members.rules.pods import is_gone, is_leaving
from leeward.runtime.identity import key_of
from leeward.runtime.index import Index
from leeward.runtime.informer import Informer


class Dependents:
    def __init__(self, informer: Informer[Manifest]) -> None:
        self._informer = informer
        self._index = Index(informer, controller_uid)
        self._leaving: set[str] = set()
        informer.on_change(self._changed)

    def of(self, owner: ReadOnlyManifest) -> list[Manifest]:
        """Objects that `owner` controls, by name."""
        found = [self._as_it_will_be(obj) for obj in self._index.get(owner["metadata"]["uid"])]
        return sorted(found, key=lambda obj: obj["metadata"]["name"])

    def expect_leaving(self, deleted: ReadOnlyManifest) -> None:
        key, uid = key_of(deleted), deleted["metadata"]["uid"]
        cached = self._informer.get(key.name, key.namespace)
        if cached is not None and cached["metadata"]["uid"] == uid and not is_leaving(cached):
            self._leaving.add(uid)

    def _as_it_will_be(self, obj: Manifest) -> Manifest:
        metadata = obj["metadata"]
        if metadata["uid"] not in self._leaving:
            return obj
        return {**obj, "metadata": {**metadata, "deletionTimestamp": metadata["creationTimestamp"]}}

    def _changed(self, old: Manifest | None, new: Manifest | None) -> None:
        if old is not None and (new is None or is_gone(old, new) or is_leaving(new)):
            self._leaving.discard(old["metadata"]["uid"])
