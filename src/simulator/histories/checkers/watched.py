"""S13: who was away has seen nothing. No toleration and no time-out runs while nobody watches, and what begins for a
cluster's condition begins only when this process has seen that condition.

Watching is judged by the controllers' lives, looked at once a second. Short absences count as watched, and of short
stalls no more than what cannot be measured. A taint counts from its first writing, to the spec or to the
record of the status: the other write may fail for long. The agent of a Pull cluster watches, too: where it
says itself that the cluster is not ready, nothing is asked.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from kubeapi.core import Taint
from leeward.api.cluster import Cluster
from leeward.api.names import CONDITION_TAINT_KEYS, POLICY_TAINTS_ANNOTATION
from leeward.api.work import ResourceBinding
from simulator.histories.checkers.scene import Scene, Violation, replicas_of, seconds_of, tasks_of
from simulator.histories.ground_truth import Change

SLACK_SECONDS = 2.0
"""Taints tell their instants to the second."""


class WatchedChecker:
    """`_tainted_at`, `_unready_at`: since when each cluster has had an automatic NoExecute taint, or not been Ready."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._tainted_at: dict[str, float] = {}
        self._unready_at: dict[str, float] = {}

    def look(self, change: Change) -> Iterator[Violation]:
        if change.kind == "/cluster.karmada.io/clusters/":
            yield from self._cluster(change)
        elif change.kind == "/work.karmada.io/resourcebindings/" and change.new is not None:
            for message in self._evicted(change.old, change.new):
                yield Violation("S13", change.seconds, f"{change.key} {message}")

    def _cluster(self, change: Change) -> Iterator[Violation]:
        name, new = change.key.name, change.new
        if new is None or new.is_ready or new.is_being_deleted:
            self._unready_at.pop(name, None)
        else:
            told = new.ready.last_transition_time if new.ready is not None else None
            self._unready_at.setdefault(name, self._told(change, [told]))
        if new is None or not _no_execute(new):
            self._tainted_at.pop(name, None)
        elif name not in self._tainted_at:
            added = [t.time_added for t in _set(new) if t.effect == "NoExecute" and t.key in CONDITION_TAINT_KEYS]
            self._tainted_at[name] = self._told(change, added)
            for message in self._tainted(new) if not change.restored else ():
                yield Violation("S13", change.seconds, f"{name} {message}")

    def _told(self, change: Change, instants: Iterable[datetime | None]) -> float:
        """Instant since which it is so. Of what was so when a backup was taken only the object itself says that, to the
        second, and by a clock that may have been wrong."""
        if not change.restored:
            return change.seconds
        told = min((seconds_of(at) for at in instants if at is not None), default=change.seconds)
        return min(told, change.seconds) - self._scene.skew_seconds

    def _tainted(self, cluster: Cluster) -> Iterator[str]:
        """Judges what --failover-eviction-timeout has brought."""
        began = self._unready_at.get(cluster.name)
        if (
            began is None
            or cluster.ready is None
            or not self._is_watched_by_controllers(cluster)
            or _by_policy(cluster)
        ):
            return
        timing = self._scene.timing
        if cluster.ready.status == "Unknown":
            began -= timing.cluster_monitor_grace_period
        yield from self._too_soon(began, timing.failover_eviction_timeout, "got NoExecute")
        yield from self._unconfirmed(cluster.name, "got NoExecute")

    def _evicted(self, old: ResourceBinding | None, new: ResourceBinding) -> Iterator[str]:
        known = tasks_of(old) if old is not None and old.metadata.uid == new.metadata.uid else {}
        for name, task in tasks_of(new).items():
            cluster = self._scene.cluster(name)
            began = self._tainted_at.get(name)
            if name in known or task.reason != "TaintUntolerated" or cluster is None or began is None:
                continue
            keys = {taint.key for taint in cluster.taints if taint.effect == "NoExecute"}
            if not keys <= set(CONDITION_TAINT_KEYS) or not self._is_watched_by_controllers(cluster):
                continue
            tolerated = min(_tolerated(each, keys) for each in (new, *self._beside(new, name)))
            yield from self._too_soon(began, tolerated, f"was evicted from {name}")
            yield from self._unconfirmed(name, f"was evicted from {name}")

    def _beside(self, binding: ResourceBinding, name: str) -> list[ResourceBinding]:
        """The others of its group in the cluster, or on their way out of it: who tolerates it least takes all along."""
        return [each for each in self._scene.beside(binding) if name in {**replicas_of(each), **tasks_of(each)}]

    def _too_soon(self, began: float, due: float, what: str) -> Iterator[str]:
        watched = self._scene.watch.seconds(
            began, self._scene.truth.now(), self._scene.timing.cluster_status_update_frequency
        )
        if watched < due - SLACK_SECONDS:
            yield f"{what} after {watched:.0f} s that somebody watched; {due:g} s are due"

    def _unconfirmed(self, name: str, what: str) -> Iterator[str]:
        """Finds what was done although the member has answered well for as long as these controllers live."""
        since, now = self._scene.watch.since, self._scene.truth.now()
        trouble = self._scene.troubles.get(name, ())
        if since > 0 and not any(begin < now and end > since for begin, end in trouble):
            yield f"{what}, which is well; those who decided it work since {since:.0f}, and saw nothing else"

    def _is_watched_by_controllers(self, cluster: Cluster) -> bool:
        """Tells whether it is their word that the cluster is not Ready."""
        ready = cluster.ready
        by_agent = cluster.name in self._scene.pulling and ready is not None and ready.status == "False"
        return not by_agent


def _no_execute(cluster: Cluster) -> bool:
    return any(taint.effect == "NoExecute" and taint.key in CONDITION_TAINT_KEYS for taint in _set(cluster))


def _set(cluster: Cluster) -> Iterator[Taint]:
    """Taints of its spec, and those that are recorded."""
    yield from cluster.spec.taints
    yield from (entry.taint for entry in cluster.taint_record.entries)


def _by_policy(cluster: Cluster) -> bool:
    is_recorded = any(entry.by_policy for entry in cluster.taint_record.entries)
    return is_recorded or bool(cluster.metadata.annotations.get(POLICY_TAINTS_ANNOTATION))


def _tolerated(binding: ResourceBinding, keys: set[str]) -> float:
    """The shortest that one of these taints is tolerated for; no time where one is not tolerated at all."""
    placement = binding.spec.placement
    seconds: Mapping[str, list[float]] = {key: [] for key in keys}
    for toleration in placement.cluster_tolerations if placement is not None else ():
        for key in keys:
            if toleration.key in (key, "") and toleration.effect in ("NoExecute", ""):
                given = toleration.toleration_seconds
                seconds[key].append(float("inf") if given is None else float(given))
    return min((min(found, default=0.0) for found in seconds.values()), default=0.0)
