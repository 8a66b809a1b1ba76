"""Replacements: questions to the scheduler where copies may go, by the ranks of their clusters.

    place_anew                 the question of a user's change, as Karmada's scheduler answers it
    find_partial_replacement   a place for as many replicas as find one; the others stay where they were

Asks the scheduler and writes nothing; whether anything leaves is decided elsewhere. Holds: S2, S3, S11, C1, C2.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple, TypeVar

import msgspec

from leeward.api.cluster import Cluster
from leeward.api.work import Binding, ResourceBindingSpec, TargetCluster
from leeward.core.cluster_health.brake import looks_dead
from leeward.core.placement.ranks import (
    NO_RANKS,
    NOBODY_ALIVE,
    ClusterRank,
    RankedQuestion,
    Ranks,
    find_replacement,
    is_copy_lost,
)
from leeward.core.scheduling import ClusterArrays, Placed, Trace, Unplaceable
from leeward.core.scheduling.affinity import is_in_any_term
from leeward.core.scheduling.reschedule import is_unjoined
from leeward.core.scheduling.selection import is_spread

Targets = tuple[TargetCluster, ...]
Found = TypeVar("Found")


def place_anew(
    binding: Binding,
    spec: ResourceBindingSpec,
    fleet: ClusterArrays,
    now: datetime,
    ranks: Ranks = NO_RANKS,
    trace: Trace | None = None,
    *,
    exact: bool = False,
) -> Placed | Unplaceable:
    """Scheduling that a change of the binding asks for, as Karmada answers it.

    A target may keep its replicas and get more, whatever its rank. Where a part of it is leaving, it keeps the other
    part if the placement still names it. A target that looks dead gains nothing, and gives before one that is alive, as
    long as there is such a placement. Living targets are not given up for dead ones alone, unless somebody asks for a
    placement anew. Not where it is to be `exact` (S1).
    """
    told = len(trace.terms) if trace is not None else 0
    targets, leaving = {t.name for t in spec.clusters}, {task.from_cluster for task in spec.graceful_eviction_tasks}
    parted = (name for name in targets & leaving if spec.is_divided and is_in_any_term(spec, fleet.get(name)))
    back = {name: rank for name, rank in ranks.items() if rank in (ClusterRank.LEFT, ClusterRank.DONE)}
    new, kept = {name: ranks[name] for name in ranks.keys() - targets}, dict.fromkeys(parted, ClusterRank.KEPT) | back
    around = not exact and _has_due(spec, fleet)
    question = RankedQuestion(binding, fleet, now, trace=trace, fails_over=False, around=around)
    result = question.ask(spec, new | kept)
    if exact or isinstance(result, Unplaceable) or not any(_is_dead(fleet.get(t.name)) for t in result.clusters):
        return result
    cost = _cost(spec, result.clusters, fleet)
    for way, of_dead in _ways_to_spare(spec, fleet, leaving) if cost.replicas else ():
        again = Trace()
        spared = replace(question, trace=again).ask(way, new | of_dead | kept)
        if isinstance(spared, Placed) and _is_better(spec, spared, cost, fleet):
            if trace is not None:
                trace.terms[told:] = again.terms
            return spared
    is_asked_for = not {target.name for target in result.clusters} <= targets
    return NOBODY_ALIVE if cost.is_total and not is_asked_for else result


def _has_due(spec: ResourceBindingSpec, fleet: Mapping[str, Cluster]) -> bool:
    """Tells whether copies are due: a target has left the fleet, or replicas have none."""
    there = [target for target in spec.clusters if not is_unjoined(fleet.get(target.name))]
    is_missing = spec.is_divided and sum(target.replicas for target in there) < spec.replicas
    return is_missing or len(there) < max(1, len(spec.clusters))


def find_partial_replacement(
    binding: Binding,
    spec: ResourceBindingSpec,
    leaving: Collection[str],
    fleet: ClusterArrays,
    now: datetime,
    upto: ClusterRank = ClusterRank.TRIED,
) -> tuple[Placed, Mapping[str, int]] | None:
    """A place for as many replicas of `leaving` as find one, where there is none for all, and how many stay in which.

    They stay in clusters that are alive first, where they are of use. None where no replica finds a place.
    """
    there = sorted(spec.clusters, key=lambda target: (is_copy_lost(fleet.get(target.name)), target.name))
    counts = {target.name: target.replicas for target in there if target.name in leaving}
    total, own = sum(counts.values()), dict.fromkeys(leaving, ClusterRank.OWN)

    def find(moved: int) -> tuple[Placed, Mapping[str, int]] | None:
        staying = first_of(counts, total - moved)
        kept = with_counts(spec, dict.fromkeys(leaving, 0) | staying)
        result = find_replacement(binding, kept, fleet, now, own, upto)
        return (result, staying) if isinstance(result, Placed) else None

    return most_of(total - 1, find) if spec.is_divided else None


def resized_between_terms(
    binding: Binding, spec: ResourceBindingSpec, returned: Collection[str], fleet: ClusterArrays, now: datetime
) -> Placed | Unplaceable:
    """Placement for another number of replicas while a failback is between two affinity terms.

    More are added to those that are there. Fewer are taken first where they have `returned` to: the place that they
    came from is known to serve (S1)."""
    surplus = sum(target.replicas for target in spec.clusters) - spec.replicas
    if surplus <= 0:
        return find_replacement(binding, spec, fleet, now)
    there = sorted(spec.clusters, key=lambda target: (target.name not in returned, -target.replicas, target.name))
    taken = first_of({target.name: target.replicas for target in there}, surplus)
    left = with_counts(spec, {target.name: target.replicas - taken.get(target.name, 0) for target in there})
    return Placed(left.clusters, binding.status.scheduler_observing_affinity_name)


class _Cost(NamedTuple):
    """Cost of a result: replicas that clusters which look dead gain, and that others lose. `is_total`: nothing that is
    alive is left. Of copies that are not divided each counts as one."""

    is_total: bool
    replicas: int


def _cost(spec: ResourceBindingSpec, result: Targets, fleet: Mapping[str, Cluster]) -> _Cost:
    before, after = _counts(spec, spec.clusters), _counts(spec, result)
    gained = sum(count for name, count in (after - before).items() if _is_dead(fleet.get(name)))
    lost = sum(count for name, count in (before - after).items() if not is_copy_lost(fleet.get(name)))
    return _Cost(bool(lost) and all(is_copy_lost(fleet.get(name)) for name in +after), gained + lost)


def _is_better(spec: ResourceBindingSpec, spared: Placed, cost: _Cost, fleet: ClusterArrays) -> bool:
    """Tells whether a result that spares the living costs less, and is a placement as the policy asks for."""
    is_less = _cost(spec, spared.clusters, fleet) < cost
    return is_less and is_spread(msgspec.structs.replace(spec, clusters=spared.clusters), fleet)


def _ways_to_spare(
    spec: ResourceBindingSpec, fleet: Mapping[str, Cluster], leaving: Collection[str]
) -> Iterator[tuple[ResourceBindingSpec, dict[str, ClusterRank]]]:
    """Questions to ask instead, in their order, with the ranks of dead clusters.

    Dead targets of a divided binding keep as many replicas as are wanted beyond those that are alive or `leaving`, or
    none. Undivided copies stay in dead clusters, or else are nowhere there.
    """
    dead = {name for name, cluster in fleet.items() if _is_dead(cluster)}
    never = dict.fromkeys(dead, ClusterRank.NEVER)
    there = {t.name: t.replicas for t in spec.clusters if not is_unjoined(fleet.get(t.name))}
    if spec.is_divided:
        of_dead = {name: there[name] for name in sorted(there) if name in dead.difference(leaving)}
        kept = first_of(of_dead, spec.replicas - sum(there.values()) + sum(of_dead.values()))
        yield with_counts(spec, kept), {**never, **dict.fromkeys(kept, ClusterRank.KEPT)}
    else:
        yield spec, {name: rank for name, rank in never.items() if name not in there}
    yield spec, never


def most_of(count: int, find: Callable[[int], Found | None]) -> Found | None:
    """Finds as many of `count` as can be found, by halving: a question for each bit of their number."""
    found, fits, too_many = None, 0, count + 1
    while too_many - fits > 1:
        middle = (fits + too_many) // 2
        if (outcome := find(middle)) is None:
            too_many = middle
        else:
            found, fits = outcome, middle
    return found


def first_of(counts: Mapping[str, int], count: int) -> dict[str, int]:
    """Takes `count` of these replicas, cluster by cluster."""
    found: dict[str, int] = {}
    for name, replicas in counts.items():
        if taken := max(0, min(count, replicas)):
            found[name] = taken
            count -= taken
    return found


def with_counts(spec: ResourceBindingSpec, counts: Mapping[str, int]) -> ResourceBindingSpec:
    """The spec with so many replicas in these targets; a target of none is left out."""
    targets = (msgspec.structs.replace(t, replicas=counts.get(t.name, t.replicas)) for t in spec.clusters)
    return msgspec.structs.replace(spec, clusters=tuple(target for target in targets if target.replicas))


def _counts(spec: ResourceBindingSpec, targets: Targets) -> Counter[str]:
    return Counter({target.name: target.replicas if spec.is_divided else 1 for target in targets})


def _is_dead(cluster: Cluster | None) -> bool:
    return cluster is not None and not cluster.is_being_deleted and looks_dead(cluster)
