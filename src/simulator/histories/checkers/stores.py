"""D3 and D8: revisions only grow, finalizers keep, and a uid that is gone stays gone."""

from collections.abc import Iterator
from typing import Any

from kubeapi.meta import Manifest, TypedObject
from simulator.histories.checkers.scene import Scene, Violation
from simulator.histories.ground_truth import HOME, Change


class StoresChecker:
    def __init__(self, scene: Scene) -> None:
        self._newest = 0
        self._gone: set[str] = set()

    def look(self, change: Change) -> Iterator[Violation]:
        """Judges the control plane's store only: members lose data on purpose."""
        if change.place != HOME:
            return
        if change.restored:
            self._gone.discard(_identity(change.new)[0])
            return
        if change.revision <= self._newest:
            message = f"revision {change.revision} of {change.key} came after {self._newest}"
            yield Violation("D3", change.seconds, message)
        self._newest = max(self._newest, change.revision)
        uid, finalizers = _identity(change.new if change.new is not None else change.old)
        if change.new is not None and uid in self._gone:
            yield Violation("D8", change.seconds, f"{change.key} is back with the uid that it had before it was gone")
        if change.new is None and change.old is not None:
            self._gone.add(uid)
            if len(finalizers) > 1:
                yield Violation("D8", change.seconds, f"{change.key} vanished with the finalizers {finalizers}")


def _identity(obj: Any) -> tuple[str, tuple[str, ...]]:
    if isinstance(obj, TypedObject):
        return obj.metadata.uid, obj.metadata.finalizers
    metadata: Manifest = obj["metadata"] if obj is not None else {}
    return metadata.get("uid", ""), tuple(metadata.get("finalizers", ()))
