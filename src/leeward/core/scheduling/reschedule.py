"""Rescheduling: if a binding has to be scheduled (again).

Karmada: pkg/scheduler/{scheduler,helper}.go; same. A target cluster that is gone altogether counts like one that is
being deleted.
"""

from collections.abc import Iterable, Mapping

import msgspec

from kubeapi.codec import DecodeError, decode
from leeward.api.cluster import Cluster
from leeward.api.names import APPLIED_PLACEMENT_ANNOTATION
from leeward.api.policy import Placement
from leeward.api.work import Binding, ResourceBindingSpec, TargetCluster
from leeward.core.scheduling.affinity import common_term
from leeward.core.scheduling.model import is_reschedule_requested


def needs_scheduling(binding: Binding, clusters: Mapping[str, Cluster]) -> bool:
    """`clusters` by name."""
    spec = binding.spec
    return (
        placement_changed(binding)
        or replicas_changed(spec)
        or is_reschedule_requested(spec, binding.status.last_scheduled_time)
        or not spec.is_workload
        or scheduling_type(spec) == "Duplicated"
        or any(is_unjoined(clusters.get(target.name)) for target in spec.clusters)
    )


def was_placed(binding: Binding) -> bool:
    """Tells whether a placement of it has ever been carried out."""
    return APPLIED_PLACEMENT_ANNOTATION in binding.metadata.annotations


def placement_changed(binding: Binding) -> bool:
    """Tells whether the placement differs, where it matters, from the one that the present result was made for."""
    placement = binding.spec.placement or Placement()
    if not binding.metadata.annotations.get(APPLIED_PLACEMENT_ANNOTATION):
        return True
    applied = applied_placement(binding)
    if applied is None or applied == placement:
        return False
    if _without_affinities(applied) != _without_affinities(placement):
        return True
    return _observed_term_changed(applied, placement, binding.status.scheduler_observing_affinity_name)


def applied_placement(binding: Binding) -> Placement | None:
    """The placement that the present result was made for; None where none is noted, or none that can be read."""
    annotation = binding.metadata.annotations.get(APPLIED_PLACEMENT_ANNOTATION, "")
    try:
        return decode(annotation.encode(), Placement)
    except DecodeError:
        return None


def term_of_targets(binding: Binding, clusters: Mapping[str, Cluster]) -> str:
    """Affinity term that the present targets were placed in: the observed one, unless they came later than it.

    The targets are written first, and the term with the status. A decision between the two, after a crash or beside
    another scheduler, would take targets in one term for a leftover of another. Holds: S1.
    """
    status, names = binding.status, [target.name for target in binding.spec.clusters]
    is_observed = status.scheduler_observed_generation == binding.metadata.generation
    if is_observed or not names or placement_changed(binding):
        return status.scheduler_observing_affinity_name
    return common_term(binding, names, clusters) or status.scheduler_observing_affinity_name


def same_targets(one: Iterable[TargetCluster], other: Iterable[TargetCluster]) -> bool:
    """Tells whether both name the same clusters with the same replicas, in whatever order."""
    return sorted(one, key=_name) == sorted(other, key=_name)


def replicas_changed(spec: ResourceBindingSpec) -> bool:
    """Tells whether the result no longer adds up to `spec.replicas`."""
    match scheduling_type(spec):
        case "Duplicated" if spec.placement is not None and spec.placement.replica_scheduling is not None:
            return any(target.replicas != spec.replicas for target in spec.clusters)
        case "Divided":
            return sum(target.replicas for target in spec.clusters) != spec.replicas
        case _:
            return False


def scheduling_type(spec: ResourceBindingSpec) -> str:
    """`Duplicated` when nothing is said."""
    strategy = spec.placement.replica_scheduling if spec.placement else None
    return "Duplicated" if strategy is None else strategy.replica_scheduling_type


def is_unjoined(cluster: Cluster | None) -> bool:
    """Tells whether the cluster has left the fleet, or is about to."""
    return cluster is None or cluster.is_being_deleted


def _name(target: TargetCluster) -> str:
    return target.name


def _without_affinities(placement: Placement) -> Placement:
    return msgspec.structs.replace(placement, cluster_affinities=(), workload_affinity=None)


def _observed_term_changed(applied: Placement, placement: Placement, observed: str) -> bool:
    """Tells whether the term changed that the present result satisfies: the others may change freely."""
    old = next((t for t in applied.cluster_affinities if t.affinity_name == observed), None)
    new = next((t for t in placement.cluster_affinities if t.affinity_name == observed), None)
    return not observed or old is None or new is None or old != new
