"""Outlook of a binding's copies in clusters that are lost: the decision itself, asked beforehand.

    expected_taints   the cluster with the taints that its condition will have led to
    foresee           for each lost target, what would be decided at the instant at which its stay ends

It is asked with the fleet as it is now, so that the answer is where a copy would go now. Nothing is promised to it, so
that many bindings can be told of the same room. How many evictions a second are allowed is not foreseen.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime

import msgspec

from leeward.api.cluster import Cluster
from leeward.api.work import Binding, TargetCluster
from leeward.core.cluster_health.brake import looks_dead
from leeward.core.cluster_health.condition_taints import NO_EXECUTE, decide_taints
from leeward.core.cluster_health.outage import (
    Outage,
    OutageReport,
    Outcome,
    Outlook,
    all_not_seen,
    find_outages,
    has_condition_taint,
)
from leeward.core.cluster_health.watched_time import ALWAYS, WatchedTime
from leeward.core.eviction.blocked_evictions import why_braked
from leeward.core.eviction.due_evictions import decide_stay
from leeward.core.placement import Decision, Snapshot, decide
from leeward.core.placement.cause import cause_in


@dataclass(frozen=True, slots=True)
class TaintExpectation:
    """Way from an outage to NoExecute, as the cluster controller is set: see `decide_taints`."""

    eviction_seconds: float = 300
    failover: bool = True
    could_not_look: bool = True


def expected_taints(
    cluster: Cluster, now: datetime, expectation: TaintExpectation, watched: WatchedTime = ALWAYS
) -> Cluster:
    """The cluster as it will be tainted if its outage lasts; the same object where nothing will change.

    Its spec has all taints that are in force then: who asks beforehand watches nothing, and believes no record.
    """
    in_force = cluster.taints
    if not has_condition_taint(cluster):
        return cluster
    if any(taint.effect == NO_EXECUTE for taint in in_force):
        is_written = in_force == cluster.spec.taints
        return cluster if is_written else cluster.with_taints(in_force, {})

    def taints_at(instant: datetime) -> tuple[datetime | None, Cluster]:
        decision = decide_taints(
            cluster,
            instant,
            last_seen=None,
            eviction_seconds=expectation.eviction_seconds,
            failover=expectation.failover,
            could_not_look=expectation.could_not_look,
            watched=watched,
        )
        spec = msgspec.structs.replace(cluster.spec, taints=decision.taints)
        return decision.wake_at, msgspec.structs.replace(cluster, spec=spec)

    wake_at, tainted = taints_at(now)
    return tainted if wake_at is None else taints_at(wake_at)[1]


def foresee(snapshot: Snapshot, decided: Decision, ask: Callable[[Snapshot], Decision] = decide) -> OutageReport | None:
    """Report of the binding's outages; None where what is said already stands for the moment.

    `snapshot` holds the clusters with their expected taints; `decided` is what was decided of the binding now, as
    one may `ask` for another instant.
    """
    clusters = snapshot.clusters
    spec = msgspec.structs.replace(
        snapshot.binding.spec, clusters=decided.clusters, graceful_eviction_tasks=decided.eviction_tasks
    )
    outages, not_seen = find_outages(spec, clusters), all_not_seen(spec, clusters)
    if not outages:
        return OutageReport(not_seen=not_seen)
    is_moving = spec != snapshot.binding.spec
    if is_moving or any(
        outage.since is not None and not has_condition_taint(clusters[outage.cluster]) for outage in outages
    ):
        return None
    return OutageReport(tuple(_outlook(outage, snapshot, decided, ask) for outage in outages), not_seen)


def _outlook(outage: Outage, snapshot: Snapshot, decided: Decision, ask: Callable[[Snapshot], Decision]) -> Outlook:
    cluster, now = snapshot.clusters[outage.cluster], snapshot.now
    if outage.since is None:
        return Outlook(outage, Outcome.NODES_NOT_READY)
    starts = [t.time_added or now for t in cluster.taints if t.effect == NO_EXECUTE]
    if not starts and not looks_dead(cluster):
        return Outlook(outage, Outcome.NOT_COLLECTED)
    if not starts or not snapshot.settings.evict:
        return Outlook(outage, Outcome.NOT_EVICTED)
    tolerations = snapshot.binding.spec.tolerations
    due = decide_stay(cluster.taints, tolerations, min(starts), snapshot.attention.time).due
    if due is None:
        return Outlook(outage, Outcome.TOLERATED)
    if snapshot.brake and looks_dead(cluster):
        return Outlook(outage, Outcome.HELD, why=why_braked(snapshot.brake_reason))
    decision = decided if due <= now else ask(replace(snapshot, now=due))
    return _decided_then(outage, snapshot.binding, decision, due)


def _decided_then(outage: Outage, binding: Binding, decision: Decision, at: datetime) -> Outlook:
    held = decision.held.message if decision.held is not None else ""
    if any(eviction.cluster == outage.cluster for eviction in decision.evicted):
        return Outlook(outage, Outcome.EVICTION, at, _gaining(binding.spec.clusters, decision.clusters), held)
    if decision.held is not None and held:
        return Outlook(outage, Outcome.HELD, at, why=cause_in(decision.held.reason, held))
    return Outlook(outage, Outcome.UNDECIDED, at)


def _gaining(before: Iterable[TargetCluster], after: Iterable[TargetCluster]) -> tuple[str, ...]:
    """The clusters that get a copy, or more replicas."""
    had = {target.name: target.replicas for target in before}
    return tuple(t.name for t in after if t.name not in had or t.replicas > had[t.name])
