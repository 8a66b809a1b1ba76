"""Decision functions with a fault in them, to see that the search finds it."""

from collections.abc import Callable
from dataclasses import replace

import msgspec

from leeward.api.cluster import Cluster
from leeward.api.work import Binding
from leeward.core.placement import Decision, Snapshot, decide
from leeward.planning import Fleet

Placement = Callable[[Snapshot], Decision]


def altered(change: Callable[[Decision, Binding], Decision]) -> Placement:
    """The real decision, and then `change`."""
    return lambda snapshot: change(decide(snapshot), snapshot.binding)


def configured(**changes: bool) -> Placement:
    """The real decision with a guard switched off."""
    return lambda snapshot: decide(replace(snapshot, settings=replace(snapshot.settings, **changes)))


def without_brake(snapshot: Snapshot) -> Decision:
    return decide(replace(snapshot, brake=False))


def without_taints(snapshot: Snapshot) -> Decision:
    """Taints make a copy leave, and keep none away."""
    targets = {target.name for target in snapshot.binding.spec.clusters}
    clusters = {name: c if name in targets else _untainted(c) for name, c in snapshot.clusters.items()}
    return decide(replace(snapshot, clusters=Fleet(clusters.values())))


def without_gain(snapshot: Snapshot) -> Decision:
    """The control plane's own taints count as set by hand."""
    clusters = {name: _tainted_by_hand(cluster) for name, cluster in snapshot.clusters.items()}
    return decide(replace(snapshot, clusters=Fleet(clusters.values())))


def evicting_twice(decision: Decision, _: Binding) -> Decision:
    return replace(decision, eviction_tasks=(*decision.eviction_tasks, *decision.eviction_tasks[-1:]))


def impatient(decision: Decision, _: Binding) -> Decision:
    """No eviction is waited for."""
    return replace(decision, eviction_tasks=())


def asleep(decision: Decision, _: Binding) -> Decision:
    return replace(decision, wake_at=None)


def silent(decision: Decision, _: Binding) -> Decision:
    return replace(decision, held=None)


def gathering(decision: Decision, _: Binding) -> Decision:
    """A failover takes the chance to bring everything together."""
    if not decision.evicted or not decision.clusters:
        return decision
    first, *_others = decision.clusters
    everything = sum(target.replicas for target in decision.clusters)
    return replace(decision, clusters=(msgspec.structs.replace(first, replicas=everything),))


def losing(decision: Decision, _: Binding) -> Decision:
    """One replica of each failover is lost."""
    if not decision.evicted or not decision.clusters:
        return decision
    *others, last = decision.clusters
    return replace(decision, clusters=(*others, msgspec.structs.replace(last, replicas=last.replicas - 1)))


def forgetful(decision: Decision, binding: Binding) -> Decision:
    """Decision in which what the user changes is not carried out."""
    return decision if decision.evicted else replace(decision, clusters=binding.spec.clusters or decision.clusters)


def _untainted(cluster: Cluster) -> Cluster:
    return msgspec.structs.replace(cluster, spec=msgspec.structs.replace(cluster.spec, taints=()))


def _tainted_by_hand(cluster: Cluster) -> Cluster:
    taints = tuple(msgspec.structs.replace(taint, key="example.com/by-hand") for taint in cluster.spec.taints)
    return msgspec.structs.replace(cluster, spec=msgspec.structs.replace(cluster.spec, taints=taints))
