"""Select: which of the candidates take part, by spread constraints.

Karmada: pkg/scheduler/core/spreadconstraint; the same for `cluster` and `region`, and where constraints do not matter:
for static weights. Karmada fails on zone, provider and label; here they are spread over as regions are.
"""

from collections.abc import Mapping, Sequence

import msgspec

from leeward.api.cluster import Cluster
from leeward.api.policy import Placement, ReplicaSchedulingStrategy, SpreadConstraint
from leeward.api.work import ResourceBindingSpec
from leeward.core.scheduling.groups import Grouping, groupings
from leeward.core.scheduling.model import Candidate, Request, Unplaceable
from leeward.core.scheduling.spread_fields import cluster_constraint, is_over_clusters
from leeward.core.scheduling.spreading import select_by_groups


def select(request: Request, candidates: Sequence[Candidate]) -> tuple[Candidate, ...] | Unplaceable:
    """`candidates` best first."""
    constraints = request.placement.spread_constraints
    if not constraints or ignores_constraints(request.placement.replica_scheduling):
        return tuple(candidates)
    by_group, by_cluster = groupings(constraints), cluster_constraint(constraints)
    if by_group:
        if request.beside:
            return _select_beside(request, candidates, by_group, by_cluster)
        return select_by_groups(request, candidates, by_group, by_cluster)
    if by_cluster is not None:
        return select_by_cluster(request, candidates, by_cluster)
    return Unplaceable("Error", "a spread constraint names neither a field nor a label", {})


def divides(strategy: ReplicaSchedulingStrategy | None) -> bool:
    """Tells whether replicas are shared out; without a strategy each cluster gets all of them."""
    return strategy is not None and strategy.replica_scheduling_type != "Duplicated"


def ignores_constraints(strategy: ReplicaSchedulingStrategy | None) -> bool:
    return strategy is not None and strategy.has_static_weights


def is_spread(spec: ResourceBindingSpec, clusters: Mapping[str, Cluster]) -> bool:
    """Tells whether the targets satisfy the spread constraints."""
    if ignores_constraints((spec.placement or Placement()).replica_scheduling):
        return True
    counts = _counts(spec, clusters)
    return all(each.min_groups <= count and (not each.max_groups or count <= each.max_groups) for each, count in counts)


def is_limited(spec: ResourceBindingSpec, clusters: Mapping[str, Cluster]) -> bool:
    """Tells whether the number of copies is limited: they share the replicas, or lie in one of several affinity terms.
    Or they are in as many clusters or groups as a spread constraint allows."""
    terms = spec.placement.cluster_affinities if spec.placement else ()
    if spec.is_divided or len(terms) > 1:
        return True
    return any(0 < each.max_groups <= count for each, count in _counts(spec, clusters))


def is_once(spec: ResourceBindingSpec) -> bool:
    """Tells whether the number of copies is limited, or will be once there are enough of them."""
    placement = spec.placement or Placement()
    limits = any(each.max_groups > 0 for each in placement.spread_constraints)
    return spec.is_divided or len(placement.cluster_affinities) > 1 or limits


def _counts(spec: ResourceBindingSpec, clusters: Mapping[str, Cluster]) -> list[tuple[SpreadConstraint, int]]:
    """The number of clusters, or of groups, that each spread constraint counts."""
    targets = [clusters[target.name] for target in spec.clusters if target.name in clusters]
    constraints = spec.placement.spread_constraints if spec.placement else ()
    counts = [(each, len(targets)) for each in constraints if is_over_clusters(each)]
    for grouping in groupings(constraints):
        groups = {value for cluster in targets for value in grouping.values(cluster) if value}
        counts.append((grouping.constraint, len(groups)))
    return counts


def room_decides(placement: Placement) -> bool:
    """Tells whether how much room clusters have can change the result.

    Not for templates that go everywhere, nor for static weights; overflow groups are for replicas without room
    elsewhere.
    """
    strategy = placement.replica_scheduling
    if any(term.overflow_affinities is not None for term in placement.cluster_affinities):
        return True
    return not ignores_constraints(strategy) and (divides(strategy) or bool(placement.spread_constraints))


def select_by_cluster(
    request: Request, candidates: Sequence[Candidate], constraint: SpreadConstraint
) -> tuple[Candidate, ...] | Unplaceable:
    if len(candidates) < constraint.min_groups:
        message = "the number of feasible clusters is less than spreadConstraint.MinGroups"
        return Unplaceable("Error", message, {})
    need = min(len(candidates), constraint.max_groups)
    if not divides(request.placement.replica_scheduling):
        return tuple(candidates[:need])
    chosen = _with_room_for(request, candidates[:need], candidates[need:])
    if chosen is None:
        return Unplaceable("Error", f"no enough resource when selecting {need} clusters", {})
    return chosen


def _select_beside(
    request: Request, candidates: Sequence[Candidate], by: Sequence[Grouping], cluster: SpreadConstraint | None
) -> tuple[Candidate, ...] | Unplaceable:
    """Choice by groups, of which others are filled already. The constraint over clusters is without these others."""
    there = tuple(Candidate(each, tier=0, score=0, room=0, assigned=0) for each in request.beside)
    names, needs_room = {each.name for each in there}, divides(request.placement.replica_scheduling)
    if cluster is not None:
        least, most = cluster.min_groups + len(there), cluster.max_groups + len(there)
        cluster = msgspec.structs.replace(cluster, min_groups=least, max_groups=most)

    def takes_all(chosen: Sequence[Candidate]) -> bool:
        new = [each for each in chosen if each.name not in names]
        return bool(new) and (not needs_room or _room(new) >= request.needed)

    chosen = select_by_groups(request, (*there, *candidates), by, cluster, takes_all)
    return chosen if isinstance(chosen, Unplaceable) else tuple(each for each in chosen if each.name not in names)


def _with_room_for(
    request: Request, best: Sequence[Candidate], rest: Sequence[Candidate]
) -> tuple[Candidate, ...] | None:
    """`best`, where the last are exchanged for roomier ones of the rest until all replicas find room.

    In a failover those that hold replicas are not exchanged. Holds: C2.
    """
    chosen, spare, replicas = list(best), list(rest), request.needed
    for position in reversed(range(len(chosen))):
        if _room(chosen) >= replicas:
            break
        if request.keeps(chosen[position].name):
            continue
        roomiest = max(range(len(spare)), key=lambda i: spare[i].available, default=None)
        if roomiest is not None and spare[roomiest].available > chosen[position].available:
            chosen[position], spare[roomiest] = spare[roomiest], chosen[position]
    return tuple(chosen) if _room(chosen) >= replicas else None


def _room(candidates: Sequence[Candidate]) -> int:
    return sum(candidate.available for candidate in candidates)
