"""The decision about a binding: copies that must go, their new places, and finished evictions, as one result.

Karmada has three writers for this (taint manager, scheduler, graceful-eviction controller) and two moments in which an
application has lost its place and gained none. Here the rows of a lifecycle are walked (`core.copies.lifecycle`). The
first that is due is all that happens. Finished, held and remembered things are said with it, and written at once.

Holds: S1, S2, S3, S4, S11, S12, C2, C4.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any

import msgspec

from leeward.api.meta import Condition
from leeward.api.names import HOME_ANNOTATION
from leeward.api.rules.bounds import placement_fault
from leeward.api.work import Binding
from leeward.core.copies import lifecycle
from leeward.core.copies.lifecycle import Transition
from leeward.core.eviction.blocked_evictions import held_by_guard, held_deferred, held_in_place, held_tasks
from leeward.core.eviction.failback import Failback, decide_failback, step_between_terms
from leeward.core.eviction.held_reasons import Deferral, HeldReason
from leeward.core.eviction.original_placement import (
    OriginalPlacement,
    first_missed,
    given_up,
    original_placement_patch,
    remembered_placement,
)
from leeward.core.eviction.state_preservation import preserved_state_patch
from leeward.core.eviction.volumes import has_claims
from leeward.core.placement import actions
from leeward.core.placement.decision import Decision, Outcome
from leeward.core.placement.situation import Situation, situation_kind
from leeward.core.placement.snapshot import Snapshot, may_schedule, with_found_copies
from leeward.core.placement.way_back import find_way_back
from leeward.core.placement.within_usage import decide_within_usage
from leeward.core.scheduling import Placed, Trace, Unplaceable, same_targets, term_of_targets
from leeward.core.scheduling.affinity import common_term, first_term_of
from leeward.core.scheduling.joined_terms import with_joined_terms


def decide(snapshot: Snapshot, trace: Trace | None = None) -> Decision:
    """Decides the binding's spec and status. Where evictions have to wait for others, it is decided without them.

    `trace` is told why copies go where they go; it costs nothing when it is not asked for. A placement beyond its
    bounds gets no place, which the binding says; open evictions go on.
    """
    snapshot = with_found_copies(snapshot)
    fault = placement_fault(snapshot.binding.spec.placement)
    unplaceable = Unplaceable("Error", fault, {}) if fault else None
    kind = situation_kind(snapshot.settings)
    known = _with_term_of_targets(snapshot) if kind.minds_terms else snapshot
    joined = _with_joined_terms(known) if kind.minds_terms else known
    between = known.binding if joined is not known else None
    situation = partial(kind, trace=trace, own=between, unplaceable=unplaceable)
    in_turn = partial(_decide_in_turn, situation)
    if joined.quota_refusal:
        decision = decide_within_usage(joined, in_turn)
    else:
        decision = in_turn(joined, joined.binding)
    return _told_in_term(decision, known, joined=joined is not known, is_told=known is snapshot)


def _told_in_term(decision: Decision, known: Snapshot, *, joined: bool, is_told: bool) -> Decision:
    """The decision with the affinity term that its targets lie in: on the way between two, the observed one. `is_told`:
    the status tells the term of the present targets."""
    own, result = known.binding, decision.result
    if isinstance(result, Unplaceable):
        return decision
    observed = own.status.scheduler_observing_affinity_name
    term = result.affinity_name if result is not None else observed
    if joined:
        term = first_term_of(own, (target.name for target in decision.clusters), known.clusters) or observed
    if result is not None:
        return replace(decision, result=replace(result, affinity_name=term))
    return decision if term == observed and is_told else replace(decision, result=Placed(decision.clusters, term))


def _with_joined_terms(snapshot: Snapshot) -> Snapshot:
    """Snapshot of a binding that a failback has on its way between two affinity terms, with these joined. One that has
    no original placement was moved by no outage: a changed label has put its targets into two terms (S12)."""
    binding, settings = snapshot.binding, snapshot.settings
    if not settings.graceful or HOME_ANNOTATION not in binding.metadata.annotations:
        return snapshot
    joined: Any = with_joined_terms(binding, snapshot.clusters)
    return snapshot if joined is binding else replace(snapshot, binding=joined)


def _with_term_of_targets(snapshot: Snapshot) -> Snapshot:
    """Snapshot with the affinity term of the present targets where the status does not tell it yet."""
    binding = snapshot.binding
    term = term_of_targets(binding, snapshot.clusters)
    if term == binding.status.scheduler_observing_affinity_name:
        return snapshot
    status = msgspec.structs.replace(binding.status, scheduler_observing_affinity_name=term)
    changed: Any = msgspec.structs.replace(binding, status=status)
    return replace(snapshot, binding=changed)


def _decide_in_turn(kind: Callable[..., Situation], snapshot: Snapshot, wanted: Binding) -> Decision:
    situation = kind(snapshot, wanted=wanted)
    decision = _decide(situation)
    deferred = snapshot.budget.defers(decision.evicted, snapshot.now)
    if not deferred:
        return decision
    if situation.trace is not None:
        situation.trace.terms.clear()
    decision = _decide(replace(situation, deferred=deferred))
    turn_at = snapshot.budget.turn_at if Deferral.RATE in deferred.values() else None
    return replace(decision, deferred=deferred, wake_at=_earliest(decision.wake_at, turn_at))


def withdraw(at: Situation) -> Outcome | None:
    """Recovery cancels evictions that it made needless; not while the brake is engaged."""
    if not at.authority.withdraws or at.snapshot.brake:
        return None
    found = at.returns.find()
    if found is None:
        return None
    is_same_term = found.affinity_name == at.binding.status.scheduler_observing_affinity_name
    spec = at.binding.spec
    has_all = not spec.is_divided or sum(target.replicas for target in found.clusters) == spec.replicas
    is_placed_anew = has_all and not is_same_term  # a part that comes back is no placement: `check` would refuse it
    result = Placed(found.clusters, found.affinity_name) if is_placed_anew else None
    return Outcome(found.clusters, found.tasks, result, withdrawal=found)


def fail_back(at: Situation) -> Outcome | None:
    """One step back, where nothing else happens to the binding."""
    spec, snapshot = at.binding.spec, at.snapshot
    if at.original is None or HeldReason.WAITING_FOR_TURN in at.guarded or snapshot.brake or not at.authority.returns:
        return None
    placed = actions.place(at)
    if spec.graceful_eviction_tasks or not spec.clusters or not same_targets(placed.clusters, spec.clusters):
        return None
    found = _next_step(at, at.original)
    if found.spec is None:
        return replace(placed, failback=found, wake_at=found.wake_at)
    outcome = Outcome(found.spec.clusters, found.spec.graceful_eviction_tasks, failback=found)
    own, names = at.own_binding, [target.name for target in found.spec.clusters]
    if common_term(own, names, at.clusters) == own.status.scheduler_observing_affinity_name:
        return outcome
    term = first_term_of(own, names, at.clusters)
    return outcome if term is None else replace(outcome, result=Placed(outcome.clusters, term))


def _next_step(at: Situation, original: OriginalPlacement) -> Failback:
    binding, options, now = at.binding, at.failback_options, at.now
    way = find_way_back(at, original)
    if isinstance(way, Failback):
        return way
    if way.goal is None:
        time = at.snapshot.attention.time
        return decide_failback(binding, original, at.clusters, at.copies, now, options, time)
    goal, begins = way.goal, way.begins
    return step_between_terms(binding, original, goal, at.clusters, at.copies, now, options, begins=begins)


@dataclass(frozen=True, slots=True)
class DecidedRow:
    """A row of the lifecycle as a decision takes it: whether it is due, and how the binding then moves, if it can."""

    is_due: Callable[[Situation], object]
    move: Callable[[Situation], Outcome | None]


DECIDED_ROWS: Mapping[Transition, DecidedRow] = {
    lifecycle.COMES_BACK: DecidedRow(lambda at: at.binding.spec.graceful_eviction_tasks, withdraw),
    lifecycle.IS_DRIVEN_OUT: DecidedRow(lambda at: at.due, actions.evict),
    lifecycle.FAILS: DecidedRow(lambda at: at.failures.failed, actions.fail_over),
    lifecycle.STALLS: DecidedRow(lambda at: at.stalled.targets, actions.move_on),
    lifecycle.RETURNS_HOME: DecidedRow(lambda at: at.original and not at.ended, fail_back),
    lifecycle.IS_PLACED_ELSEWHERE: DecidedRow(lambda _: True, actions.place),
}
_IN_ORDER = [DECIDED_ROWS[row] for row in sorted(DECIDED_ROWS, key=lifecycle.LIFECYCLE.index)]


def _decide(at: Situation) -> Decision:
    outcome = next(found for row in _IN_ORDER if row.is_due(at) and (found := row.move(at)) is not None)
    annotations = dict(original_placement_patch(at.own_binding, _original_after(at, outcome)))
    leaving = {task.from_cluster for task in outcome.eviction_tasks}
    annotations |= preserved_state_patch(at.binding, outcome.clusters, leaving)
    failed = [eviction.cluster for eviction in outcome.evicted if not eviction.taints]
    annotations |= at.memory_after(outcome, failed)
    before = at.binding.spec.clusters
    stay_ends, back = at.evictions_of(outcome.clusters).next_due, outcome.withdrawal
    finished, withdrawn = (at.assessment.finished, ()) if back is None else ((), back.returned)
    instants = (at.assessment.wake_at, stay_ends, at.failures.wake_at, at.stalled.wake_at)
    return Decision(
        before if same_targets(outcome.clusters, before) else outcome.clusters,
        outcome.eviction_tasks,
        _result(at, outcome),
        held=_held(at, outcome),
        evicted=outcome.evicted,
        followed=outcome.followed,
        finished=finished,
        withdrawn=withdrawn,
        returning=outcome.failback.moved if outcome.failback is not None else {},
        foreign=not may_schedule(at.spec, at.settings),
        foreign_held=not at.settings.tells_held,
        annotations=annotations,
        wake_at=_earliest(outcome.wake_at, *instants),
    )


def _result(at: Situation, outcome: Outcome) -> Placed | Unplaceable | None:
    result = outcome.result or at.unplaceable
    return at.with_cause(result) if isinstance(result, Unplaceable) else result


def _held(at: Situation, outcome: Outcome) -> Condition | None:
    """Condition EvictionHeld: a hold that needs somebody comes before a copy that is better kept."""
    if outcome.withdrawal is not None:
        return None
    held, evictions, of, why = outcome.held, at.taint_evictions, at.guarded.get, at.snapshot.brake_reason
    is_kept = held is not None and held.reason == HeldReason.NOTHING_TO_GAIN
    urgent = None if is_kept else held
    targets = [target.name for target in at.spec.clusters]
    return (
        urgent
        or held_deferred(of(HeldReason.WAITING_FOR_TURN, ()), at.deferred, at.snapshot.budget.exhausted)
        or held_tasks(at.assessment, of(HeldReason.BRAKE_ENGAGED, ()), at.snapshot.works, targets, why)
        or (None if at.stays_in_place else held_by_guard(HeldReason.NOT_CONFIRMED, evictions.unconfirmed))
        or held
        or held_in_place(at.binding, evictions.due, at.stays_in_place)
        or held_by_guard(HeldReason.RUN_UNDER_WAY, of(HeldReason.RUN_UNDER_WAY, ()))
        or held_by_guard(HeldReason.NOTHING_TO_GAIN, of(HeldReason.NOTHING_TO_GAIN, ()))
    )


def _original_after(at: Situation, outcome: Outcome) -> OriginalPlacement | None:
    """Original placement that is to be remembered."""
    own, clusters, now = at.own_binding, at.clusters, at.now
    observed = own.status.scheduler_observing_affinity_name
    if outcome.withdrawal is not None:
        if not outcome.withdrawal.given_up or at.original is None:
            return at.original
        names = [target.name for target in outcome.clusters]
        is_whole = common_term(own, names, clusters) is not None
        return None if is_whole else given_up(at.original, observed, now)
    if outcome.failback is not None:
        return outcome.failback.original
    if at.is_between_terms or not at.failback_options.automatic:
        return at.original
    result = outcome.result
    if at.original is None and not own.spec.clusters and isinstance(result, Placed) and not has_claims(own):
        return first_missed(own.spec, result.affinity_name, clusters, now)
    return remembered_placement(at.original, own.spec, outcome.evicted, clusters, now, observed)


def _earliest(*instants: datetime | None) -> datetime | None:
    return min(filter(None, instants), default=None)
