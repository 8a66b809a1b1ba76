"""L4: a member that no fault touches is served as if there were no other, whatever becomes of the others.

What is ordered there is tried there at once, what is to go is gone at once, and it never looks dead. Members are calm
in this sense for a whole history; where the control plane itself is disturbed, none is.
"""

from collections.abc import Iterator

from leeward.api.cluster import Cluster
from leeward.api.names import cluster_of_execution_space
from leeward.api.work import Work
from leeward.runtime.identity import Key
from leeward.sim.histories.checkers.scene import Scene, Violation
from leeward.sim.histories.ground_truth import WORKS, Change

SERVED_SECONDS = 2.0
"""Seconds to apply a Work, or to take it back; a write, a few reads, and the pace of the queues."""


class IsolationChecker:
    """`_due`: until when each Work has to be tried or gone."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._due: dict[Key, float] = {}

    def look(self, change: Change) -> Iterator[Violation]:
        if not self._scene.calm:
            return
        yield from self._overdue(change.seconds)
        if change.kind == WORKS:
            self._note(change)
        elif change.kind == "/cluster.karmada.io/clusters/" and change.old is not None and change.new is not None:
            yield from self._looks_dead(change.seconds, change.old, change.new)

    def _note(self, change: Change) -> None:
        if cluster_of_execution_space(change.key.namespace) not in self._scene.calm:
            return
        if change.new is None or not _waits(change.new):
            self._due.pop(change.key, None)
        else:
            self._due.setdefault(change.key, change.seconds + SERVED_SECONDS)

    def _overdue(self, now: float) -> Iterator[Violation]:
        for key, due in list(self._due.items()):
            if now > due:
                del self._due[key]
                yield Violation("L4", now, f"nothing is wrong with its cluster, but the Work {key} waits since {due}")

    def _looks_dead(self, now: float, old: Cluster, new: Cluster) -> Iterator[Violation]:
        if new.name in self._scene.calm and old.is_ready and not new.is_ready and old.metadata.uid == new.metadata.uid:
            yield Violation("L4", now, f"nothing is wrong with {new.name}, but it is said: {new.ready}")


def _waits(work: Work) -> bool:
    """Tells whether the member side has yet to try what was ordered, and what nobody has suspended."""
    if work.metadata.deletion_timestamp is not None:
        return True
    if work.spec.suspend_dispatching:
        return False
    return work.applied is None or work.applied.observed_generation != work.metadata.generation
