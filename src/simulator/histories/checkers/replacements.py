"""L2: what replaces a copy becomes healthy, or the next cluster is tried.

A target has as long as the grace period of its eviction. Where its Pods are not ready by then, though its cluster is
Ready, and a cluster that nothing was ever wrong with has not been tried, it should have been left for that one. Where
others have to be chosen by spread constraints, or replicas are so large that room decides, nothing is asked.
"""

from collections.abc import Iterator

from controller_runtime import Key
from kubeapi.meta import Manifest
from leeward.api.meta import find_condition
from leeward.api.policy import ClusterAffinity
from leeward.api.work import GracefulEvictionTask, ResourceBinding
from simulator.histories.checkers.lateness import CONTROLLERS
from simulator.histories.checkers.scene import Scene, Violation, replicas_of, tasks_of
from simulator.histories.ground_truth import Change

SECONDS = 20.0
"""Seconds behind the grace period: for what is told of a copy, and for the evictions that wait for each other."""
LOOK_SECONDS = 1.0
MOVING = ("TaintUntolerated", "ApplicationFailure", "AffinityTermLeft", "ReplacementFailed")
"""Reasons of evictions whose copies are replaced without anybody's asking for it."""


class ReplacementsChecker:
    """`_since`: since when each target has had nothing in its way; `_tried`: where each binding has ever been."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._since: dict[tuple[Key, str], float] = {}
        self._tried: dict[str, set[str]] = {}
        self._look_at = 0.0

    def look(self, change: Change) -> Iterator[Violation]:
        if change.kind == "/work.karmada.io/resourcebindings/" and change.new is not None:
            been = self._tried.setdefault(change.new.metadata.uid, set())
            been.update(replicas_of(change.new), tasks_of(change.new))
            if change.old is None or change.old.spec != change.new.spec:
                self._begin_anew(change.key)
        elif change.kind == "/cluster.karmada.io/clusters/":
            for pair in [pair for pair in self._since if pair[1] == change.key.name]:
                del self._since[pair]
        return iter(())

    def _begin_anew(self, key: Key) -> None:
        for pair in [pair for pair in self._since if pair[0] == key]:
            del self._since[pair]

    def overdue(self, now: float) -> Iterator[Violation]:
        """Finds what should have happened by now; to be asked again and again, also while nothing changes."""
        if now < self._look_at:
            return
        self._look_at = now + LOOK_SECONDS
        for key, binding in self._scene.truth.bindings.items():
            tasks = [task for task in tasks_of(binding).values() if _is_moving(task)]
            if not tasks or self._is_excused(now, binding):
                self._begin_anew(key)
                continue
            for name, replicas in replicas_of(binding).items():
                yield from self._stalls(now, key, binding, name, max(1, replicas), tasks)

    def _stalls(
        self,
        now: float,
        key: Key,
        binding: ResourceBinding,
        name: str,
        replicas: int,
        tasks: list[GracefulEvictionTask],
    ) -> Iterator[Violation]:
        scene = self._scene
        cluster, copies = scene.cluster(name), scene.truth.copies(name, binding)
        if cluster is None or not cluster.is_ready or scene.may_lie(name) or copies.best_since(now) >= replicas:
            self._since.pop((key, name), None)
            return
        since = self._since.setdefault((key, name), now)
        since = max(since, copies.levels[-1][0] if copies.levels else since)
        default = scene.timing.graceful_eviction_timeout
        grace = max(default if t.grace_period_seconds is None else t.grace_period_seconds for t in tasks)
        if now <= scene.lateness.due(since, CONTROLLERS, name) + grace + SECONDS + scene.skew_seconds:
            return
        untried = sorted(self._eligible(binding) - self._tried.get(binding.metadata.uid, set()))
        if untried:
            message = f"{key} has been waiting since {since:.1f} for {name}, where {replicas} replicas are to be ready"
            yield Violation("L2", now, f"{message}, and {', '.join(untried)} was never tried")
            self._since[key, name] = now

    def _is_excused(self, now: float, binding: ResourceBinding) -> bool:
        """Tells whether somebody holds it, or chooses differently; or the control plane has faults of its own."""
        brake, spec = self._scene.truth.brake, binding.spec
        scheduled = find_condition(binding.status.conditions, "Scheduled")
        return (
            binding.metadata.deletion_timestamp is not None
            or (brake is not None and "since" in brake.get("data", {}))
            or (spec.suspension is not None and spec.suspension != type(spec.suspension)())
            or scheduled is None
            or scheduled.status != "True"
            or not spec.is_workload
            or spec.placement is None
            or bool(spec.placement.spread_constraints)
            or _is_large(self._scene.truth.template_of(binding))
            or any(begin <= now <= end for begin, end in self._scene.disturbed)
        )

    def _eligible(self, binding: ResourceBinding) -> set[str]:
        """The calm clusters that its placement allows."""
        placement = binding.spec.placement
        assert placement is not None
        terms: list[ClusterAffinity] = [*placement.cluster_affinities]
        if placement.cluster_affinity is not None:
            terms.append(placement.cluster_affinity)
        clusters = self._scene.truth.clusters
        return {
            name
            for name in self._scene.calm
            if name in clusters
            and clusters[name].is_ready
            and not clusters[name].taints
            and any(not term.cluster_names or name in term.cluster_names for term in terms)
        }


def _is_moving(task: GracefulEvictionTask) -> bool:
    return task.reason in MOVING and task.suppress_deletion is None and task.purge_mode != "Never"


def _is_large(template: Manifest | None) -> bool:
    if template is None:
        return True
    spec = template["spec"].get("jobTemplate", template)["spec"]
    containers = spec["template"]["spec"]["containers"]
    return any(int(container["resources"]["requests"]["cpu"]) > 1 for container in containers)
