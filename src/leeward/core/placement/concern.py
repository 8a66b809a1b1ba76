"""Changes that can change the decision for a binding: of which clusters, and of which fields of them and of its Works.

    it is there, or leaves                            a change of that cluster
    something is under way with it, or it waits,      a change of any cluster: it may give it a place, or take one away
    a lost cluster of its is told of, or where it
    goes depends on where others of its group are
    it is scheduled whenever it is looked at          a change of a cluster that its placement may mean
    (Duplicated, and kinds without replicas)

A divided binding that rests stays where it is, whatever happens elsewhere, and whatever is reported of its copies.
A field that a decision begins to look at has to be told here. tests/sim/test_cluster_concern.py holds that.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from msgspec.structs import replace

from kubeapi.diff import is_equal
from kubeapi.meta import unversioned
from leeward.api.cluster import Cluster
from leeward.api.meta import find_condition
from leeward.api.names import (
    CLUSTER_OUTAGE_CONDITION,
    EVICTION_HELD_CONDITION,
    HOME_ANNOTATION,
    MEMORY_ANNOTATION,
    OUTAGE_CONFIRMED_ANNOTATION,
    POLICY_TAINTS_CONFIRMED_ANNOTATION,
    execution_space,
)
from leeward.api.policy import ClusterAffinity, Placement
from leeward.api.work import Binding, ResourceBindingStatus, Work
from leeward.core.cluster_health.condition_taints import NO_EXECUTE
from leeward.core.cluster_health.outage import clusters_of, nodes_down
from leeward.core.cluster_health.pending_condition import is_recovering
from leeward.core.cluster_health.ready_condition import unobserved
from leeward.core.cluster_health.standing_taints import is_specified_otherwise
from leeward.core.copies.evidence import FULLY_APPLIED, is_judged_well
from leeward.core.copies.memory import EARLIER_MEMORY_ANNOTATIONS
from leeward.core.eviction.application import application_failover
from leeward.core.eviction.due_evictions import drain_budget
from leeward.core.interpreter.own_replicas import as_assigned
from leeward.core.placement.decision import Decision
from leeward.core.scheduling import Unplaceable
from leeward.core.scheduling.affinity import affinities_of
from leeward.core.scheduling.cluster_matching import cluster_matches
from leeward.core.scheduling.reschedule import replicas_changed, scheduling_type

_UNDER_WAY = (MEMORY_ANNOTATION, HOME_ANNOTATION, *EARLIER_MEMORY_ANNOTATIONS)
"""Annotations in which a decision remembers what it goes on with."""
_CONFIRMATIONS = (OUTAGE_CONFIRMED_ANNOTATION, POLICY_TAINTS_CONFIRMED_ANNOTATION)
Affinities = tuple[ClusterAffinity, ...]
"""Affinities of which one must match; where there are none, every cluster does."""


@dataclass(frozen=True, slots=True)
class ClusterConcern:
    """`names`: the clusters where it is, or that it leaves. `anywhere`: a change of any cluster may matter. `waits`:
    for room, or for the end of a hold. `affinities`: None where only those matter that it names."""

    names: frozenset[str] = frozenset()
    anywhere: bool = False
    waits: bool = False
    affinities: Affinities | None = None


def concern_of(binding: Binding) -> ClusterConcern:
    spec, placement, waits = binding.spec, binding.spec.placement or Placement(), is_waiting(binding)
    is_told = find_condition(binding.status.conditions, CLUSTER_OUTAGE_CONDITION) is not None
    anywhere = waits or is_told or _goes_on(binding) or spec.workload_affinity_groups is not None
    is_always_scheduled = not spec.is_workload or scheduling_type(spec) == "Duplicated"
    affinities = affinities_of(placement) if is_always_scheduled and not anywhere else None
    return ClusterConcern(frozenset(clusters_of(spec)), anywhere, waits, affinities)


def _goes_on(binding: Binding) -> bool:
    """Tells whether copies leave, or a decision remembers something."""
    remembers = any(name in binding.metadata.annotations for name in _UNDER_WAY)
    return remembers or bool(binding.spec.graceful_eviction_tasks)


def is_at_rest(binding: Binding) -> bool:
    """Tells whether it was placed as its present generation asks, and nothing is under way with it.

    Replicas that came back are a placement that was seen, and not yet all that is asked for.
    """
    is_placed = binding.status.scheduler_observed_generation == binding.metadata.generation
    is_whole = bool(binding.spec.clusters) and not replicas_changed(binding.spec)
    return is_placed and is_whole and not concern_of(binding).anywhere


def is_settled(before: Binding, placed: Binding, decision: Decision) -> bool:
    """Tells whether there is nothing more to decide for `placed`: the binding with this decision and its status.

    Held in histories by tests/sim/test_cluster_concern.py."""
    spec = replace(before.spec, clusters=decision.clusters, graceful_eviction_tasks=decision.eviction_tasks)
    is_open = is_unfinished(decision) or decision.wake_at is not None or application_failover(spec) is not None
    return is_at_rest(placed) and not is_open and placed.spec == spec


def is_unfinished(decision: Decision) -> bool:
    """Tells whether something found no place, is held back, or is refused."""
    return isinstance(decision.result, Unplaceable) or decision.held is not None or bool(decision.quota_refusal)


def is_propagated(binding: Binding) -> bool:
    """Tells whether it is at rest, and its Works are said to be there and applied, as its present generation asks."""
    applied = find_condition(binding.status.conditions, FULLY_APPLIED)
    if applied is None or (applied.status, applied.observed_generation) != ("True", binding.metadata.generation):
        return False
    return binding.metadata.deletion_timestamp is None and is_at_rest(binding)


def is_waiting(binding: Binding) -> bool:
    """Tells whether it has found no place, or is held back."""
    return is_unplaced(binding) or find_condition(binding.status.conditions, EVICTION_HELD_CONDITION) is not None


def is_unplaced(binding: Binding) -> bool:
    """Tells whether it has found no place."""
    return find_condition(binding.status.conditions, "Scheduled", "False") is not None


def is_decided_alike(before: Binding, after: Binding) -> bool:
    """Tells whether the same is decided for two states of a binding, whatever its copies report while it rests."""
    if before.spec != after.spec or unversioned(before.metadata) != unversioned(after.metadata):
        return False
    if before.status == after.status:
        return True
    rests = not concern_of(after).anywhere and application_failover(after.spec) is None
    return rests and is_equal(_unreported(before.status), _unreported(after.status))


def may_mean(affinities: Affinities, clusters: Iterable[Cluster]) -> bool:
    """Tells whether any of these clusters matches any of the affinities."""
    return not affinities or any(cluster_matches(cluster, each) for cluster in clusters for each in affinities)


def _unreported(status: ResourceBindingStatus) -> ResourceBindingStatus:
    """The status without the sums of the binding controller."""
    conditions = tuple(each for each in status.conditions if each.type != FULLY_APPLIED)
    return replace(status, aggregated_status=(), conditions=conditions)


def may_change_placements(old: Cluster, new: Cluster) -> bool:
    """Tells whether a change of a cluster can change where anything goes."""
    return is_specified_otherwise(old, new) or _read_of(old) != _read_of(new)


def _read_of(cluster: Cluster) -> tuple[object, ...]:
    """Facts that decisions read beside its spec. A field that a decision begins to read needs a place here."""
    found, status = cluster.metadata, cluster.status
    confirmed = [found.annotations.get(name) for name in _CONFIRMATIONS]
    states = cluster.is_being_deleted, cluster.is_ready, is_recovering(cluster), unobserved(cluster) is None
    return found.labels, confirmed, states, drain_budget(cluster), bool(nodes_down(cluster)), status.api_enablements


def awaits_taints(old: Cluster, new: Cluster) -> bool:
    """Tells whether a cluster is not Ready, does not answer again, and nothing leaves it yet. The taints that say so
    come in several writes; its spec is the same but for those."""
    if new.is_ready or new.is_being_deleted or _untainted(old) != _untainted(new):
        return False
    return all(taint.effect != NO_EXECUTE for taint in (*old.taints, *new.taints))


def _untainted(cluster: Cluster) -> tuple[object, ...]:
    spec = replace(cluster.spec, taints=())
    return spec, cluster.metadata.labels, cluster.is_being_deleted, is_recovering(cluster)


def depends_on_health(binding: Binding) -> bool:
    """Tells whether the reports of its Works can begin, end or withdraw something."""
    return _goes_on(binding) or application_failover(binding.spec) is not None


def bears_on_health(old: Work | None, new: Work | None) -> bool:
    """Tells whether a change of a Work can say anything of its copy's health. False while no manifest has a status and
    the spec is the same: a report follows."""
    if new is None or new.status.manifest_statuses or new.metadata.deletion_timestamp is not None:
        return True
    return old is not None and (not is_equal(old.spec, new.spec) or bool(old.status.manifest_statuses))


def is_awaited(binding: Binding, work: Work) -> bool:
    """Tells whether a Work is of a target of a move, and not reported well yet: that ends nothing. False where an
    application fails over by its health."""
    spec, statuses = binding.spec, work.status.manifest_statuses
    if not spec.graceful_eviction_tasks or application_failover(spec) is not None or work.metadata.deletion_timestamp:
        return False
    found = (t.replicas for t in spec.clusters if execution_space(t.name) == work.namespace)
    return any(not statuses or not all(is_judged_well(as_assigned(each, n), n) for each in statuses) for n in found)
