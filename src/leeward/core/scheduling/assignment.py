"""Divide: how many replicas each selected cluster gets.

Duplicated gives all to each; static weights divide everything afresh. Dynamic weights and Aggregated are *steady*: they
keep assigned replicas and share out only the difference, unless a reschedule was requested.

Karmada: pkg/scheduler/core/{assignment,division_algorithm}.go; same.
Holds: S3.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

from leeward.api.policy import ReplicaSchedulingStrategy
from leeward.core.scheduling.division import divide, first_seats
from leeward.core.scheduling.model import Candidate, Request, Unplaceable
from leeward.core.scheduling.trace import DivisionTrace

Mode = Literal["Duplicated", "StaticWeight", "DynamicWeight", "Aggregated"]
Assignment = Mapping[str, int]


def assign(request: Request, selected: Sequence[Candidate]) -> Assignment | Unplaceable:
    """Replicas per cluster; clusters that get none are left out."""
    mode = mode_of(request.placement.replica_scheduling)
    if isinstance(mode, Unplaceable):
        return mode
    overflows = request.term is not None and request.term.overflow_affinities is not None
    assigned = (_assign_by_tier if overflows else _assign_all)(mode, request, request.spec.replicas, selected)
    if isinstance(assigned, Unplaceable):
        return assigned
    kept = {name: replicas for name, replicas in assigned.items() if replicas > 0}
    if request.propagate_empty_workloads:
        return kept | {c.name: 0 for c in selected if c.name not in kept}
    return kept


def mode_of(strategy: ReplicaSchedulingStrategy | None) -> Mode | Unplaceable:
    """Mode that a strategy means; Unplaceable where it means none."""
    if strategy is None or strategy.replica_scheduling_type == "Duplicated":
        return "Duplicated"
    match strategy.replica_scheduling_type, strategy.replica_division_preference:
        case "Divided", "Aggregated":
            return "Aggregated"
        case "Divided", "Weighted":
            preference = strategy.weight_preference
            return "DynamicWeight" if preference is not None and preference.dynamic_weight else "StaticWeight"
        case kind, division:
            return Unplaceable(
                "Error",
                f"unsupported replica scheduling strategy, replicaSchedulingType: {kind}, "
                f"replicaDivisionPreference: {division}, please try another scheduling strategy",
                {},
            )


def _assign_by_tier(
    mode: Mode, request: Request, replicas: int, selected: Sequence[Candidate]
) -> Assignment | Unplaceable:
    """Fills the primary group first, then one overflow group after the other; in a failover around held replicas."""
    total: dict[str, int] = {}
    keeps = request.keep_assigned and sum(candidate.assigned for candidate in selected) <= replicas
    held_beyond = sum(candidate.assigned for candidate in selected) if keeps else 0
    for tier in sorted({candidate.tier for candidate in selected}):
        group = [candidate for candidate in selected if candidate.tier == tier]
        held_beyond -= sum(candidate.assigned for candidate in group) if keeps else 0
        share = min(replicas - held_beyond, sum(candidate.available for candidate in group))
        assigned = _assign_all(mode, request, share, group)
        if isinstance(assigned, Unplaceable):
            return assigned
        total |= assigned
        replicas -= share
        if replicas == 0:
            return total
    return Unplaceable("UnschedulableError", "Clusters available replicas are not enough to schedule.", {})


def _assign_all(mode: Mode, request: Request, replicas: int, selected: Sequence[Candidate]) -> Assignment | Unplaceable:
    match mode:
        case "Duplicated":
            return {candidate.name: replicas for candidate in selected}
        case "StaticWeight":
            return _assign_statically(request, replicas, selected)
        case _:
            return _assign_dynamically(request, replicas, selected, aggregated=mode == "Aggregated")


def _assign_statically(request: Request, replicas: int, selected: Sequence[Candidate]) -> Assignment:
    """Afresh, as Karmada does; in a failover on top of assigned replicas, so that no survivor shrinks. Holds: C2."""
    weights = _static_weights(request, selected)
    kept = {candidate.name: candidate.assigned for candidate in selected if candidate.assigned}
    missing = replicas - sum(kept.values())
    if request.keep_assigned and missing >= 0:
        return _divide(request, missing, weights, kept) if missing else kept
    return _divide(request, replicas, weights)


def _static_weights(request: Request, selected: Sequence[Candidate]) -> Mapping[str, int]:
    """Clusters without weight are left out; when none has any, all are equal."""
    weights = {candidate.name: request.static_weight(candidate.cluster) for candidate in selected}
    weighty = {name: weight for name, weight in weights.items() if weight > 0}
    return weighty or {candidate.name: 1 for candidate in selected}


def _assign_dynamically(
    request: Request, replicas: int, selected: Sequence[Candidate], aggregated: bool
) -> Assignment | Unplaceable:
    room = {candidate.name: candidate.room for candidate in selected}
    scheduled = {name: count for name, count in request.assigned.items() if name in room}
    assigned = sum(scheduled.values())
    if request.is_fresh:
        weights = {name: room[name] + scheduled.get(name, 0) for name in room}
        return share_out("do fresh scale", request, replicas, weights, (), aggregated)
    if assigned > replicas:
        return share_out("scale down", request, replicas, scheduled, (), aggregated)
    if assigned == replicas:
        return scheduled
    used = tuple(name for name in room if scheduled.get(name))
    more = share_out("scale up", request, replicas - assigned, room, used, aggregated)
    if isinstance(more, Unplaceable):
        return more
    return {name: scheduled.get(name, 0) + more.get(name, 0) for name in (*scheduled, *more)}


def share_out(
    step: str, request: Request, target: int, weights: Assignment, used: Sequence[str], aggregated: bool
) -> Assignment | Unplaceable:
    total = sum(weights.values())
    if total < target:
        return too_little_room(total, step)
    if aggregated:
        weights = _fewest(target, weights, used, request.claims)
    first = first_seats(target, weights, used, request.claims)
    return _divide(request, target - len(first), weights, first)


def too_little_room(total: int, step: str) -> Unplaceable:
    message = f"Clusters available replicas {total} are not enough to schedule."
    return Unplaceable("UnschedulableError", message, {}).within(f"failed to {step}")


def _divide(request: Request, replicas: int, weights: Assignment, initial: Assignment | None = None) -> Assignment:
    result = divide(replicas, weights, initial, request.spec.resource.uid, request.claims)
    if request.trace is not None:
        request.trace.divisions.append(DivisionTrace(replicas, dict(weights), dict(initial or {}), dict(result)))
    return result


def _fewest(target: int, weights: Assignment, used: Sequence[str], claims: Assignment) -> Assignment:
    """The first clusters that together have room: those in use first, then those with claims, then the roomiest."""
    chosen: dict[str, int] = {}
    for name in sorted(weights, key=lambda name: (name not in used, -claims.get(name, 0), -weights[name])):
        if sum(chosen.values()) >= target:
            break
        chosen[name] = weights[name]
    return chosen
