"""L4: a member that no fault touches is served as if there were no other, whatever becomes of the others.

What is ordered there is tried there at once, what is to go is gone at once, and it never looks dead. Members are calm
in this sense for a whole history; where the control plane itself is disturbed, none is.
"""

from collections.abc import Iterator

from controller_runtime import Key
from leeward.api.cluster import Cluster
from leeward.api.names import cluster_of_execution_space
from leeward.api.work import Work
from leeward.core.eviction.shared_resources import has_shared
from simulator.histories.checkers.scene import Scene, Violation
from simulator.histories.ground_truth import WORKS, Change

SERVED_SECONDS = 2.0
"""Seconds to apply a Work, or to take it back; a write, a few reads, and the pace of the queues."""
SHARED_SECONDS = 3.0
"""Seconds for which what others keep something in stays when its Work is deleted, since somebody may have done so by
hand (decision 23)."""


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
        if change.new is None or not _waits(change.new) or (change.old is not None and _begins_to_go(change)):
            self._due.pop(change.key, None)
        if change.new is not None and _waits(change.new):
            self._due.setdefault(change.key, change.seconds + _seconds_for(change.new))

    def _overdue(self, now: float) -> Iterator[Violation]:
        for key, due in list(self._due.items()):
            if now > due:
                del self._due[key]
                yield Violation("L4", now, f"nothing is wrong with its cluster, but the Work {key} waits since {due}")

    def _looks_dead(self, now: float, old: Cluster, new: Cluster) -> Iterator[Violation]:
        if new.name in self._scene.calm and old.is_ready and not new.is_ready and old.metadata.uid == new.metadata.uid:
            yield Violation("L4", now, f"nothing is wrong with {new.name}, but it is said: {new.ready}")


def _begins_to_go(change: Change) -> bool:
    """Tells whether the Work is to be gone from now on, whatever was to be tried before."""
    return change.old.metadata.deletion_timestamp is None and change.new.metadata.deletion_timestamp is not None


def _seconds_for(work: Work) -> float:
    is_shared_and_goes = work.metadata.deletion_timestamp is not None and has_shared(work)
    return SERVED_SECONDS + (SHARED_SECONDS if is_shared_and_goes else 0.0)


def _waits(work: Work) -> bool:
    """Tells whether the member side has yet to try what was ordered, and what nobody has suspended or holds."""
    if work.metadata.deletion_timestamp is not None:
        return not work.is_removal_held
    if work.spec.suspend_dispatching or work.is_leaving:
        return False
    return work.applied is None or work.applied.observed_generation != work.metadata.generation
