"""The pipeline on the arrays of a fleet: the same answers as one cluster at a time, thousands of clusters at once.

What is common is computed on whole arrays: filters, estimates, selection without constraints or by cluster, and all
ways of dividing. What is rare (groups, overflow tiers, sets of components, foreign plug-ins) goes on cluster by cluster
from the candidates that the arrays have found.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from leeward.api.policy import SpreadConstraint
from leeward.api.work import TargetCluster
from leeward.core.scheduling.assignment import Mode, mode_of, share_out, too_little_room
from leeward.core.scheduling.bulk import Ints, allocate, listed
from leeward.core.scheduling.capacity import MAX_REPLICAS
from leeward.core.scheduling.division import names_descend
from leeward.core.scheduling.estimation import GENERAL_ESTIMATOR
from leeward.core.scheduling.fleet import Fleet, FleetView
from leeward.core.scheduling.locality import CLUSTER_LOCALITY, MAX_SCORE
from leeward.core.scheduling.model import Candidate, Placed, Request, Unplaceable
from leeward.core.scheduling.selection import divides, ignores_constraints
from leeward.core.scheduling.steps import as_they_are, failed_to_assign, finish, first_rejection, fit_message
from leeward.core.scheduling.survey import Bools, Survey, survey_key
from leeward.core.scheduling.vector_groups import best_by_group


def place_in_bulk(request: Request, view: FleetView) -> Placed | Unplaceable:
    """The pipeline for the one affinity term that the request has in view."""
    fleet = view.fleet
    if not _is_common(fleet):
        return _place(request, view)
    key = _question(request, view)
    return fleet.answer(key, _depends_on_room(request), lambda: _place(request, view))


def _question(request: Request, view: FleetView) -> tuple[object, ...]:
    """All that the answer depends on besides the fleet."""
    spec = request.spec
    requirements = spec.replica_requirements
    return (
        survey_key(request),
        spec.replicas,
        None if requirements is None else tuple(sorted(requirements.resource_request.items())),
        tuple(request.assigned.items()),
        request.evicted_from,
        names_descend(spec.resource.uid),
        request.is_fresh,
        request.keep_assigned,
        request.propagate_empty_workloads,
        request.is_set,
        repr(spec.components) if spec.components else "",
        None if view.allowed is None else view.allowed.tobytes(),
    )


def _depends_on_room(request: Request) -> bool:
    placement = request.placement
    if placement.spread_constraints and not ignores_constraints(placement.replica_scheduling):
        return True
    if request.term is not None and request.term.overflow_affinities is not None:
        return True
    return mode_of(placement.replica_scheduling) not in ("Duplicated", "StaticWeight")


def _is_common(fleet: Fleet) -> bool:
    profile = fleet.profile
    return (
        not fleet.own_filters and profile.scores == (CLUSTER_LOCALITY,) and profile.estimators == (GENERAL_ESTIMATOR,)
    )


def _place(request: Request, view: FleetView) -> Placed | Unplaceable:
    fleet, survey = view.fleet, view.fleet.survey(request)
    feasible = _feasible(request, view, survey)
    rows = np.flatnonzero(feasible)
    if not len(rows):
        rejected = _rejections(request, view, survey)
        return Unplaceable("FitError", fit_message(len(view), rejected), rejected)
    found = _Found.of(request, fleet, rows)
    selected = _select(request, survey, found) if _is_plain(request, survey, found) else None
    if selected is None:
        candidates = [found.candidate(fleet, survey, at) for at in range(len(rows))]
        return finish(request, candidates, lambda: _rejections(request, view, survey))
    if not request.has_replicas:
        return Placed(as_they_are(request, (fleet.names[row] for row in listed(selected.rows))), request.affinity_name)
    targets = _assign(request, fleet, survey, selected)
    if isinstance(targets, Unplaceable):
        return failed_to_assign(targets, _rejections(request, view, survey))
    return Placed(targets, request.affinity_name)


def _feasible(request: Request, view: FleetView, survey: Survey) -> Bools:
    """Clusters that the binding has or leaves, and filters of its own, are asked about one by one."""
    fleet = view.fleet
    feasible = survey.feasible.copy() if view.allowed is None else survey.feasible & view.allowed
    for row in _touched(request, fleet):
        cluster = fleet.clusters[row]
        if not cluster.is_being_deleted and (view.allowed is None or view.allowed[row]):
            feasible[row] = first_rejection(request, cluster, fleet.shared_filters) is None
    for row in np.flatnonzero(feasible) if fleet.own_filters else ():
        feasible[row] = first_rejection(request, fleet.clusters[row], fleet.own_filters) is None
    return feasible


def _touched(request: Request, fleet: Fleet) -> list[int]:
    names = {*request.assigned, *request.evicted_from}
    return [fleet.rows[name] for name in names if name in fleet.rows]


def _rejections(request: Request, view: FleetView, survey: Survey) -> Mapping[str, str]:
    """The first reason of each cluster that is refused."""
    fleet, touched = view.fleet, set(_touched(request, view.fleet))
    reasons: dict[str, str] = {}
    for row, cluster in enumerate(fleet.clusters):
        if cluster.is_being_deleted or not (view.allowed is None or view.allowed[row]):
            continue
        known = first_rejection(request, cluster, fleet.shared_filters) if row in touched else survey.reasons[row]
        reason = known or first_rejection(request, cluster, fleet.own_filters)
        if reason is not None:
            reasons[cluster.name] = reason
    return reasons


@dataclass(slots=True)
class _Found:
    """The clusters that passed the filters, in the order of their names; `turn` is who comes first on a tie."""

    rows: Ints
    room: Ints
    assigned: Ints
    score: Ints
    turn: Ints | None = None

    @staticmethod
    def of(request: Request, fleet: Fleet, rows: Ints) -> "_Found":
        assigned, score = np.zeros(len(rows), dtype=np.int64), np.zeros(len(rows), dtype=np.int64)
        for name, replicas in request.assigned.items():
            row = fleet.rows.get(name)
            at = -1 if row is None else int(np.searchsorted(rows, row))
            if 0 <= at < len(rows) and rows[at] == row:
                assigned[at], score[at] = replicas, MAX_SCORE
        if fleet.profile.scores != (CLUSTER_LOCALITY,):
            score = np.array([_score(request, fleet, row) for row in rows], dtype=np.int64)
        return _Found(rows, _room(request, fleet, rows), assigned, score)

    @property
    def available(self) -> Ints:
        return self.room + self.assigned

    def at(self, chosen: Ints) -> "_Found":
        """Only the chosen ones, in the order of their names; they take their turns as they are given."""
        turn = np.argsort(chosen)
        at = chosen[turn]
        return _Found(self.rows[at], self.room[at], self.assigned[at], self.score[at], turn)

    def candidate(self, fleet: Fleet, survey: Survey, at: int) -> Candidate:
        row = int(self.rows[at])
        numbers = (int(survey.tiers[row]), int(self.score[at]), int(self.room[at]), int(self.assigned[at]))
        return Candidate(fleet.clusters[row], *numbers)


def _score(request: Request, fleet: Fleet, row: int) -> int:
    return sum(plugin.score(request, fleet.clusters[row]) for plugin in fleet.profile.scores)


def _room(request: Request, fleet: Fleet, rows: Ints) -> Ints:
    """The lowest estimate, with what was promised to others taken off."""
    spec = request.spec
    if spec.replicas == 0 and not spec.components:
        return np.full(len(rows), MAX_REPLICAS, dtype=np.int64)
    room = np.full(len(rows), MAX_REPLICAS, dtype=np.int64)
    for estimator in fleet.profile.estimators:
        if estimator is not GENERAL_ESTIMATOR:
            ask = estimator.estimate_sets if request.is_set else estimator.estimate
            estimates = np.array([ask(spec, fleet.clusters[row]) for row in listed(rows)], dtype=np.int64)
        elif request.is_set:
            found = [fleet.ledger.sets(fleet.names[row], spec.components) for row in listed(rows)]
            estimates = np.array(found, dtype=np.int64)
        else:
            estimates = fleet.room(request)[rows]
        room = np.minimum(room, estimates)
    return np.where(room == MAX_REPLICAS, spec.replicas, room)


def _is_plain(request: Request, survey: Survey, found: _Found) -> bool:
    """Whether nothing is asked for that has to be looked at cluster by cluster."""
    overflows = request.term is not None and request.term.overflow_affinities is not None
    if request.is_set or overflows or request.propagate_empty_workloads:
        return False
    return not survey.tiers[found.rows].any()


def _select(request: Request, survey: Survey, found: _Found) -> _Found | None:
    """All, or the best by a constraint over clusters or groups; None when more has to be looked at."""
    constraints = request.placement.spread_constraints
    if not constraints or ignores_constraints(request.placement.replica_scheduling):
        return found
    cluster = next((c for c in reversed(constraints) if c.spread_by_field == "cluster"), None)
    if not survey.groupings:
        return None if cluster is None else _best(request, found, cluster)
    codes = survey.group_codes() if len(survey.groupings) == 1 else None
    if codes is None:
        return None
    order = np.lexsort((-found.available, -found.score))
    inside = codes[0][found.rows], codes[1]
    numbers = (found.available, found.score, found.assigned)
    chosen = best_by_group(request, survey.groupings[0], cluster, inside, order, *numbers)
    return None if chosen is None else found.at(chosen)


def _best(request: Request, found: _Found, constraint: SpreadConstraint) -> _Found | None:
    if len(found.rows) < constraint.min_groups:
        return None
    order = np.lexsort((-found.available, -found.score))[: max(0, constraint.max_groups)]
    best = found.at(order)
    if divides(request.placement.replica_scheduling) and int(best.available.sum()) < request.needed:
        return None
    return best


def _assign(
    request: Request, fleet: Fleet, survey: Survey, selected: _Found
) -> tuple[TargetCluster, ...] | Unplaceable:
    mode = mode_of(request.placement.replica_scheduling)
    if isinstance(mode, Unplaceable):
        return mode
    replicas = _replicas(mode, request, survey, fleet, selected)
    if isinstance(replicas, Unplaceable):
        return replicas
    some = np.flatnonzero(replicas)
    rows, counts = listed(selected.rows[some]), listed(replicas[some])
    return tuple(TargetCluster(fleet.names[row], count) for row, count in zip(rows, counts, strict=True))


def _replicas(mode: Mode, request: Request, survey: Survey, fleet: Fleet, selected: _Found) -> Ints | Unplaceable:
    match mode:
        case "Duplicated":
            return np.full(len(selected.rows), request.spec.replicas, dtype=np.int64)
        case "StaticWeight":
            return _by_static_weight(request, survey, selected)
        case _:
            return _by_room(request, fleet, selected, aggregated=mode == "Aggregated")


def _by_static_weight(request: Request, survey: Survey, selected: _Found) -> Ints:
    weights = survey.weights[selected.rows]
    if not weights.any():
        weights = np.ones_like(weights)
    missing = request.spec.replicas - int(selected.assigned.sum())
    if request.keep_assigned and missing >= 0:
        return _divide(request, missing, weights, selected.assigned)
    return _divide(request, request.spec.replicas, weights, np.zeros_like(weights))


def _by_room(request: Request, fleet: Fleet, selected: _Found, aggregated: bool) -> Ints | Unplaceable:
    replicas, assigned = request.spec.replicas, int(selected.assigned.sum())
    nothing = np.zeros_like(selected.assigned)
    if request.is_fresh:
        weights = selected.available
        if int(weights.sum()) < replicas:
            return too_little_room(int(weights.sum()), "do fresh scale")
        return _divide(request, replicas, _fewest(replicas, weights, selected, nothing, aggregated), nothing)
    if assigned > replicas:
        return _scale_down(request, fleet, selected, aggregated)
    if assigned == replicas:
        return selected.assigned
    missing, weights = replicas - assigned, selected.room
    if int(weights.sum()) < missing:
        return too_little_room(int(weights.sum()), "scale up")
    weights = _fewest(missing, weights, selected, selected.assigned, aggregated)
    return selected.assigned + _divide(request, missing, weights, nothing)


def _fewest(target: int, weights: Ints, selected: _Found, used: Ints, aggregated: bool) -> Ints:
    """For Aggregated the weights of the first clusters that together have room: those in use, then the roomiest."""
    if not aggregated:
        return weights
    ties = (-selected.available, -selected.score) if selected.turn is None else (selected.turn,)
    order = np.lexsort((*ties, -weights, used == 0))
    enough = int(np.searchsorted(np.cumsum(weights[order]), target)) + 1
    chosen = np.zeros_like(weights)
    chosen[order[:enough]] = weights[order[:enough]]
    return chosen


def _scale_down(request: Request, fleet: Fleet, selected: _Found, aggregated: bool) -> Ints | Unplaceable:
    rows = {fleet.names[row]: at for at, row in enumerate(listed(selected.rows)) if selected.assigned[at]}
    scheduled = {name: count for name, count in request.assigned.items() if name in rows}
    shares = share_out("scale down", request, request.spec.replicas, scheduled, (), aggregated)
    if isinstance(shares, Unplaceable):
        return shares
    replicas = np.zeros_like(selected.assigned)
    for name, count in shares.items():
        replicas[rows[name]] = count
    return replicas


def _divide(request: Request, replicas: int, weights: Ints, initial: Ints) -> Ints:
    """As `division.divide`, for weights of which some are above 0."""
    parties = np.flatnonzero(weights > 0)
    if not len(parties) or (replicas == 0 and initial.any()):
        return initial
    result = initial.copy()
    descend = names_descend(request.spec.resource.uid)
    result[parties] = allocate(replicas, weights[parties], initial[parties], descend)
    return result
