"""S5 and L1: the Works agree with their bindings. None is deleted that its binding needs, and within a bounded time
there is one for each cluster that needs one, with the replicas that belong there, and no other.

The bound is that of the binding controller without a fault, and starts anew behind each fault of the control plane.
"""

from collections.abc import Iterator

from controller_runtime import Key
from kubeapi.meta import Manifest
from leeward.api.names import cluster_of_execution_space, execution_space
from leeward.api.work import Binding, Work
from simulator.histories.checkers.dependencies import LONGEST_WAIT_SECONDS
from simulator.histories.checkers.lateness import CONTROLLERS, ENDLESS
from simulator.histories.checkers.needs import Needs, needed_by
from simulator.histories.checkers.scene import Scene, Violation, tasks_of
from simulator.histories.ground_truth import (
    BINDINGS,
    CUSTOMIZATIONS,
    WORKS,
    Change,
    GroundTruth,
    is_execution_space,
    owner_of,
)
from simulator.histories.manifests import BATCHES, asked_replicas
from simulator.histories.overriding import effects, resized
from simulator.histories.scripted import troubles_in

CLUSTERS = "/cluster.karmada.io/clusters/"
SYNC_SECONDS = 15.0
"""Seconds to render a binding: two tries that wait for each other included."""


class WorksChecker:
    """`_wrong`: since when a binding and its Work in a cluster disagree, and what the binding needs there."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._needs = Needs()
        self._wrong: dict[tuple[Key, str], tuple[float, int | None]] = {}
        self._look_at = ENDLESS

    def look(self, change: Change) -> Iterator[Violation]:
        self._needs.note(change)
        if change.kind in BINDINGS:
            for cluster in {*self._concerned(change.old), *self._concerned(change.new)}:
                self._compare(change.seconds, change.key, cluster)
        elif change.kind == WORKS and is_execution_space(change.key.namespace):
            owner = owner_of(change.new if change.new is not None else change.old)
            if owner is not None:
                cluster = cluster_of_execution_space(change.key.namespace)
                yield from self._deleted(change, owner, cluster)
                self._compare(change.seconds, owner, cluster)
        elif change.kind == CLUSTERS and change.new is not None and change.new.is_ready:
            self._note_ready(change)

    def _note_ready(self, change: Change) -> None:
        """Notes that what a cluster was to lose has waited for its return."""
        if change.old is not None and not change.old.is_ready:
            for (key, cluster), (_, needed) in self._wrong.items():
                if cluster == change.key.name:
                    self._wrong[key, cluster] = (change.seconds, needed)

    def _deleted(self, change: Change, owner: Key, cluster: str) -> Iterator[Violation]:
        """Holds: S5."""
        before: Work | None = change.old
        if before is None or before.metadata.deletion_timestamp is not None:
            return
        if change.new is not None and change.new.metadata.deletion_timestamp is None:
            return
        since = self._needs.since(owner, cluster)
        if since is None or self._scene.was_leaving(cluster) or not self._scene.must_know(since):
            return
        yield Violation("S5", change.seconds, f"the Work {change.key} was deleted; {owner} needs it since {since:.1f}")

    def _concerned(self, binding: Binding | None) -> set[str]:
        return {*needed_by(binding), *tasks_of(binding)} if binding is not None else set()

    def _compare(self, now: float, key: Key, cluster: str) -> None:
        binding = self._scene.truth.any_binding(key)
        needed = needed_by(binding).get(cluster) if binding is not None else None
        if binding is None or self._agrees(binding, key, cluster, needed):
            self._wrong.pop((key, cluster), None)
            return
        since, before = self._wrong.get((key, cluster), (now, needed))
        self._wrong[key, cluster] = (since if before == needed else now, needed)
        self._look_at = min(self._look_at, now + SYNC_SECONDS)

    def _agrees(self, binding: Binding, key: Key, cluster: str, needed: int | None) -> bool:
        """Tells whether all is as it should be. Nothing is asked of a binding that is going, of a cluster that is, and
        of a Work that is, or says that it waits to go."""
        truth = self._scene.truth
        work = truth.works_of(key).get(cluster)
        if binding.metadata.deletion_timestamp is not None or self._scene.was_leaving(cluster):
            return True
        if work is not None and (work.metadata.deletion_timestamp is not None or (needed is None and work.is_leaving)):
            return True
        if needed is None or work is None:
            return needed is None and work is None
        given = given_replicas(truth, binding, cluster)
        return not binding.spec.is_workload or replicas_of_work(work) == (needed if given is None else given)

    def overdue(self, now: float) -> Iterator[Violation]:
        """Finds what should be there by now; to be asked again and again, also while nothing changes. Holds: L1."""
        if now <= self._look_at:
            return
        self._look_at = ENDLESS
        for (key, cluster), (since, needed) in list(self._wrong.items()):
            binding = self._scene.truth.any_binding(key)
            if binding is None or self._agrees(binding, key, cluster, needed):
                del self._wrong[key, cluster]
            elif self._is_excused(binding, key, cluster):
                self._wrong[key, cluster] = (now, needed)
                self._look_at = min(self._look_at, now + SYNC_SECONDS)
            elif now > (due := self._due(since) + _wait_seconds(binding)):
                del self._wrong[key, cluster]
                there = self._scene.truth.works_of(key).get(cluster)
                found = "has none" if there is None else f"has one for {replicas_of_work(there)}"
                size = given_replicas(self._scene.truth, binding, cluster) or needed
                wanted = "no Work" if needed is None else f"a Work for {size} replicas"
                yield Violation("L1", now, f"{key} needs {wanted} in {cluster} since {since:.1f}, and {found}")
            else:
                self._look_at = min(self._look_at, due)

    def _due(self, since: float) -> float:
        due = self._scene.lateness.due(since, CONTROLLERS) + SYNC_SECONDS
        for begin, end in self._scene.disturbed:
            if begin < due and end > since:
                due = max(due, self._scene.lateness.due(end, CONTROLLERS) + SYNC_SECONDS)
        return due

    def _is_excused(self, binding: Binding, key: Key, cluster: str) -> bool:
        """Tells whether it is excused. What is purged Directly goes first; where a cluster has only just come, there is
        no room for Works yet; and a binding whose template is gone, or is another one, soon is, too. What cannot be
        overridden or understood stays as it is, and what is away is scaled down later."""
        truth = self._scene.truth
        purging = any(
            t.purge_mode == "Directly" and t.from_cluster in truth.works_of(key) for t in tasks_of(binding).values()
        )
        space = Key("", execution_space(cluster))
        template = truth.template_of(binding)
        is_old = template is None or template["metadata"]["uid"] != binding.spec.resource.uid
        refused = None in effects(truth, binding.spec.resource.kind, binding.spec.resource.name, cluster)
        mute = binding.spec.resource.kind == BATCHES.kind and any(map(troubles_in, truth.of(CUSTOMIZATIONS).values()))
        waits = self._scale_down_waits(binding, key, cluster)
        return purging or is_old or refused or mute or waits or space not in truth.of("//namespaces/")

    def _scale_down_waits(self, binding: Binding, key: Key, cluster: str) -> bool:
        """Tells whether a copy has more replicas than it needs, and is away, or without them fewer serve than are asked
        for. A member that refuses its Work reports nothing of it. Of Works that are not dispatched nothing new is
        reported, and a smaller one would change nothing."""
        truth = self._scene.truth
        work, needed, found = truth.works_of(key).get(cluster), needed_by(binding).get(cluster), truth.clusters
        if work is None or needed is None or replicas_of_work(work) <= needed:
            return False
        if any(each.spec.suspend_dispatching for each in truth.works_of(key).values()):
            return True
        applied = {name for name, each in truth.works_of(key).items() if each.was_applied}
        others = [
            each for each in binding.spec.clusters if each.name != cluster and each.name in found.keys() & applied
        ]
        serving = sum(
            min(each.replicas, truth.copies(each.name, binding).worst_since(self._scene.evidence_since(each.name)))
            for each in others
            if found[each.name].is_ready
        )
        return cluster in found and (not found[cluster].is_ready or needed + serving < binding.spec.replicas)


def given_replicas(truth: GroundTruth, binding: Binding, cluster: str) -> int | None:
    """Replicas that override policies give the copy in a cluster."""
    return resized(truth, binding.spec.resource.kind, binding.spec.resource.name, cluster)


def _wait_seconds(binding: Binding) -> float:
    """A copy may wait for what its template names (S15)."""
    return LONGEST_WAIT_SECONDS if binding.spec.propagate_deps else 0.0


def replicas_of_work(work: Work) -> int:
    manifests: tuple[Manifest, ...] = work.spec.workload.manifests
    return sum(map(asked_replicas, manifests))
