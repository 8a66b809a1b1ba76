"""Clusters that a placement allows, asked of the scheduler's own filters; on the fleet, or on the clusters that it
names.

Where no fleet is known, a placement that lists its clusters by name is judged on these; one that chooses by labels or
fields, or takes any, cannot be judged.
"""

from collections.abc import Collection, Mapping

import msgspec

from kubeapi.meta import TypedObject
from leeward.api.cluster import Cluster, ClusterSpec
from leeward.api.policy import Placement
from leeward.api.work import BindingResource, ResourceBindingSpec, TargetCluster
from leeward.core.scheduling.affinity import affinities_of, affinity_names, is_in_term
from leeward.core.scheduling.selection import divides, ignores_constraints, is_spread
from leeward.core.scheduling.spread_fields import is_over_clusters

Clusters = Mapping[str, Cluster]
_ANYTHING = BindingResource("", "", "")
_PLAIN = TypedObject().metadata


def clusters_to_judge(placement: Placement, fleet: Clusters | None) -> Clusters | None:
    """The fleet, or the clusters that the placement names; None where neither is known."""
    if fleet is not None:
        return fleet
    affinities = affinities_of(placement)
    if not affinities or any(not a.cluster_names or a.label_selector or a.field_selector for a in affinities):
        return None
    return {name: _cluster(name) for affinity in affinities for name in affinity.cluster_names}


def allowed_clusters(placement: Placement, clusters: Clusters) -> frozenset[str]:
    """Clusters that one of the placement's affinities lets in, for what has replicas."""
    spec = _spec(placement)
    terms = affinity_names(spec)
    return frozenset(n for n, each in clusters.items() if any(is_in_term(spec, term, each) for term in terms))


def not_joined(placement: Placement, fleet: Clusters) -> tuple[str, ...]:
    """Clusters that the placement names and that have not joined, in its order."""
    named = (name for affinity in affinities_of(placement) for name in affinity.cluster_names)
    return tuple(dict.fromkeys(name for name in named if name not in fleet))


def may_move(placement: Placement, has_replicas: bool) -> bool:
    """Tells whether a copy can be missing somewhere, so that an outage has it placed elsewhere.

    What goes to all clusters that are allowed has no other place to go.
    """
    strategy, constraints = placement.replica_scheduling, placement.spread_constraints
    is_one_of_many = placement.cluster_affinity is None and (
        len(placement.cluster_affinities) > 1 or any(t.overflow_affinities for t in placement.cluster_affinities)
    )
    chooses = bool(constraints) and not ignores_constraints(strategy)
    return is_one_of_many or chooses or (has_replicas and divides(strategy))


def can_be_spread(placement: Placement, names: Collection[str], clusters: Clusters) -> bool:
    """Tells whether these clusters together reach every minimum of the spread constraints."""
    minima = tuple(msgspec.structs.replace(each, max_groups=0) for each in placement.spread_constraints)
    targets = tuple(TargetCluster(name) for name in names)
    asked = msgspec.structs.replace(placement, spread_constraints=minima)
    return is_spread(msgspec.structs.replace(_spec(asked), clusters=targets), clusters)


def most_copies(placement: Placement) -> int:
    """Number of clusters that copies are in at most, where replicas are not divided; 0 where there is no limit."""
    constraints = placement.spread_constraints
    over_clusters = [each.max_groups for each in constraints if is_over_clusters(each)]
    return over_clusters[-1] if over_clusters else max((each.max_groups for each in constraints), default=0)


def affinity_field(placement: Placement) -> tuple[str, ...]:
    """The path of the field that says where copies may go."""
    if placement.cluster_affinity is not None:
        return ("spec", "placement", "clusterAffinity")
    return ("spec", "placement", "clusterAffinities") if placement.cluster_affinities else ("spec", "placement")


def _spec(placement: Placement) -> ResourceBindingSpec:
    return ResourceBindingSpec(resource=_ANYTHING, replicas=1, placement=placement)


def _cluster(name: str) -> Cluster:
    return Cluster(metadata=msgspec.structs.replace(_PLAIN, name=name), spec=ClusterSpec(sync_mode="Push"))
