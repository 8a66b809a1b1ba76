"""Timeline of clusters, of which some fail and come back: conditions and taints, as controllers set
them, by the same functions and time-outs.

Instants count from the first probe that fails (of a Pull cluster: from its last sign of life): when that will be is
not known beforehand. How often a cluster is looked at adds up to one interval in reality.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

import msgspec

from kubeapi.core import Taint
from kubeapi.meta import wire_time
from leeward.answers.imagined import ImaginedChange
from leeward.api.cluster import Cluster
from leeward.api.meta import Condition, remove_condition, set_condition
from leeward.api.names import DRAIN_TAINT, FAILING_CONDITION
from leeward.core.cluster_health.brake import silent_until
from leeward.core.cluster_health.condition_taints import confirmation, decide_taints, outage_since
from leeward.core.cluster_health.flap_damping import decide_hold_down
from leeward.core.cluster_health.monitor_grace_period import OVERDUE_SHARE
from leeward.core.cluster_health.ready_condition import NO_ANSWER, ready_condition
from leeward.core.cluster_health.watched_time import Attention
from leeward.core.settings_in_force import SettingsInForce

_SILENT = Condition("Ready", "Unknown", "ClusterStatusUnknown", "Cluster status controller stopped posting.")


class ClusterTimeline:
    """The planned instants of a change, and what clusters are at each."""

    def __init__(self, as_of: datetime, change: ImaginedChange, settings: SettingsInForce) -> None:
        self._change = change
        self._settings = settings
        self.begins = as_of + timedelta(seconds=change.at_seconds)
        after = change.recover_after_seconds
        self.answers = None if after is None else self.begins + timedelta(seconds=after)
        """Instant at which those that failed are there again."""

    def instants(self, clusters: Iterator[Cluster]) -> Iterator[datetime]:
        """Instants that are known beforehand: failures, thresholds, and returns."""
        yield self.begins
        for cluster in clusters:
            if cluster.name in self._change.fails and cluster.is_ready:
                yield from (self._fails_at(cluster), self._turns_at(cluster))
        if self.answers is not None:
            yield from (self.answers, self._returns_at())

    def at(self, cluster: Cluster, now: datetime) -> Cluster:
        """The cluster with the conditions that it has at `now`, and with the drain that is imagined."""
        if cluster.name in self._change.drained and now >= self.begins:
            cluster = _drained(cluster, now)
        if cluster.name not in self._change.fails or now < self.begins:
            return cluster
        if self.answers is not None and now >= self.answers:
            return self._returning(cluster, now)
        if now >= self._turns_at(cluster) and cluster.is_ready:
            silent = cluster.spec.sync_mode == "Pull"
            return _with_condition(cluster, _SILENT if silent else ready_condition("unreachable"), now)
        if now >= self._fails_at(cluster) and cluster.is_ready:
            return _with_failing(cluster, self._fails_at(cluster))
        return cluster

    def tainted(
        self, cluster: Cluster, now: datetime, attention: Attention, *, braked: bool
    ) -> tuple[Cluster, datetime | None]:
        """The cluster with the taints that its condition calls for, and when to look again."""
        settings = self._settings
        is_ours = cluster.name in self._change.fails
        decision = decide_taints(
            cluster,
            now,
            last_seen=self.begins if is_ours else outage_since(cluster),
            eviction_seconds=settings.failover_eviction_timeout,
            failover=settings.no_execute and not braked,
            could_not_look=settings.could_not_look,
            watched=attention.time,
        )
        hold_down = decide_hold_down(cluster, decision.taints, now)
        annotations = {**decision.annotations, **hold_down.annotations}
        if attention.heartbeat and not cluster.is_ready and is_ours:
            annotations |= confirmation(cluster, attention.heartbeat)
        if hold_down.taints == cluster.taints and not annotations:
            return cluster, decision.wake_at
        return cluster.with_taints(hold_down.taints, annotations), decision.wake_at

    def holds_if_silent(self, clusters: Iterable[Cluster]) -> bool:
        """Tells whether the brake would hold what fails, if that fell silent. `at` has it refuse connections, as
        processes that have ended do."""
        return silent_until(map(self._silent, clusters), self._settings.brake) is not None

    def _silent(self, cluster: Cluster) -> Cluster:
        if cluster.name not in self._change.fails or not cluster.is_ready:
            return cluster
        is_pull = cluster.spec.sync_mode == "Pull"
        ready = _SILENT if is_pull else ready_condition("unreachable", NO_ANSWER)
        return _with_condition(cluster, ready, self._turns_at(cluster))

    def _fails_at(self, cluster: Cluster) -> datetime:
        """Instant at which it begins to be doubted."""
        late = self._settings.cluster_monitor_grace_period * OVERDUE_SHARE if cluster.spec.sync_mode == "Pull" else 0
        return self.begins + timedelta(seconds=late)

    def _turns_at(self, cluster: Cluster) -> datetime:
        """Instant at which `Ready` turns."""
        settings, is_pull = self._settings, cluster.spec.sync_mode == "Pull"
        seconds = settings.cluster_monitor_grace_period if is_pull else settings.cluster_failure_threshold
        return self.begins + timedelta(seconds=seconds)

    def _returns_at(self) -> datetime:
        assert self.answers is not None, "somebody returns"
        return self.answers + timedelta(seconds=self._settings.cluster_success_threshold)

    def _returning(self, cluster: Cluster, now: datetime) -> Cluster:
        """Makes the cluster Ready once it is back: what comes back before it counted has never been away."""
        if cluster.is_ready or now >= self._returns_at():
            return _with_condition(cluster, ready_condition("healthy"), now)
        return cluster


def _with_condition(cluster: Cluster, ready: Condition, now: datetime) -> Cluster:
    conditions = remove_condition(cluster.status.conditions, FAILING_CONDITION)
    dated = set_condition(conditions, ready, now)
    return msgspec.structs.replace(cluster, status=msgspec.structs.replace(cluster.status, conditions=dated))


def _with_failing(cluster: Cluster, since: datetime) -> Cluster:
    failing = Condition(FAILING_CONDITION, "True", "ClusterNotReachable", "imagined", wire_time(since))
    conditions = set_condition(cluster.status.conditions, failing, since)
    return msgspec.structs.replace(cluster, status=msgspec.structs.replace(cluster.status, conditions=conditions))


def _drained(cluster: Cluster, now: datetime) -> Cluster:
    if any(taint.key == DRAIN_TAINT for taint in cluster.taints):
        return cluster
    taint = Taint(key=DRAIN_TAINT, effect="NoExecute", time_added=wire_time(now))
    return cluster.with_taints((*cluster.taints, taint), {})
