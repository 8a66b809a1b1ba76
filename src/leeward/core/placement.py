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

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

import msgspec

from leeward.api.cluster import Cluster
from leeward.api.failback import FailbackOptions
from leeward.api.meta import Condition, wire_time
from leeward.api.work import Binding, GracefulEvictionTask, ResourceBindingSpec, TargetCluster, Work
from leeward.core.failover.application import (
    FailureRecord,
    StateNotPreserved,
    Watch,
    after_leaving,
    application_failover,
    held_failure,
    held_for_state,
    parse_record,
    record_patch,
    seen_items,
    task_of,
    watch,
)
from leeward.core.failover.eviction import Eviction, PurgeMode, due_evictions, last_resort_at, purge_mode, replicas_in
from leeward.core.failover.failback import decide_failback
from leeward.core.failover.graceful import Assessment, assess_tasks
from leeward.core.failover.holding import held_for_place, held_tasks, held_turn, is_automatic
from leeward.core.failover.home import Home, failback_options, home_patch, parse_home, remembered_home
from leeward.core.failover.leaving import NOTHING, leave, leave_further
from leeward.core.failover.places import (
    find_part,
    find_place,
    is_leaving,
    place_anew,
)
from leeward.core.failover.recovery import find_withdrawal
from leeward.core.scheduling import Placed, Unplaceable, needs_scheduling

DEFAULT_SCHEDULER = "default-scheduler"
TAINT_MANAGER = "TaintManager"
TAINT_UNTOLERATED = "TaintUntolerated"


@dataclass(frozen=True, slots=True)
class PlacementSettings:
    """What flags and gates say: `evict` is the taint manager with gate Failover, `graceful` gate GracefulEviction.

    The parts of the decision can be left to other processes (`ManagerSettings`): `watch` is application failover,
    `finish` the end of eviction tasks, `place` scheduling.
    `keep_without_place` is S11, `withdraw` that recovery cancels; with `exact_health` what is reported counts as it
    does in Karmada, for the end of tasks and for application failover, which then forgets where it has been.
    """

    evict: bool = True
    watch: bool = True
    finish: bool = True
    place: bool = True
    graceful: bool = True
    purge_mode: str = "Gracefully"
    graceful_seconds: float = 600
    scheduler_name: str = DEFAULT_SCHEDULER
    keep_without_place: bool = True
    withdraw: bool = True
    exact_health: bool = False

    @property
    def tells_held(self) -> bool:
        """Whether the condition EvictionHeld is kept here: of the parts that run apart, the taint manager does."""
        return self.finish if self.place else self.evict


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a decision is made on: the fleet and the binding's Works, both by cluster, and whether the brake holds.

    `waits` are clusters that the binding may not leave yet because of their taints, with the reason, for people.
    """

    fleet: Mapping[str, Cluster]
    works: Mapping[str, Work] = field(default_factory=dict[str, Work])
    brake: bool = False
    waits: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Decision:
    """What a binding is to be. `result` is what scheduling said, None where it had nothing to do.

    `held` is the condition EvictionHeld where an eviction is held back or cannot be finished, None where there is none.
    `returning` are the replicas that a failback brings back, by cluster.
    `foreign`: another scheduler places this binding, or scheduling is suspended; what it says of that is not ours.
    `foreign_held`: another process evicts, and keeps the condition EvictionHeld.
    `annotations` are the changes of the binding's annotations, None for one that goes.
    """

    clusters: tuple[TargetCluster, ...]
    eviction_tasks: tuple[GracefulEvictionTask, ...]
    result: Placed | Unplaceable | None = None
    held: Condition | None = None
    evicted: tuple[Eviction, ...] = ()
    finished: tuple[str, ...] = ()
    withdrawn: str = ""
    returning: Mapping[str, int] = field(default_factory=dict[str, int])
    foreign: bool = False
    foreign_held: bool = False
    annotations: Mapping[str, str | None] = field(default_factory=dict[str, str | None])
    wake_at: datetime | None = None


def decide_placement(
    binding: Binding, around: Surroundings, now: datetime, settings: PlacementSettings = PlacementSettings()
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
        return Decision(withdrawal.clusters, withdrawal.tasks, withdrawn=withdrawal.cluster, annotations=kept)
    spec = msgspec.structs.replace(binding.spec, graceful_eviction_tasks=assessment.kept)
    due, next_due = due_evictions(spec, fleet, now) if settings.evict else ((), None)
    braked = tuple(e for e in due if around.brake and is_automatic(e, fleet[e.cluster]))
    waiting = tuple(e for e in due if e not in braked and e.cluster in around.waits)
    due = tuple(eviction for eviction in due if eviction not in (*braked, *waiting))
    watched = _watch(binding, spec, around, now, settings)
    if due:
        decision = _evict(binding, spec, due, fleet, now, settings)
    elif watched.failed:
        decision = _fail_over(binding, spec, watched, fleet, now, settings)
    else:
        decision = _place(binding, spec, fleet, now, settings, watched.record.left)
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
        foreign=not _may_schedule(spec, settings),
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
    return settings.graceful and _may_schedule(spec, settings) and bool(spec.clusters) and not is_moving


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


def _place(
    binding: Binding,
    spec: ResourceBindingSpec,
    fleet: Mapping[str, Cluster],
    now: datetime,
    settings: PlacementSettings,
    shunned: Collection[str] = (),
) -> Decision:
    """Scheduling where it is due; the earlier result stays unless no cluster fits at all.

    Nothing new goes to the `shunned` clusters as long as it can go elsewhere.
    """
    if not _may_schedule(spec, settings):
        return Decision(spec.clusters, spec.graceful_eviction_tasks)
    if not needs_scheduling(_with_spec(binding, spec), fleet):
        return Decision(spec.clusters, spec.graceful_eviction_tasks)
    result = place_anew(binding, spec, fleet, now, shunned)
    match result:
        case Placed():
            clusters = result.clusters
        case Unplaceable(kind="FitError"):
            clusters = ()
        case Unplaceable():
            clusters = tuple(target for target in spec.clusters if not is_leaving(fleet.get(target.name)))
    return Decision(clusters, spec.graceful_eviction_tasks, result)


def _evict(
    binding: Binding,
    spec: ResourceBindingSpec,
    due: Sequence[Eviction],
    fleet: Mapping[str, Cluster],
    now: datetime,
    settings: PlacementSettings,
) -> Decision:
    """Takes the copies away from `due` together with giving them another place; without one they stay (S11)."""
    mode = purge_mode(spec.failover, settings.purge_mode)
    left = _left(spec, due, mode, now, settings)
    resort_at = now if mode == "Directly" else last_resort_at(due, now)
    last_resort = resort_at <= now
    result = _refusal(spec, settings) or find_place(binding, left, fleet, now, last_resort=last_resort)
    if isinstance(result, Placed):
        return Decision(result.clusters, left.graceful_eviction_tasks, result, evicted=tuple(due))
    if mode == "Directly" or not settings.keep_without_place:
        return Decision(left.clusters, left.graceful_eviction_tasks, result, evicted=tuple(due))
    held = held_for_place(spec, due, result.message)
    leaving = {eviction.cluster for eviction in due}
    part = find_part(binding, spec, leaving, fleet, now, last_resort) if not _refusal(spec, settings) else None
    wake_at = None if last_resort else resort_at
    if part is None:
        return replace(_place(binding, spec, fleet, now, settings), held=held, wake_at=wake_at)
    moved = tuple(e for e in due if part.staying.get(e.cluster) != replicas_in(spec, e.cluster))
    left = _left(spec, moved, mode, now, settings, part.staying)
    held = held_for_place(spec, due, result.message, part.staying)
    return Decision(part.result.clusters, left.graceful_eviction_tasks, part.result, held, moved, wake_at=wake_at)


def _left(
    spec: ResourceBindingSpec,
    due: Sequence[Eviction],
    mode: PurgeMode,
    now: datetime,
    settings: PlacementSettings,
    staying: Mapping[str, int] = NOTHING,
) -> ResourceBindingSpec:
    """`spec` once the copies have left these clusters, but for what stays; without gate GracefulEviction, no tasks."""
    tasks = [
        GracefulEvictionTask(
            from_cluster=eviction.cluster,
            reason=TAINT_UNTOLERATED,
            producer=TAINT_MANAGER,
            purge_mode=mode,
            creation_timestamp=wire_time(now),
        )
        for eviction in due
    ]
    left = leave_further(spec, tasks, staying)
    if settings.graceful:
        return left
    leaving = {eviction.cluster for eviction in due}
    return msgspec.structs.replace(left, graceful_eviction_tasks=_without(spec, leaving))


def _fail_over(
    binding: Binding,
    spec: ResourceBindingSpec,
    watched: Watch,
    fleet: Mapping[str, Cluster],
    now: datetime,
    settings: PlacementSettings,
) -> Decision:
    """Takes failed copies away from clusters that are well. Without a place that is no suspect they stay (S11)."""
    try:
        tasks = [task_of(binding, item, now) for item in watched.failed]
    except StateNotPreserved as error:
        decision = _place(binding, spec, fleet, now, settings, watched.record.left)
        return replace(decision, held=held_for_state(watched, error))
    leaving = {task.from_cluster for task in tasks}
    left = leave(spec, tasks)
    if not settings.graceful:
        left = msgspec.structs.replace(left, graceful_eviction_tasks=_without(spec, leaving))
    suspects = () if settings.exact_health else watched.suspects
    result = _refusal(spec, settings) or find_place(binding, left, fleet, now, suspects)
    if isinstance(result, Unplaceable) and settings.keep_without_place:
        decision = _place(binding, spec, fleet, now, settings, watched.record.left)
        return replace(decision, held=held_failure(watched, result.message))
    clusters = result.clusters if isinstance(result, Placed) else left.clusters
    evicted = tuple(Eviction(task.from_cluster) for task in tasks)
    return Decision(clusters, left.graceful_eviction_tasks, result, evicted=evicted)


def _may_schedule(spec: ResourceBindingSpec, settings: PlacementSettings) -> bool:
    suspended = spec.suspension is not None and bool(spec.suspension.scheduling)
    return settings.place and not suspended and (spec.scheduler_name or DEFAULT_SCHEDULER) == settings.scheduler_name


def _with_spec(binding: Binding, spec: ResourceBindingSpec) -> Binding:
    return msgspec.structs.replace(binding, spec=spec)


def _refusal(spec: ResourceBindingSpec, settings: PlacementSettings) -> Unplaceable | None:
    """Why this binding is not for us to place, if it is not."""
    if spec.suspension is not None and spec.suspension.scheduling:
        return Unplaceable("Error", "scheduling of this binding is suspended", {})
    if not _may_schedule(spec, settings):
        return Unplaceable("Error", f"it is placed by another scheduler, {spec.scheduler_name}", {})
    return None


def _without(spec: ResourceBindingSpec, clusters: set[str]) -> tuple[GracefulEvictionTask, ...]:
    return tuple(task for task in spec.graceful_eviction_tasks if task.from_cluster not in clusters)
