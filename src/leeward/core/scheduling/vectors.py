"""The pipeline on the arrays of a fleet: the same answers as one cluster at a time, thousands of clusters at once.

What is common is computed on whole arrays: filters, estimates, selection without constraints or by cluster, and all
ways of dividing. What is rare (groups, overflow tiers, sets of components, foreign plug-ins) goes on cluster by cluster
from the candidates that the arrays have found.
"""

from collections.abc import Mapping

import numpy as np

from leeward.api.policy import SpreadConstraint
from leeward.core.scheduling.bulk import Bools, listed
from leeward.core.scheduling.division import names_descend
from leeward.core.scheduling.estimation import GENERAL_ESTIMATOR
from leeward.core.scheduling.fleet import Fleet, FleetView
from leeward.core.scheduling.found import Found
from leeward.core.scheduling.locality import CLUSTER_LOCALITY
from leeward.core.scheduling.model import Placed, Rejection, Request, Unplaceable
from leeward.core.scheduling.selection import divides, ignores_constraints, room_decides
from leeward.core.scheduling.steps import (
    as_they_are,
    failed_to_assign,
    finish,
    first_rejection,
    fit_message,
    reasons_of,
)
from leeward.core.scheduling.survey import Survey, survey_key
from leeward.core.scheduling.trace import TermTrace
from leeward.core.scheduling.vector_division import assign_in_bulk
from leeward.core.scheduling.vector_groups import best_by_group


def place_in_bulk(request: Request, view: FleetView) -> Placed | Unplaceable:
    """The pipeline for the one affinity term that the request has in view."""
    fleet = view.fleet
    if request.trace is not None or not _is_common(request, fleet):
        return _place(request, view)
    key = _question(request, view)
    return fleet.answer(key, room_decides(request.placement), lambda: _place(request, view))


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


def _is_common(request: Request, fleet: Fleet) -> bool:
    """Whether the answer follows from the fleet's arrays alone."""
    profile = fleet.profile
    return (
        profile.scores == (CLUSTER_LOCALITY,)
        and not any(plugin.concerns(request) for plugin in fleet.own_filters)
        and all(each is GENERAL_ESTIMATOR or each.estimate(request) is None for each in profile.estimators)
    )


def _place(request: Request, view: FleetView) -> Placed | Unplaceable:
    fleet, survey = view.fleet, view.fleet.survey(request)
    feasible = _feasible(request, view, survey)
    rows = np.flatnonzero(feasible)
    if request.trace is not None:
        request.trace.note_rejections(_rejections(request, view, survey))
    if not len(rows):
        rejected = reasons_of(_rejections(request, view, survey))
        return Unplaceable("FitError", fit_message(len(view), rejected), rejected)
    found = Found.of(request, fleet, rows)
    selected = _select(request, fleet, survey, found) if _is_plain(request, survey, found) else None
    if selected is not None and request.trace is not None:
        _note_selection(request.trace, fleet, survey, found, selected)
    if selected is None:
        candidates = [found.candidate(fleet, survey, at) for at in range(len(rows))]
        return finish(request, candidates, lambda: reasons_of(_rejections(request, view, survey)))
    if not request.has_replicas:
        return Placed(as_they_are(request, (fleet.names[row] for row in listed(selected.rows))), request.affinity_name)
    targets = assign_in_bulk(request, fleet, survey, selected)
    if isinstance(targets, Unplaceable):
        return failed_to_assign(targets, reasons_of(_rejections(request, view, survey)))
    return Placed(targets, request.affinity_name)


def _feasible(request: Request, view: FleetView, survey: Survey) -> Bools:
    """Clusters that the binding has or leaves, and filters of its own, are asked about one by one."""
    fleet = view.fleet
    feasible = survey.feasible.copy() if view.allowed is None else survey.feasible & view.allowed
    for row in _touched(request, fleet):
        cluster = fleet.clusters[row]
        if not cluster.is_being_deleted and (view.allowed is None or view.allowed[row]):
            feasible[row] = first_rejection(request, cluster, fleet.shared_filters) is None
    own = [plugin for plugin in fleet.own_filters if plugin.concerns(request)]
    for row in np.flatnonzero(feasible) if own else ():
        feasible[row] = first_rejection(request, fleet.clusters[row], own) is None
    return feasible


def _touched(request: Request, fleet: Fleet) -> list[int]:
    names = {*request.assigned, *request.evicted_from}
    return [fleet.rows[name] for name in names if name in fleet.rows]


def _note_selection(trace: TermTrace, fleet: Fleet, survey: Survey, found: Found, selected: Found) -> None:
    trace.note_candidates(found.candidate(fleet, survey, at) for at in listed(found.order))
    order = found.order if selected.turn is None else np.argsort(selected.turn)
    trace.selected = tuple(fleet.names[row] for row in listed(selected.rows[order]))


def _rejections(request: Request, view: FleetView, survey: Survey) -> Mapping[str, Rejection]:
    """What refuses each cluster first."""
    fleet, touched = view.fleet, set(_touched(request, view.fleet))
    rejections: dict[str, Rejection] = {}
    for row, cluster in enumerate(fleet.clusters):
        if cluster.is_being_deleted or not (view.allowed is None or view.allowed[row]):
            continue
        known = first_rejection(request, cluster, fleet.shared_filters) if row in touched else survey.rejections[row]
        rejection = known or first_rejection(request, cluster, fleet.own_filters)
        if rejection is not None:
            rejections[cluster.name] = rejection
    return rejections


def _is_plain(request: Request, survey: Survey, found: Found) -> bool:
    """Whether nothing is asked for that has to be looked at cluster by cluster."""
    overflows = request.term is not None and request.term.overflow_affinities is not None
    if request.is_set or overflows or request.propagate_empty_workloads:
        return False
    return not survey.tiers[found.rows].any()


def _select(request: Request, fleet: Fleet, survey: Survey, found: Found) -> Found | None:
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
    inside = codes[0][found.rows], codes[1]
    numbers = (found.available, found.score, found.kept)
    chosen = best_by_group(request, survey.groupings[0], cluster, inside, found.order, *numbers)
    if chosen is not None and request.trace is not None:
        grouping, at_least = survey.groupings[0], cluster.min_groups if cluster else 0
        candidates = [found.candidate(fleet, survey, at) for at in listed(chosen)]
        request.trace.groups = {grouping.title: grouping.weights(request, candidates, at_least)}
    return None if chosen is None else found.at(chosen)


def _best(request: Request, found: Found, constraint: SpreadConstraint) -> Found | None:
    if len(found.rows) < constraint.min_groups:
        return None
    best = found.at(found.order[: max(0, constraint.max_groups)])
    if divides(request.placement.replica_scheduling) and int(best.available.sum()) < request.needed:
        return None
    return best
