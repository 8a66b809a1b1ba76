"""S2, S3 and S7: where a binding is put is legal, adds up, and waits for the old copy where that is asked for."""

import json
from collections import Counter
from collections.abc import Iterator

from controller_runtime import Key
from kubeapi.codec import to_wire
from leeward.api.cluster import Cluster
from leeward.api.names import APPLIED_PLACEMENT_ANNOTATION, FLAPPING_TAINT, cluster_of_execution_space
from leeward.api.policy import Placement
from leeward.api.work import ResourceBinding, Work
from leeward.runtime.binding_kinds import RESOURCE_BINDING
from simulator.histories.checkers.needs import Needs
from simulator.histories.checkers.scene import Scene, Violation, replicas_of, tasks_of
from simulator.histories.ground_truth import WORKS, Change


class PlacementsChecker:
    """Keeps in mind since when each cluster has been barred to newcomers, which a controller learns a moment later.
    `_left_since`: since when each binding has left each cluster with a task."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._barred_since: dict[str, float] = {}
        self._needs = Needs()
        self._left_since: dict[Key, dict[str, float]] = {}

    def look(self, change: Change) -> Iterator[Violation]:
        self._needs.note(change)
        if change.kind == "/cluster.karmada.io/clusters/":
            self._note(change)
        elif change.kind == WORKS and change.old is None and change.new is not None:
            yield from self._created(change, change.new)
        elif change.kind == "/work.karmada.io/resourcebindings/" and change.new is not None:
            old: ResourceBinding | None = change.old
            before = replicas_of(old) if old is not None else {}
            left = self._left_since.get(change.key, {})
            self._left_since[change.key] = {name: left.get(name, change.seconds) for name in tasks_of(change.new)}
            if _applied_placement(old) != _applied_placement(change.new) != to_wire(_placement(change.new)):
                yield Violation("S2", change.seconds, f"{change.key}: a placement was carried out that is not its own")
            if before != replicas_of(change.new) or (old is not None and tasks_of(old) != tasks_of(change.new)):
                for invariant, message in self._problems(before, change.new):
                    yield Violation(invariant, change.seconds, f"{change.key}: {message}")

    def _note(self, change: Change) -> None:
        name, cluster = change.key.name, change.new
        if cluster is None or cluster.is_being_deleted:
            self._scene.gone_since[name] = change.seconds
        if cluster is None or not _is_barred(cluster):
            self._barred_since.pop(name, None)
        else:
            self._barred_since.setdefault(name, change.seconds)

    def _problems(self, before: dict[str, int], new: ResourceBinding) -> Iterator[tuple[str, str]]:
        after, spec = replicas_of(new), new.spec
        twice = [name for name, n in Counter(t.from_cluster for t in spec.graceful_eviction_tasks).items() if n > 1]
        if twice:
            yield "C3", f"it is evicted from {twice} twice"
        both = sorted(set(after) & set(tasks_of(new)))
        if both and not spec.is_divided:
            yield "S2", f"it is placed on {both}, from where it is being evicted"
        if any(replicas < 0 for replicas in after.values()):
            yield "S3", f"negative replicas: {after}"
        if spec.is_divided and sum(after.values()) > spec.replicas and sum(after.values()) > sum(before.values()):
            yield "S3", f"{after} is more than the {spec.replicas} that are asked for"
        for name in after:
            if name not in before:
                yield from self._newcomer(name, new)

    def _newcomer(self, name: str, binding: ResourceBinding) -> Iterator[tuple[str, str]]:
        affinity = binding.spec.placement.cluster_affinity if binding.spec.placement else None
        if affinity is not None and affinity.cluster_names and name not in affinity.cluster_names:
            yield "S2", f"{name} is not among {affinity.cluster_names}"
        since = self._barred_since.get(name)
        now = self._scene.truth.now()
        if since is not None and self._scene.must_know(since):
            yield "S2", f"{name} has been barred by its taints, or by its deletion, for {now - since:.1f} s"
        if self._scene.cluster(name) is None and self._scene.must_know(self._scene.gone_since.get(name, 0)):
            yield "S2", f"there is no cluster {name}"

    def _created(self, change: Change, work: Work) -> Iterator[Violation]:
        """Holds: S7. A new copy while one that is purged Directly is still there, and which it may replace: what was
        to be in its cluster before the other was left does not."""
        key = RESOURCE_BINDING.key_of_work(work)
        binding = self._scene.truth.bindings.get(key) if key is not None else None
        if key is None or binding is None:
            return
        here = cluster_of_execution_space(change.key.namespace)
        works, needed = self._scene.truth.works_of(key), self._needs.since(key, here)
        for name, task in tasks_of(binding).items():
            is_older = needed is not None and needed < self._left_since[key][name]
            if task.purge_mode == "Directly" and name in works and name != here and not is_older:
                message = f"{key} got a copy in {here} before the one in {name} was gone"
                yield Violation("S7", change.seconds, message)


def _placement(binding: ResourceBinding) -> Placement:
    return binding.spec.placement or Placement()


def _applied_placement(binding: ResourceBinding | None) -> object:
    """Placement that the scheduler says it has carried out; nothing where it says nothing."""
    text = binding.metadata.annotations.get(APPLIED_PLACEMENT_ANNOTATION) if binding is not None else None
    return json.loads(text) if text is not None else None


def _is_barred(cluster: Cluster) -> bool:
    """Tells whether nothing new may come: histories tolerate NoExecute taints for a while, NoSchedule ones never.

    The taint of a cluster that flaps is waived for a last resort (decision 20).
    """
    taints = [taint for taint in cluster.taints if taint.key != FLAPPING_TAINT]
    return cluster.is_being_deleted or any(taint.effect == "NoSchedule" for taint in taints)
