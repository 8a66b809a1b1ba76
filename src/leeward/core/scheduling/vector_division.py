"""Divide on arrays: the same shares as `assignment` gives, for clusters of one tier."""

import numpy as np

from leeward.api.work import TargetCluster
from leeward.core.scheduling.assignment import Mode, mode_of, share_out, too_little_room
from leeward.core.scheduling.candidates import Candidates
from leeward.core.scheduling.cluster_arrays import ClusterArrays, Feasibility
from leeward.core.scheduling.division import names_descend
from leeward.core.scheduling.model import Request, Unplaceable
from leeward.core.scheduling.trace import DivisionTrace
from leeward.core.scheduling.vector_allocation import Ints, allocate, listed


def assign_in_bulk(
    request: Request, arrays: ClusterArrays, feasibility: Feasibility, selected: Candidates
) -> tuple[TargetCluster, ...] | Unplaceable:
    mode = mode_of(request.placement.replica_scheduling)
    if isinstance(mode, Unplaceable):
        return mode
    replicas = _replicas(mode, request, feasibility, arrays, selected)
    if isinstance(replicas, Unplaceable):
        return replicas
    some = np.flatnonzero(replicas)
    rows, counts = listed(selected.rows[some]), listed(replicas[some])
    return tuple(TargetCluster(arrays.names[row], count) for row, count in zip(rows, counts, strict=True))


def _replicas(
    mode: Mode, request: Request, feasibility: Feasibility, arrays: ClusterArrays, selected: Candidates
) -> Ints | Unplaceable:
    match mode:
        case "Duplicated":
            return np.full(len(selected.rows), request.spec.replicas, dtype=np.int64)
        case "StaticWeight":
            return _by_static_weight(request, arrays, feasibility, selected)
        case _:
            return _by_room(request, arrays, selected, aggregated=mode == "Aggregated")


def _by_static_weight(request: Request, arrays: ClusterArrays, feasibility: Feasibility, selected: Candidates) -> Ints:
    weights = feasibility.weights[selected.rows]
    if not weights.any():
        weights = np.ones_like(weights)
    missing = request.spec.replicas - int(selected.assigned.sum())
    if request.keep_assigned and missing >= 0:
        return _divide(request, arrays, selected, missing, weights, selected.assigned)
    return _divide(request, arrays, selected, request.spec.replicas, weights, np.zeros_like(weights))


def _by_room(request: Request, arrays: ClusterArrays, selected: Candidates, aggregated: bool) -> Ints | Unplaceable:
    replicas, assigned = request.spec.replicas, int(selected.assigned.sum())
    nothing = np.zeros_like(selected.assigned)
    if request.is_fresh:
        weights = selected.available
        if int(weights.sum()) < replicas:
            return too_little_room(int(weights.sum()), "do fresh scale")
        weights = _fewest(replicas, weights, selected, nothing, aggregated)
        first = _first_seats(replicas, weights, selected, nothing)
        return _divide(request, arrays, selected, replicas, weights, nothing, first)
    if assigned > replicas:
        return _scale_down(request, arrays, selected, aggregated)
    if assigned == replicas:
        return selected.assigned
    missing, weights = replicas - assigned, selected.room
    if int(weights.sum()) < missing:
        return too_little_room(int(weights.sum()), "scale up")
    weights = _fewest(missing, weights, selected, selected.assigned, aggregated)
    first = _first_seats(missing, weights, selected, selected.assigned)
    return selected.assigned + _divide(request, arrays, selected, missing, weights, nothing, first)


def _first_seats(replicas: int, weights: Ints, selected: Candidates, used: Ints) -> Ints | None:
    """One replica for each cluster that holds claims and has none, as long as there are any, see `division`."""
    lacking = np.flatnonzero((selected.claims > 0) & (weights > 0) & (used == 0))
    if not len(lacking):
        return None
    seats = np.zeros_like(weights)
    seats[lacking[np.argsort(-selected.claims[lacking], kind="stable")][:replicas]] = 1
    return seats


def _fewest(target: int, weights: Ints, selected: Candidates, used: Ints, aggregated: bool) -> Ints:
    """Weights, for Aggregated, of the first clusters that together have room: those in use, then those with claims,
    then the roomiest."""
    if not aggregated:
        return weights
    ties = (-selected.available, -selected.score) if selected.turn is None else (selected.turn,)
    order = np.lexsort((*ties, -weights, -selected.claims, used == 0))
    enough = int(np.searchsorted(np.cumsum(weights[order]), target)) + 1
    chosen = np.zeros_like(weights)
    chosen[order[:enough]] = weights[order[:enough]]
    return chosen


def _scale_down(request: Request, arrays: ClusterArrays, selected: Candidates, aggregated: bool) -> Ints | Unplaceable:
    rows = {arrays.names[row]: at for at, row in enumerate(listed(selected.rows)) if selected.assigned[at]}
    scheduled = {name: count for name, count in request.assigned.items() if name in rows}
    shares = share_out("scale down", request, request.spec.replicas, scheduled, (), aggregated)
    if isinstance(shares, Unplaceable):
        return shares
    replicas = np.zeros_like(selected.assigned)
    for name, count in shares.items():
        replicas[rows[name]] = count
    return replicas


def _divide(
    request: Request,
    arrays: ClusterArrays,
    selected: Candidates,
    replicas: int,
    weights: Ints,
    initial: Ints,
    first: Ints | None = None,
) -> Ints:
    """Divides as `division.divide`; where there is something to divide, some weights are above 0."""
    if not replicas:
        return initial
    parties = np.flatnonzero(weights > 0)
    result = initial.copy() if first is None else initial + first
    more = replicas - int(result.sum() - initial.sum())
    descend = names_descend(request.spec.resource.uid)
    if (claims := selected.claims[parties]).any():
        names = -parties if descend else parties
        parties, descend = parties[np.lexsort((names, -claims))], False
    result[parties] = allocate(more, weights[parties], result[parties], descend)
    if request.trace is not None:
        names = [arrays.names[row] for row in listed(selected.rows[parties])]
        shares = (dict(zip(names, listed(each[parties]), strict=True)) for each in (weights, initial, result))
        request.trace.divisions.append(DivisionTrace(replicas, *shares))
    return result
