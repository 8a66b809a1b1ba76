"""S4, S5 and S11: what starts to leave, and why, and what marks a cluster as one to leave."""

from collections.abc import Iterator

from leeward.api.cluster import Cluster
from leeward.api.names import CONDITION_TAINT_KEYS
from leeward.api.work import GracefulEvictionTask, ResourceBinding
from leeward.core.cluster_health.ready_condition import is_uncollected
from simulator.histories.checkers.quotas import EXCEEDED, has_no_room, refusal_in
from simulator.histories.checkers.scene import Scene, Violation, covers, replicas_of, tasks_of
from simulator.histories.ground_truth import Change

MOST = 0.55
MANY = 3


class EvictionsChecker:
    """Knows since when so much of the fleet looks dead that nothing may be evicted for it."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._alarm_since: float | None = None
        self._clean_since: dict[str, float] = {}

    def look(self, change: Change) -> Iterator[Violation]:
        if change.kind == "/cluster.karmada.io/clusters/":
            yield from self._tainted(change)
            self._watch_fleet(change.seconds)
            self._note_taints(change)
        elif change.kind == "/work.karmada.io/resourcebindings/" and change.new is not None:
            yield from self._evicted(change)

    def _watch_fleet(self, seconds: float) -> None:
        fleet = [c for c in self._scene.truth.clusters.values() if c.status.kubernetes_version]
        fleet = [cluster for cluster in fleet if not cluster.is_being_deleted]
        dead = sum(map(_is_dead, fleet))
        alarming = 0 < dead == len(fleet) or (dead >= MANY and dead > MOST * len(fleet))
        if not alarming:
            self._alarm_since = None
        elif self._alarm_since is None:
            self._alarm_since = seconds

    def _note_taints(self, change: Change) -> None:
        if change.new is not None and any(taint.effect == "NoExecute" for taint in change.new.taints):
            self._clean_since.pop(change.key.name, None)
        else:
            self._clean_since.setdefault(change.key.name, change.seconds)

    @property
    def _must_hold(self) -> bool:
        """Tells whether every controller must know of the alarm by now."""
        return self._alarm_since is not None and self._scene.must_know(self._alarm_since)

    def _tainted(self, change: Change) -> Iterator[Violation]:
        old: Cluster | None = change.old
        new: Cluster | None = change.new
        if new is None or not self._must_hold:
            return
        before = _automatic(old) if old is not None else set[str]()
        added = _automatic(new) - before
        if added and not before:
            yield Violation("S4", change.seconds, f"{new.name} got {added} while the whole fleet looks dead")

    def _evicted(self, change: Change) -> Iterator[Violation]:
        new: ResourceBinding = change.new
        old: ResourceBinding | None = change.old
        if new.metadata.deletion_timestamp is not None:
            return
        known = tasks_of(old) if old is not None and old.metadata.uid == new.metadata.uid else {}
        started = [task for name, task in tasks_of(new).items() if name not in known]
        if not started:
            return
        for task in started:
            cluster = self._scene.cluster(task.from_cluster)
            if cluster is not None and self._is_held(cluster, task) and self._must_hold:
                message = f"{change.key} was evicted from {task.from_cluster} while the whole fleet looks dead"
                yield Violation("S4", change.seconds, message)
            since = self._clean_since.get(task.from_cluster)
            if task.reason == "TaintUntolerated" and since is not None and self._scene.must_know(since):
                message = (
                    f"{change.key} was evicted from {task.from_cluster}, which has no such taint since {since:.1f}"
                )
                yield Violation("S5", change.seconds, message)
        yield from self._without_a_place(change, new, started)

    @staticmethod
    def _is_held(cluster: Cluster, task: GracefulEvictionTask) -> bool:
        """Tells whether only the cluster's looks can be the reason to leave it."""
        by_hand = [t for t in cluster.taints if t.effect == "NoExecute" and t.key not in CONDITION_TAINT_KEYS]
        return _is_dead(cluster) and task.reason == "TaintUntolerated" and not by_hand

    def _without_a_place(
        self, change: Change, new: ResourceBinding, started: list[GracefulEvictionTask]
    ) -> Iterator[Violation]:
        if any(task.purge_mode == "Directly" or self._scene.was_leaving(task.from_cluster) for task in started):
            return
        names, targets = [task.from_cluster for task in started], replicas_of(new)
        least = _least_clusters(new)
        if not covers(new, targets) and not self._keeps_what_a_quota_allows(change):
            message = f"{change.key} was evicted from {names}, but {targets or 'nothing'} does not replace it"
            yield Violation("S11", change.seconds, message)
        elif not new.spec.is_divided and len(targets) < least:
            message = f"{change.key} was evicted from {names}; {targets} is less than {least} clusters"
            yield Violation("S11", change.seconds, message)

    def _keeps_what_a_quota_allows(self, change: Change) -> bool:
        """Tells whether a quota refuses more than it had, and has it all in other places. That it does is said after
        what it has refused."""
        old, new = change.old, change.new
        is_refused = old is not None and EXCEEDED in (refusal_in(old), refusal_in(new))
        if old is None or not (is_refused or has_no_room(self._scene.truth, change.key, new)):
            return False
        return bool(new.spec.clusters) and sum(replicas_of(new).values()) >= sum(replicas_of(old).values())


def _least_clusters(binding: ResourceBinding) -> int:
    """Static weights know no spread constraints, as in Karmada."""
    placement = binding.spec.placement
    strategy = placement.replica_scheduling if placement else None
    preference = strategy.weight_preference if strategy else None
    if placement is None or (preference is not None and preference.static_weight_list):
        return 1
    return max([c.min_groups for c in placement.spread_constraints if c.spread_by_field == "cluster"], default=1)


def _automatic(cluster: Cluster) -> set[str]:
    return {t.key for t in cluster.taints if t.effect == "NoExecute" and t.key in CONDITION_TAINT_KEYS}


def _is_dead(cluster: Cluster) -> bool:
    ready = cluster.ready
    return ready is not None and ready.status != "True" and not is_uncollected(ready)
