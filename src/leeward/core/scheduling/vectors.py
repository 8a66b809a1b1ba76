"""The pipeline for one affinity term, on arrays: thousands of clusters at once.

Common steps are computed on whole arrays: filters, estimates, selection without constraints or by cluster, and all ways
of dividing. Rare ones (groups, overflow tiers, sets of components, foreign plug-ins) go on cluster by cluster from the
candidates that the arrays have found.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from leeward.api.policy import SpreadConstraint
from leeward.core.scheduling.candidates import Candidates
from leeward.core.scheduling.cluster_arrays import ClusterArrays, ClusterView, Feasibility
from leeward.core.scheduling.division import names_descend
from leeward.core.scheduling.locality import CLUSTER_LOCALITY
from leeward.core.scheduling.model import Placed, Rejection, Request, Unplaceable
from leeward.core.scheduling.selection import divides, ignores_constraints, room_decides
from leeward.core.scheduling.spread_fields import cluster_constraint
from leeward.core.scheduling.steps import as_they_are, finish, first_rejection, fit_message, not_assigned, reasons_of
from leeward.core.scheduling.trace import TermTrace
from leeward.core.scheduling.vector_allocation import Bools, listed
from leeward.core.scheduling.vector_division import assign_in_bulk
from leeward.core.scheduling.vector_groups import best_by_group


def place(request: Request, view: ClusterView) -> Placed | Unplaceable:
    """The pipeline for the one affinity term that the request has in view. Claims are a preference: where they leave no
    place, they count for nothing."""
    outcome = _place(request, view)
    if not request.claims or isinstance(outcome, Placed):
        return outcome
    return _place(replace(request, claims={}), view)


def _place(request: Request, view: ClusterView) -> Placed | Unplaceable:
    arrays = view.arrays
    if request.trace is not None or not _is_common(request, arrays):
        return _find(request, view)
    key = _question(request, view)
    return arrays.answer(key, room_decides(request.placement), lambda: _find(request, view))


def _question(request: Request, view: ClusterView) -> tuple[object, ...]:
    """Key of everything besides the arrays on which the answer depends. Held by the decision replay of histories, which
    asks anew for each decision (tests/sim/test_decision_replay.py)."""
    spec = request.spec
    requirements = spec.replica_requirements
    return (
        request.placement_key,
        spec.replicas,
        None if requirements is None else tuple(sorted(requirements.resource_request.items())),
        tuple(request.assigned.items()),
        request.evicted_from,
        names_descend(spec.resource.uid),
        request.is_fresh,
        request.keep_assigned,
        request.propagate_empty_workloads,
        request.is_set,
        repr(spec.components),
        tuple(sorted(request.claims.items())),
        tuple(cluster.name for cluster in request.beside),
        None if view.allowed is None else view.allowed.tobytes(),
    )


def _is_common(request: Request, arrays: ClusterArrays) -> bool:
    """Tells whether the answer follows from the arrays alone."""
    profile = arrays.profile
    return (
        profile.scores == (CLUSTER_LOCALITY,)
        and not any(plugin.concerns(request) for plugin in profile.own_filters)
        and all(each.estimate(request) is None for each in profile.estimators)
    )


def _find(request: Request, view: ClusterView) -> Placed | Unplaceable:
    arrays, feasibility = view.arrays, view.arrays.feasibility(request)
    feasible = _feasible(request, view, feasibility)
    rows = np.flatnonzero(feasible)
    if request.trace is not None:
        request.trace.claims = dict(request.claims)
        request.trace.note_rejections(_rejections(request, view, feasibility))
    if not len(rows):
        rejected = reasons_of(_rejections(request, view, feasibility))
        return Unplaceable("FitError", fit_message(len(view), rejected), rejected)
    found = Candidates.of(request, arrays, rows)
    selected = _select(request, arrays, feasibility, found) if _is_plain(request) else None
    if selected is not None and request.trace is not None:
        _note_selection(request.trace, arrays, feasibility, found, selected)
    if selected is None:
        candidates = [found.candidate(arrays, feasibility, at) for at in range(len(rows))]
        return finish(request, candidates, lambda: reasons_of(_rejections(request, view, feasibility)))
    if not request.has_replicas:
        return Placed(as_they_are(request, (arrays.names[row] for row in listed(selected.rows))), request.affinity_name)
    targets = assign_in_bulk(request, arrays, feasibility, selected)
    if isinstance(targets, Unplaceable):
        return not_assigned(targets, reasons_of(_rejections(request, view, feasibility)))
    return Placed(targets, request.affinity_name)


def _feasible(request: Request, view: ClusterView, feasibility: Feasibility) -> Bools:
    """Clusters that the binding has or leaves, and filters of its own, are asked about one by one."""
    arrays = view.arrays
    feasible = feasibility.feasible.copy() if view.allowed is None else feasibility.feasible & view.allowed
    for row in _touched(request, arrays):
        cluster = arrays.clusters[row]
        if not cluster.is_being_deleted and (view.allowed is None or view.allowed[row]):
            feasible[row] = first_rejection(request, cluster, arrays.profile.shared_filters) is None
    own = [plugin for plugin in arrays.profile.own_filters if plugin.concerns(request)]
    for row in np.flatnonzero(feasible) if own else ():
        feasible[row] = first_rejection(request, arrays.clusters[row], own) is None
    return feasible


def _touched(request: Request, arrays: ClusterArrays) -> list[int]:
    names = {*request.assigned, *request.evicted_from}
    return [arrays.rows[name] for name in names if name in arrays.rows]


def _note_selection(
    trace: TermTrace, arrays: ClusterArrays, feasibility: Feasibility, found: Candidates, selected: Candidates
) -> None:
    trace.note_candidates(found.candidate(arrays, feasibility, at) for at in listed(found.order))
    order = found.order if selected.turn is None else np.argsort(selected.turn)
    trace.selected = tuple(arrays.names[row] for row in listed(selected.rows[order]))


def _rejections(request: Request, view: ClusterView, feasibility: Feasibility) -> Mapping[str, Rejection]:
    """First rejection of each cluster that is refused."""
    arrays, touched = view.arrays, set(_touched(request, view.arrays))
    rejections: dict[str, Rejection] = {}
    for row, cluster in enumerate(arrays.clusters):
        if cluster.is_being_deleted or not (view.allowed is None or view.allowed[row]):
            continue
        known = (
            first_rejection(request, cluster, arrays.profile.shared_filters)
            if row in touched
            else feasibility.rejections[row]
        )
        rejection = known or first_rejection(request, cluster, arrays.profile.own_filters)
        if rejection is not None:
            rejections[cluster.name] = rejection
    return rejections


def _is_plain(request: Request) -> bool:
    """Tells whether nothing is asked for that has to be looked at cluster by cluster."""
    overflows = request.term is not None and request.term.overflow_affinities is not None
    return not (request.is_set or overflows or request.propagate_empty_workloads)


def _select(request: Request, arrays: ClusterArrays, feasibility: Feasibility, found: Candidates) -> Candidates | None:
    """All, or the best by a constraint over clusters or groups; None when more has to be looked at."""
    constraints = request.placement.spread_constraints
    if not constraints or ignores_constraints(request.placement.replica_scheduling):
        return found
    cluster = cluster_constraint(constraints)
    if not feasibility.groupings:
        return None if cluster is None else _best(request, found, cluster)
    codes = feasibility.group_codes
    if codes is None or request.beside:
        return None
    inside = codes[0][found.rows], codes[1]
    numbers = (found.available, found.score, found.kept, found.claims)
    chosen = best_by_group(request, feasibility.groupings[0], cluster, inside, found.order, *numbers)
    if chosen is not None and request.trace is not None:
        grouping, at_least = feasibility.groupings[0], cluster.min_groups if cluster else 0
        candidates = [found.candidate(arrays, feasibility, at) for at in listed(chosen)]
        request.trace.groups = {grouping.title: grouping.weights(request, candidates, at_least)}
    return None if chosen is None else found.at(chosen)


def _best(request: Request, found: Candidates, constraint: SpreadConstraint) -> Candidates | None:
    if len(found.rows) < constraint.min_groups:
        return None
    best = found.at(found.order[: max(0, constraint.max_groups)])
    if divides(request.placement.replica_scheduling) and int(best.available.sum()) < request.needed:
        return None
    return best
