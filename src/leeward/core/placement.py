"""The one decision about a binding: what must go, where it goes instead, and what has been finished.

Karmada has three writers for this (taint manager, scheduler, graceful-eviction controller) and two moments in which an
application has lost its place and gained none. Here the three are composed, and the result is one write.

    decide_stay  ->  what must go        (core.failover.eviction)
    watch        ->  what has failed     (core.failover.application)
    find_place   ->  where it goes       (core.failover.places, core.scheduling)
    assess_tasks ->  what is finished    (core.failover.graceful)
    failback     ->  what returns home   (core.failover.failback)

Holds: S1, S2, S3, S4, S11, C2.
"""

from dataclasses import replace
from datetime import datetime

import msgspec

from leeward.api.failback import FailbackOptions
from leeward.api.work import Binding, ResourceBindingSpec
from leeward.core.decision import DEFAULT_SETTINGS, Decision, PlacementSettings, Surroundings, may_schedule
from leeward.core.failover.application import (
    FailureRecord,
    Watch,
    after_leaving,
    application_failover,
    parse_record,
    record_patch,
    seen_items,
    watch,
)
from leeward.core.failover.eviction import due_evictions
from leeward.core.failover.failback import decide_failback
from leeward.core.failover.graceful import Assessment, assess_tasks
from leeward.core.failover.holding import held_tasks, held_turn, is_automatic
from leeward.core.failover.home import Home, failback_options, home_patch, parse_home, remembered_home
from leeward.core.failover.recovery import find_withdrawal
from leeward.core.moves import evict, fail_over, place
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
    withdrawal = find_withdrawal(binding, fleet, around.works, now, grace) if settings.withdraw else None
    if withdrawal is not None:
        kept = home_patch(binding, None if withdrawal.given_up else home)
        is_same = withdrawal.affinity_name == binding.status.scheduler_observing_affinity_name
        result = None if is_same else Placed(withdrawal.clusters, withdrawal.affinity_name)
        return Decision(withdrawal.clusters, withdrawal.tasks, result, withdrawn=withdrawal.returned, annotations=kept)
    spec = msgspec.structs.replace(binding.spec, graceful_eviction_tasks=assessment.kept)
    due, next_due = due_evictions(spec, fleet, now) if settings.evict else ((), None)
    braked = tuple(e for e in due if around.brake and is_automatic(e, fleet[e.cluster]))
    waiting = tuple(e for e in due if e not in braked and e.cluster in around.waits)
    due = tuple(eviction for eviction in due if eviction not in (*braked, *waiting))
    watched = _watch(binding, spec, around, now, settings)
    if due:
        decision = evict(binding, spec, due, fleet, now, settings)
    elif watched.failed:
        decision = fail_over(binding, spec, watched, fleet, now, settings)
    else:
        decision = place(binding, spec, fleet, now, settings, watched.record.left)
    if home is not None and not (due or braked or around.brake) and _is_quiet(binding, decision, settings):
        home, decision = _return(binding, decision, home, around, now, options)
    elif options.automatic:
        home = remembered_home(home, spec, decision.evicted, fleet, now)
    failed = tuple(eviction.cluster for eviction in decision.evicted if not eviction.taints)
    record = after_leaving(watched.record, failed, remember=not settings.exact_health)
    instants = (assessment.wake_at, next_due, watched.wake_at, decision.wake_at)
    return replace(
        decision,
        held=decision.held or held_turn(waiting, around.waits) or held_tasks(assessment, braked, around.works),
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
        binding, around.fleet, around.works, now, settings.graceful_seconds, exact=settings.exact_health
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
    if not settings.watch or application_failover(spec) is None:
        return Watch(FailureRecord())
    items = binding.status.aggregated_status if settings.exact_health else seen_items(spec, around.fleet, around.works)
    return watch(spec, items, parse_record(binding), now)
