"""Replacements: the scheduling pipeline, asked on behalf of a failover where copies may go.

    candidates                 the clusters that a copy would not have to leave again at once
    place_anew                 the question of a user's change, as Karmada's scheduler answers it
    find_replacement           a place for all that leaves; what stays is pinned where it is
    find_partial_replacement   a place for as many replicas as find one; the others stay where they were

Asks the scheduler and writes nothing; whether anything leaves is decided elsewhere. Holds: S2, S3, S11, C1, C2.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

import msgspec

from kubeapi.codec import encode
from leeward.api.cluster import Cluster
from leeward.api.policy import Placement
from leeward.api.work import Binding, ResourceBindingSpec, TargetCluster
from leeward.core.cluster_health.brake import looks_dead
from leeward.core.cluster_health.flap_damping import is_held_down, tolerating_hold_down
from leeward.core.eviction.due_evictions import decide_stay
from leeward.core.placement.dead_targets import price_of, ways_to_spare
from leeward.core.scheduling import ClusterArrays, Placed, Trace, Unplaceable, schedule
from leeward.core.scheduling.affinity import is_in_any_term, is_in_term
from leeward.core.scheduling.cluster_arrays import ClusterView
from leeward.core.scheduling.reschedule import is_unjoined
from leeward.core.scheduling.selection import is_spread
from leeward.core.scheduling.spread_fields import is_over_clusters
from leeward.core.toleration import untolerated_taint

NOBODY_ALIVE = Unplaceable("Error", "no cluster that is alive would hold a copy", {})


@dataclass(frozen=True, slots=True)
class PartialReplacement:
    """A place for some of what leaves: the result with all clusters in it, and how many replicas stay in which."""

    result: Placed
    staying: Mapping[str, int]


def candidates(
    spec: ResourceBindingSpec, fleet: ClusterArrays, now: datetime, but: Collection[str] = ()
) -> ClusterView:
    """All clusters but these, and but those that a copy would have to leave again at once (C1)."""
    tolerations = spec.tolerations
    targets = {target.name for target in spec.clusters}

    def leaves_at(cluster: Cluster) -> datetime | None:
        taints = cluster.taints
        tolerated = untolerated_taint(taints, tolerations) is None
        return decide_stay(taints, tolerations, now).due if tolerated else None

    return fleet.staying(encode(tolerations), leaves_at, now, targets, but)


def find_replacement(
    binding: Binding,
    left: ResourceBindingSpec,
    fleet: ClusterArrays,
    now: datetime,
    excluded: Collection[str] = (),
    staying: Collection[str] = (),
    last_resort: bool = False,
    trace: Trace | None = None,
) -> Placed | Unplaceable:
    """A place for what is missing in `left`, on clusters that are alive and not `excluded`.

    Targets that look dead, are excluded, or of which a part is leaving, keep what they have, unless the place is in an
    affinity term that they are not in. Those of `staying` keep it in any case, and count for no group that a spread
    constraint asks for. As a `last_resort` clusters that are held down will do. `trace` is told why.
    """
    result = _find_replacement(binding, left, fleet, now, excluded, staying, trace)
    if last_resort and _would_fit_held_down(result, fleet):
        return _find_replacement(binding, tolerating_hold_down(left), fleet, now, excluded, staying, trace)
    return result


def place_anew(
    binding: Binding,
    spec: ResourceBindingSpec,
    fleet: ClusterArrays,
    now: datetime,
    tried: Collection[str] = (),
    trace: Trace | None = None,
    *,
    exact: bool = False,
) -> Placed | Unplaceable:
    """Scheduling that a change of the binding asks for, as Karmada answers it.

    Nothing new goes to the `tried` clusters, nor to those that are held down, as long as it can go elsewhere. A
    target of which a part is leaving is no candidate, and keeps the other part where the placement still names it. A
    target that looks dead gains nothing, and gives before one that is alive, as long as there is such a placement; and
    what is alive is not given up for dead targets alone, unless somebody asks for one anew. Not where it is to be
    `exact` (S1).
    """
    told = len(trace.terms) if trace is not None else 0
    leaving = {task.from_cluster for task in spec.graceful_eviction_tasks}
    parts = tuple(
        t for t in spec.clusters if spec.is_divided and t.name in leaving and is_in_any_term(spec, fleet.get(t.name))
    )
    around = not exact and _has_due(spec, fleet)
    result = _place_beside(binding, spec, parts, fleet, now, tried, (), trace, around=around)
    price = None if exact or isinstance(result, Unplaceable) else price_of(spec, result.clusters, fleet)
    if price is None or isinstance(result, Unplaceable) or not price.is_due:
        return result
    for kept, barred in ways_to_spare(spec, fleet, leaving):
        again = Trace()
        spared = _place_beside(binding, spec, (*parts, *kept), fleet, now, tried, barred, again, around=around)
        if isinstance(spared, Placed) and _is_better(spec, spared, result, kept, fleet):
            if trace is not None:
                trace.terms[told:] = again.terms
            return spared
    is_asked_for = not {target.name for target in result.clusters} <= {target.name for target in spec.clusters}
    return NOBODY_ALIVE if price.takes_all and not is_asked_for else result


def resized_between_terms(
    binding: Binding, spec: ResourceBindingSpec, returned: Collection[str], fleet: ClusterArrays, now: datetime
) -> Placed | Unplaceable:
    """Placement for another number of replicas while a failback is between two affinity terms.

    More of them are added to what is there. Fewer are taken first where they have `returned` to: what they came from is
    known to serve (S1)."""
    surplus = sum(target.replicas for target in spec.clusters) - spec.replicas
    if surplus <= 0:
        return find_replacement(binding, spec, fleet, now)
    kept: dict[str, int] = {}
    for target in sorted(
        spec.clusters, key=lambda target: (target.name not in returned, -target.replicas, target.name)
    ):
        taken = min(surplus, target.replicas)
        surplus, kept[target.name] = surplus - taken, target.replicas - taken
    left = (msgspec.structs.replace(target, replicas=kept[target.name]) for target in spec.clusters)
    clusters = tuple(target for target in left if target.replicas)
    return Placed(clusters, binding.status.scheduler_observing_affinity_name)


def _is_better(
    spec: ResourceBindingSpec, spared: Placed, result: Placed, kept: tuple[TargetCluster, ...], fleet: ClusterArrays
) -> bool:
    """Tells whether what spares the living is a placement as the policy asks for, and spares any."""
    prices = [price_of(spec, each.clusters, fleet) for each in (spared, result)]
    return (
        prices[0].is_less_than(prices[1])
        and is_spread(msgspec.structs.replace(spec, clusters=spared.clusters), fleet)
        and all(is_in_term(spec, spared.affinity_name, fleet.get(target.name)) for target in kept)
    )


def _has_due(spec: ResourceBindingSpec, fleet: Mapping[str, Cluster]) -> bool:
    """Tells whether copies are due: a target has left the fleet, or replicas have none."""
    there = [target for target in spec.clusters if not is_unjoined(fleet.get(target.name))]
    is_missing = spec.is_divided and sum(target.replicas for target in there) < spec.replicas
    return is_missing or len(there) < max(1, len(spec.clusters))


def _place_beside(
    binding: Binding,
    spec: ResourceBindingSpec,
    pinned: tuple[TargetCluster, ...],
    fleet: ClusterArrays,
    now: datetime,
    avoided: Collection[str],
    barred: Collection[str],
    trace: Trace | None,
    *,
    around: bool = False,
) -> Placed | Unplaceable:
    """A place for what the `pinned` targets do not have; they keep what they have. `around`: in any affinity term.

    Clusters that are `barred` get none of it; those that are `avoided`, and no targets, only where no other takes it.
    """
    held = sum(target.replicas for target in pinned)
    if pinned and held == spec.replicas:
        in_order = tuple(sorted(pinned, key=lambda target: target.name))
        return Placed(in_order, binding.status.scheduler_observing_affinity_name)
    asked = spec if held > spec.replicas else _without_pinned(spec, pinned, ())
    but, never = set(avoided) - {target.name for target in spec.clusters}, set(barred)
    find = partial(schedule, status=binding.status, trace=trace, around=around)
    result = find(asked, clusters=candidates(spec, fleet, now, but | never))
    if but and isinstance(result, Unplaceable):
        result = find(asked, clusters=candidates(spec, fleet, now, never))
    if _would_fit_held_down(result, fleet):
        result = find(tolerating_hold_down(asked), clusters=candidates(spec, fleet, now, never))
    if isinstance(result, Unplaceable) or asked is spec:
        return result
    return replace(result, clusters=tuple(sorted((*result.clusters, *pinned), key=lambda target: target.name)))


def _would_fit_held_down(result: Placed | Unplaceable, fleet: Mapping[str, Cluster]) -> bool:
    """Tells whether nothing was found, and clusters that are held down were not considered."""
    return isinstance(result, Unplaceable) and any(is_held_down(fleet[name]) for name in result.rejected)


def _find_replacement(
    binding: Binding,
    left: ResourceBindingSpec,
    fleet: ClusterArrays,
    now: datetime,
    excluded: Collection[str],
    staying: Collection[str],
    trace: Trace | None,
) -> Placed | Unplaceable:
    kept = {*excluded, *staying}
    parted = {task.from_cluster for task in left.graceful_eviction_tasks if left.is_divided}
    pinned = tuple(t for t in left.clusters if t.name in kept | parted or is_copy_lost(fleet.get(t.name)))
    asked, barred = _without_pinned(left, pinned, staying), {*kept, *(target.name for target in pinned)}
    if left.is_divided and not asked.is_divided:
        return NOBODY_ALIVE
    result = schedule(asked, binding.status, candidates(left, fleet, now, barred), keep_assigned=True, trace=trace)
    while isinstance(result, Placed) and (lost := _lost_among(result, fleet)):
        barred |= lost
        result = schedule(asked, binding.status, candidates(left, fleet, now, barred), keep_assigned=True, trace=trace)
    if isinstance(result, Unplaceable):
        return result
    rest = (target.name for target in pinned if target.name not in staying)
    outside = {name for name in rest if not is_in_term(left, result.affinity_name, fleet.get(name))}
    if outside:
        inside = tuple(target for target in left.clusters if target.name not in outside)
        left = msgspec.structs.replace(left, clusters=inside)
        return _find_replacement(binding, left, fleet, now, {*excluded, *outside}, staying, trace)
    placed = tuple(sorted((*result.clusters, *pinned), key=lambda target: target.name))
    return replace(result, clusters=placed) if result.clusters else NOBODY_ALIVE


def _lost_among(result: Placed, fleet: Mapping[str, Cluster]) -> set[str]:
    """The clusters of a result that look dead, but are not tainted yet: the taint is another controller's write."""
    return {target.name for target in result.clusters if is_copy_lost(fleet.get(target.name))}


def find_partial_replacement(
    binding: Binding,
    spec: ResourceBindingSpec,
    leaving: Collection[str],
    fleet: ClusterArrays,
    now: datetime,
    last_resort: bool = False,
) -> PartialReplacement | None:
    """A place for as many replicas of `leaving` as find one, where there is none for all; None when there is for none.

    How many that are is found by halving: a question for each bit of their number.
    """
    total = sum(target.replicas for target in spec.clusters if target.name in leaving)
    found: PartialReplacement | None = None
    fits, too_many = 0, total
    while spec.is_divided and too_many - fits > 1:
        moved = (fits + too_many) // 2
        staying = _stay(spec, leaving, fleet, total - moved)
        kept = _keeping(spec, leaving, staying)
        result = find_replacement(binding, kept, fleet, now, staying=leaving, last_resort=last_resort)
        if isinstance(result, Placed):
            found, fits = PartialReplacement(result, staying), moved
        else:
            too_many = moved
    return found


def _stay(
    spec: ResourceBindingSpec, leaving: Collection[str], fleet: Mapping[str, Cluster], count: int
) -> Mapping[str, int]:
    """Places in which `count` replicas stay: in clusters that are alive first, where they are of use."""
    staying: dict[str, int] = {}
    targets = (target for target in spec.clusters if target.name in leaving)
    for target in sorted(targets, key=lambda target: (is_copy_lost(fleet.get(target.name)), target.name)):
        staying[target.name] = min(count, target.replicas)
        count -= staying[target.name]
    return {name: replicas for name, replicas in staying.items() if replicas}


def _keeping(spec: ResourceBindingSpec, leaving: Collection[str], staying: Mapping[str, int]) -> ResourceBindingSpec:
    counts = ((t, staying.get(t.name) if t.name in leaving else t.replicas) for t in spec.clusters)
    kept = tuple(msgspec.structs.replace(target, replicas=count) for target, count in counts if count)
    return msgspec.structs.replace(spec, clusters=kept)


def _without_pinned(
    spec: ResourceBindingSpec, pinned: tuple[TargetCluster, ...], staying: Collection[str]
) -> ResourceBindingSpec:
    """The part that is left to place: neither these replicas, nor these groups of a constraint on clusters."""
    if not pinned:
        return spec
    names = {target.name for target in pinned}
    held = sum(target.replicas for target in pinned)
    placement = spec.placement or Placement()
    groups = len(names.difference(staying))
    constraints = tuple(
        msgspec.structs.replace(c, min_groups=max(1, c.min_groups - groups), max_groups=c.max_groups - len(pinned))
        if is_over_clusters(c)
        else c
        for c in placement.spread_constraints
    )
    return msgspec.structs.replace(
        spec,
        clusters=tuple(target for target in spec.clusters if target.name not in names),
        replicas=max(0, spec.replicas - held) if spec.is_divided else spec.replicas,
        placement=msgspec.structs.replace(placement, spread_constraints=constraints),
    )


def is_copy_lost(cluster: Cluster | None) -> bool:
    """Tells whether a copy in the cluster counts as lost: the cluster looks dead, or leaves the fleet."""
    return cluster is None or is_unjoined(cluster) or looks_dead(cluster)
