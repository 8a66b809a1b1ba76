"""S1: the law of `core.copies.disruption`, over the Pods that really run. A copy that shrinks leaves enough: what it
keeps, and what others serve, are all the replicas that the binding asks for.

Judged is the write of a Work that asks for fewer replicas. Only a person's word excuses it: nothing is asked for, the
eviction was ended by hand, the copy is purged `Directly`, its cluster leaves the fleet.
"""

from collections.abc import Iterator

from controller_runtime import Key
from leeward.api.names import cluster_of_execution_space
from leeward.api.work import Binding, Work
from simulator.histories.checkers.scene import Scene, Violation, tasks_of
from simulator.histories.checkers.works import given_replicas, replicas_of_work
from simulator.histories.ground_truth import BINDINGS, WORKS, Change, is_execution_space, owner_of


class DisruptionsChecker:
    """`_asked`: for each binding, its number of replicas and since when it asks for it."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._asked: dict[Key, tuple[int, float]] = {}

    def look(self, change: Change) -> Iterator[Violation]:
        old, new = change.old, change.new
        if change.kind in BINDINGS and new is not None:
            if self._asked.get(change.key, (-1, 0.0))[0] != new.spec.replicas:
                self._asked[change.key] = new.spec.replicas, change.seconds
        elif change.kind == WORKS and old is not None and new is not None and is_execution_space(change.key.namespace):
            yield from self._shrank(change, old, new)

    def _shrank(self, change: Change, old: Work, new: Work) -> Iterator[Violation]:
        owner, kept = owner_of(new), replicas_of_work(new)
        binding = self._scene.truth.any_binding(owner) if owner is not None else None
        if binding is None or owner is None or kept >= replicas_of_work(old) or not binding.spec.is_divided:
            return
        cluster, asked = cluster_of_execution_space(change.key.namespace), binding.spec.replicas
        if self._is_excused(owner, binding, cluster) or not self._scene.must_know(self._asked[owner][1]):
            return
        serving = self._ready(binding, cluster, worst=True)
        others = {each.name for each in binding.spec.clusters} | tasks_of(binding).keys() - {cluster}
        beside = sum(max(0, self._ready(binding, name)) for name in others - {cluster})
        if serving > kept and kept + beside < asked:
            message = f"{owner}: {cluster} shrinks to {kept} of {serving} that serve; others serve {beside} of {asked}"
            yield Violation("S1", change.seconds, message)

    def _is_excused(self, owner: Key, binding: Binding, cluster: str) -> bool:
        scene, task = self._scene, tasks_of(binding).get(cluster)
        names = {cluster, *tasks_of(binding), *(each.name for each in binding.spec.clusters)}
        is_ended = task is not None and (task.suppress_deletion is False or task.purge_mode == "Directly")
        is_given = any(given_replicas(scene.truth, binding, name) is not None for name in names)
        is_going = binding.metadata.deletion_timestamp is not None or scene.truth.template_of(binding) is None
        return (
            binding.spec.asks_for_none
            or is_ended
            or is_given
            or is_going
            or scene.was_leaving(cluster)
            or any(map(scene.may_lie, names))
        )

    def _ready(self, binding: Binding, name: str, *, worst: bool = False) -> int:
        copies, since = self._scene.truth.copies(name, binding), self._scene.evidence_since(name)
        return copies.worst_since(since) if worst else copies.best_since(since)
