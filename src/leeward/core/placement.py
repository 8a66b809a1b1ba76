"""The one decision about a binding: what must go, where it goes instead, and what has been finished.

Karmada has three writers for this (taint manager, scheduler, graceful-eviction controller) and two moments in which an
application has lost its place and gained none. Here the three are composed, and the result is one write.

    may_schedule ->  what is ours to do  (core.decision)
    decide_stay  ->  what must go        (core.failover.eviction)
    watch        ->  what has failed     (core.failover.application)
    find_stalled ->  what takes nothing  (core.failover.stalled)
    find_place   ->  where it goes       (core.failover.places, core.scheduling)
    assess_tasks ->  what is finished    (core.failover.graceful)
    failback     ->  what returns home   (core.failover.failback)

Holds: S1, S2, S3, S4, S11, S12, C2.
"""

from dataclasses import dataclass, replace
from datetime import datetime

import msgspec

from leeward.api.failback import FailbackOptions
from leeward.api.meta import Condition
from leeward.api.work import Binding, ResourceBindingSpec
from leeward.core.decision import DEFAULT_SETTINGS, Decision, PlacementSettings, Surroundings, may_schedule
from leeward.core.failover.application import (
    FailureRecord,
    Watch,
    after_leaving,
    application_failover,
    parse_record,
    record_patch,
    remember,
    seen_items,
    watch,
)
from leeward.core.failover.eviction import Eviction, due_evictions
from leeward.core.failover.failback import decide_failback
from leeward.core.failover.graceful import Assessment, assess_tasks
from leeward.core.failover.held_reasons import HeldReason
from leeward.core.failover.holding import (
    held_for_others,
    held_tasks,
    held_turn,
    held_unconfirmed,
    is_braked,
)
from leeward.core.failover.home import Home, failback_options, home_patch, parse_home, remembered_home
from leeward.core.failover.recovery import find_withdrawal
from leeward.core.failover.shared_resources import stays_under_taints
from leeward.core.failover.stalled import StalledTargets, find_stalled
from leeward.core.moves import evict, fail_over, move_on, place
from leeward.core.scheduling import Placed


def decide_placement(
    binding: Binding, around: Surroundings, now: datetime, settings: PlacementSettings = DEFAULT_SETTINGS
) -> Decision:
    """The whole decision for one binding, on one snapshot of its surroundings."""
    fleet = around.fleet
    assessment = _assess(binding, around, now, settings)
    options = failback_options(binding)
    home = parse_home(binding) if options.automatic else None
    grace = settings.graceful_seconds
    may_withdraw = settings.withdraw and may_schedule(binding.spec, settings) and not around.brake
    withdrawal = find_withdrawal(binding, fleet, around.works, now, grace) if may_withdraw else None
    if withdrawal is not None:
        kept = home_patch(binding, None if withdrawal.given_up else home)
        is_same = withdrawal.affinity_name == binding.status.scheduler_observing_affinity_name
        result = None if is_same else Placed(withdrawal.clusters, withdrawal.affinity_name)
        return Decision(withdrawal.clusters, withdrawal.tasks, result, withdrawn=withdrawal.returned, annotations=kept)
    spec = msgspec.structs.replace(binding.spec, graceful_eviction_tasks=assessment.kept)
    turn = _turn(binding, spec, around, now, settings)
    watched = _watch(binding, spec, around, now, settings)
    stalled = _stalled(binding, spec, around, now, settings)
    decision = _move(binding, spec, turn.due, watched, stalled, around, now, settings)
    if home is not None and not (turn.due or turn.braked or around.brake) and _is_quiet(binding, decision, settings):
        home, decision = _return(binding, decision, home, around, now, options)
    elif options.automatic:
        home = remembered_home(home, spec, decision.evicted, fleet, now)
    failed = tuple(eviction.cluster for eviction in decision.evicted if not eviction.taints)
    record = after_leaving(watched.record, failed, remember=not settings.exact_health)
    instants = (assessment.wake_at, turn.next_due, watched.wake_at, stalled.wake_at, decision.wake_at)
    return replace(
        decision,
        held=_held(decision.held, turn, assessment, around, spec),
        foreign=not may_schedule(spec, settings),
        finished=assessment.finished,
        annotations={**(record_patch(binding, record) if settings.watch else {}), **home_patch(binding, home)},
        foreign_held=not settings.tells_held,
        wake_at=min((instant for instant in instants if instant is not None), default=None),
    )


def _assess(binding: Binding, around: Surroundings, now: datetime, settings: PlacementSettings) -> Assessment:
    """Where another process places, only what its scheduler has seen can be a replacement."""
    is_observed = binding.status.scheduler_observed_generation == binding.metadata.generation
    if not settings.finish or not (settings.place or settings.exact_health or is_observed):
        return Assessment(binding.spec.graceful_eviction_tasks, (), (), None)
    return assess_tasks(
        binding,
        around.fleet,
        around.works,
        now,
        settings.graceful_seconds,
        exact=settings.exact_health,
        brake=around.brake,
        attention=around.attention,
    )


@dataclass(frozen=True, slots=True)
class _Turn:
    """What taints make leave: now, not while the brake holds, not before others, never, or not before it is seen anew.

    `next_due` is the next instant.
    """

    due: tuple[Eviction, ...] = ()
    braked: tuple[Eviction, ...] = ()
    waiting: tuple[Eviction, ...] = ()
    shared: tuple[Eviction, ...] = ()
    unconfirmed: tuple[Eviction, ...] = ()
    next_due: datetime | None = None


def _turn(
    binding: Binding, spec: ResourceBindingSpec, around: Surroundings, now: datetime, settings: PlacementSettings
) -> _Turn:
    if not settings.evict:
        return _Turn()
    evictions = due_evictions(spec, around.fleet, now, around.attention)
    due, next_due = evictions.due, evictions.next_due
    if settings.keep_without_place and stays_under_taints(binding):
        return _Turn(shared=due, next_due=next_due)
    braked = tuple(e for e in due if around.brake and is_braked(e, around.fleet[e.cluster]))
    waiting = tuple(e for e in due if e not in braked and e.cluster in around.waits)
    due = tuple(eviction for eviction in due if eviction not in (*braked, *waiting))
    return _Turn(due, braked, waiting, unconfirmed=evictions.unconfirmed, next_due=next_due)


def _stalled(
    binding: Binding, spec: ResourceBindingSpec, around: Surroundings, now: datetime, settings: PlacementSettings
) -> StalledTargets:
    """Targets of a failover that take nothing; none while the brake holds, and where Karmada's rules are asked for."""
    if not settings.watch or settings.exact_health or around.brake:
        return StalledTargets()
    kept = msgspec.structs.replace(binding, spec=spec)
    return find_stalled(kept, around.fleet, around.works, now, settings.graceful_seconds, around.attention)


def _move(
    binding: Binding,
    spec: ResourceBindingSpec,
    due: tuple[Eviction, ...],
    watched: Watch,
    stalled: StalledTargets,
    around: Surroundings,
    now: datetime,
    settings: PlacementSettings,
) -> Decision:
    """The one move that is due: out of lost clusters, away from failed copies, on from what takes nothing, or none."""
    tried = watched.record.left
    if due:
        return evict(binding, spec, due, around.fleet, now, settings, tried)
    if watched.failed:
        return fail_over(binding, spec, watched, around.fleet, now, settings)
    if stalled.targets:
        moved_on = move_on(binding, spec, stalled.targets, tried, around.fleet, now, settings)
        if moved_on is not None:
            return moved_on
    return place(binding, spec, around.fleet, now, settings, tried)


def _held(
    held: Condition | None, turn: _Turn, assessment: Assessment, around: Surroundings, spec: ResourceBindingSpec
) -> Condition | None:
    """The one condition EvictionHeld: what needs somebody comes before what is kept because that is better."""
    is_kept = held is not None and held.reason == HeldReason.NOTHING_TO_GAIN
    urgent = None if is_kept else held
    return (
        urgent
        or held_turn(turn.waiting, around.waits)
        or held_tasks(assessment, turn.braked, around.works)
        or held_unconfirmed(turn.unconfirmed)
        or held
        or (held_for_others(spec, turn.shared) if turn.shared else None)
    )


def _is_quiet(binding: Binding, decision: Decision, settings: PlacementSettings) -> bool:
    """Whether nothing else happens to the binding, so that it may take a step home."""
    spec = binding.spec
    is_moving = bool(spec.graceful_eviction_tasks) or decision.clusters != spec.clusters or decision.held is not None
    return settings.graceful and may_schedule(spec, settings) and bool(spec.clusters) and not is_moving


def _return(
    binding: Binding, decision: Decision, home: Home, around: Surroundings, now: datetime, options: FailbackOptions
) -> tuple[Home | None, Decision]:
    """One step home, where one is to be taken, and what remains to be remembered."""
    failback = decide_failback(binding, home, around.fleet, around.works, now, options)
    if failback.spec is None:
        return failback.home, replace(decision, wake_at=failback.wake_at)
    after = failback.spec
    return failback.home, Decision(after.clusters, after.graceful_eviction_tasks, returning=failback.moved)


def _watch(
    binding: Binding, spec: ResourceBindingSpec, around: Surroundings, now: datetime, settings: PlacementSettings
) -> Watch:
    record = parse_record(binding)
    if not settings.watch or (application_failover(spec) is None and not record.left):
        return Watch(FailureRecord())
    items = binding.status.aggregated_status if settings.exact_health else seen_items(spec, around.fleet, around.works)
    if application_failover(spec) is None:
        return remember(spec, items, record, now)
    return watch(spec, items, record, now, around.attention)
