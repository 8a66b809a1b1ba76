"""The one decision about a binding: what must go, where it goes instead, and what has been finished.

Karmada has three writers for this (taint manager, scheduler, graceful-eviction controller) and two moments in which an
application has lost its place and gained none. Here the three are composed, and the result is one write.

    decide_stay  ->  what must go        (core.failover.eviction)
    watch        ->  what has failed     (core.failover.application)
    schedule     ->  where it goes       (core.scheduling)
    assess_tasks ->  what is finished    (core.failover.graceful)

Holds: S1, S2, S3, S4, S11, C2.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

import msgspec

from leeward.api.cluster import Cluster
from leeward.api.codec import encode
from leeward.api.meta import Condition, wire_time
from leeward.api.policy import Placement
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
from leeward.core.failover.brake import looks_dead
from leeward.core.failover.eviction import PurgeMode, decide_stay, purge_mode
from leeward.core.failover.graceful import assess_tasks
from leeward.core.failover.holding import Eviction, held_for_place, held_tasks, is_automatic
from leeward.core.failover.leaving import leave
from leeward.core.failover.recovery import find_withdrawal
from leeward.core.scheduling import Fleet, Placed, Unplaceable, needs_scheduling, schedule
from leeward.core.toleration import untolerated_taint

DEFAULT_SCHEDULER = "default-scheduler"
TAINT_MANAGER = "TaintManager"
TAINT_UNTOLERATED = "TaintUntolerated"


@dataclass(frozen=True, slots=True)
class PlacementSettings:
    """What flags and gates say: `evict` is the taint manager with gate Failover, `graceful` gate GracefulEviction.

    `keep_without_place` is S11, `withdraw` that recovery cancels; with `exact_health` what is reported counts as it
    does in Karmada, for the end of tasks and for application failover, which then forgets where it has been.
    """

    evict: bool = True
    graceful: bool = True
    purge_mode: str = "Gracefully"
    graceful_seconds: float = 600
    scheduler_name: str = DEFAULT_SCHEDULER
    keep_without_place: bool = True
    withdraw: bool = True
    exact_health: bool = False


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a decision is made on: the fleet and the binding's Works, both by cluster, and whether the brake holds."""

    fleet: Mapping[str, Cluster]
    works: Mapping[str, Work] = field(default_factory=dict[str, Work])
    brake: bool = False


@dataclass(frozen=True, slots=True)
class Decision:
    """What a binding is to be. `result` is what scheduling said, None where it had nothing to do.

    `held` is the condition EvictionHeld where an eviction is held back or cannot be finished, None where there is none.
    `foreign`: another scheduler places this binding, or scheduling is suspended; what it says of that is not ours.
    `annotations` are the changes of the binding's annotations, None for one that goes.
    """

    clusters: tuple[TargetCluster, ...]
    eviction_tasks: tuple[GracefulEvictionTask, ...]
    result: Placed | Unplaceable | None = None
    held: Condition | None = None
    evicted: tuple[Eviction, ...] = ()
    finished: tuple[str, ...] = ()
    withdrawn: str = ""
    foreign: bool = False
    annotations: Mapping[str, str | None] = field(default_factory=dict[str, str | None])
    wake_at: datetime | None = None


def decide_placement(
    binding: Binding, around: Surroundings, now: datetime, settings: PlacementSettings = PlacementSettings()
) -> Decision:
    """The whole decision for one binding, on one snapshot of its surroundings."""
    fleet = around.fleet
    assessment = assess_tasks(binding, fleet, around.works, now, settings.graceful_seconds, exact=settings.exact_health)
    withdrawal = find_withdrawal(binding, fleet, around.works, now) if settings.withdraw else None
    if withdrawal is not None:
        return Decision(withdrawal.clusters, withdrawal.tasks, withdrawn=withdrawal.cluster)
    spec = msgspec.structs.replace(binding.spec, graceful_eviction_tasks=assessment.kept)
    due, next_due = _due_evictions(spec, fleet, now) if settings.evict else ((), None)
    braked = tuple(e for e in due if around.brake and is_automatic(e, fleet[e.cluster]))
    due = tuple(eviction for eviction in due if eviction not in braked)
    watched = _watch(binding, spec, around, now, settings)
    if due:
        decision = _evict(binding, spec, due, fleet, now, settings)
    elif watched.failed:
        decision = _fail_over(binding, spec, watched, fleet, now, settings)
    else:
        decision = _place(binding, spec, fleet, now, settings, watched.record.left)
    failed = tuple(eviction.cluster for eviction in decision.evicted if not eviction.taints)
    record = after_leaving(watched.record, failed, remember=not settings.exact_health)
    return replace(
        decision,
        held=decision.held or held_tasks(assessment, braked, around.works),
        foreign=not _may_schedule(spec, settings),
        finished=assessment.finished,
        annotations=record_patch(binding, record),
        wake_at=min((i for i in (assessment.wake_at, next_due, watched.wake_at) if i is not None), default=None),
    )


def _watch(
    binding: Binding, spec: ResourceBindingSpec, around: Surroundings, now: datetime, settings: PlacementSettings
) -> Watch:
    if not settings.evict or application_failover(spec) is None:
        return Watch(FailureRecord())
    items = binding.status.aggregated_status if settings.exact_health else seen_items(spec, around.fleet, around.works)
    return watch(spec, items, parse_record(binding), now)


def _due_evictions(
    spec: ResourceBindingSpec, fleet: Mapping[str, Cluster], now: datetime
) -> tuple[tuple[Eviction, ...], datetime | None]:
    """The targets whose stay is over, and when the next one's ends."""
    tolerations = spec.placement.cluster_tolerations if spec.placement else ()
    due: list[Eviction] = []
    later: list[datetime] = []
    for target in spec.clusters:
        cluster = fleet.get(target.name)
        if cluster is None:
            continue
        stay = decide_stay(cluster.spec.taints, tolerations, now)
        if stay.is_over(now):
            due.append(Eviction(target.name, stay.untolerated))
        elif stay.due is not None:
            later.append(stay.due)
    return tuple(due), min(later, default=None)


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
    shunned = set(shunned) - {target.name for target in spec.clusters}
    result = schedule(spec, binding.status, _candidates(spec, fleet, now, shunned))
    if shunned and isinstance(result, Unplaceable):
        result = schedule(spec, binding.status, _candidates(spec, fleet, now))
    match result:
        case Placed():
            clusters = result.clusters
        case Unplaceable(kind="FitError"):
            clusters = ()
        case Unplaceable():
            clusters = tuple(target for target in spec.clusters if not _is_leaving(fleet.get(target.name)))
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
    leaving = {eviction.cluster for eviction in due}
    left = msgspec.structs.replace(
        spec,
        clusters=tuple(target for target in spec.clusters if target.name not in leaving),
        graceful_eviction_tasks=_with_tasks(spec, due, mode, now) if settings.graceful else _without(spec, leaving),
    )
    result = _reschedule(binding, left, fleet, now, settings)
    if isinstance(result, Placed):
        return Decision(result.clusters, left.graceful_eviction_tasks, result, evicted=tuple(due))
    if mode == "Directly" or not settings.keep_without_place:
        return Decision(left.clusters, left.graceful_eviction_tasks, result, evicted=tuple(due))
    return replace(_place(binding, spec, fleet, now, settings), held=held_for_place(due, result.message))


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
    result = _reschedule(binding, left, fleet, now, settings, suspects)
    if isinstance(result, Unplaceable) and settings.keep_without_place:
        decision = _place(binding, spec, fleet, now, settings, watched.record.left)
        return replace(decision, held=held_failure(watched, result.message))
    clusters = result.clusters if isinstance(result, Placed) else left.clusters
    evicted = tuple(Eviction(task.from_cluster) for task in tasks)
    return Decision(clusters, left.graceful_eviction_tasks, result, evicted=evicted)


def _reschedule(
    binding: Binding,
    left: ResourceBindingSpec,
    fleet: Mapping[str, Cluster],
    now: datetime,
    settings: PlacementSettings,
    suspects: Collection[str] = (),
) -> Placed | Unplaceable:
    """A place for what leaves, on clusters that are alive and no suspects. Targets that are not keep what they have."""
    if left.suspension is not None and left.suspension.scheduling:
        return Unplaceable("Error", "scheduling of this binding is suspended", {})
    if not _may_schedule(left, settings):
        return Unplaceable("Error", f"it is placed by another scheduler, {left.scheduler_name}", {})
    frozen = tuple(t for t in left.clusters if t.name in suspects or _looks_dead(fleet.get(t.name)))
    names = {*suspects, *(target.name for target in frozen)}
    clusters = _candidates(left, fleet, now, names)
    result = schedule(_without_frozen(left, frozen), binding.status, clusters, keep_assigned=True)
    if isinstance(result, Unplaceable):
        return result
    placed = tuple(sorted((*result.clusters, *frozen), key=lambda target: target.name))
    if not result.clusters or not _is_placement(left, placed):
        return Unplaceable("Error", "no cluster that is alive would hold a copy", {})
    return replace(result, clusters=placed)


def _without_frozen(spec: ResourceBindingSpec, frozen: tuple[TargetCluster, ...]) -> ResourceBindingSpec:
    """What is left to place: neither these replicas, nor these groups of a constraint on clusters."""
    if not frozen:
        return spec
    names = {target.name for target in frozen}
    held = sum(target.replicas for target in frozen)
    placement = spec.placement or Placement()
    constraints = tuple(
        msgspec.structs.replace(c, min_groups=max(1, c.min_groups - len(frozen)), max_groups=c.max_groups - len(frozen))
        if c.spread_by_field == "cluster"
        else c
        for c in placement.spread_constraints
    )
    return msgspec.structs.replace(
        spec,
        clusters=tuple(target for target in spec.clusters if target.name not in names),
        replicas=max(0, spec.replicas - held) if spec.is_divided else spec.replicas,
        placement=msgspec.structs.replace(placement, spread_constraints=constraints),
    )


def _looks_dead(cluster: Cluster | None) -> bool:
    return cluster is None or cluster.is_being_deleted or looks_dead(cluster)


def _is_leaving(cluster: Cluster | None) -> bool:
    return cluster is None or cluster.is_being_deleted


def _candidates(
    spec: ResourceBindingSpec, fleet: Mapping[str, Cluster], now: datetime, but: Collection[str] = ()
) -> Sequence[Cluster]:
    """All clusters but these, and but those that a copy would have to leave again at once (C1)."""
    tolerations = spec.placement.cluster_tolerations if spec.placement else ()
    targets = {target.name for target in spec.clusters}

    def leaves_at(cluster: Cluster) -> datetime | None:
        taints = cluster.spec.taints
        tolerated = untolerated_taint(taints, tolerations) is None
        return decide_stay(taints, tolerations, now).due if tolerated else None

    def may_stay(cluster: Cluster) -> bool:
        due = leaves_at(cluster)
        return cluster.name in targets or due is None or due > now

    if isinstance(fleet, Fleet):
        return fleet.staying(encode(tolerations), leaves_at, now, targets, but)
    return [fleet[name] for name in sorted(fleet) if name not in but and may_stay(fleet[name])]


def _is_placement(spec: ResourceBindingSpec, clusters: Sequence[TargetCluster]) -> bool:
    """Whether a scheduling result is a place to go: all replicas of a divided template, at least one copy of others."""
    if not clusters:
        return False
    return not spec.is_divided or sum(target.replicas for target in clusters) >= spec.replicas


def _with_tasks(
    spec: ResourceBindingSpec, due: Sequence[Eviction], mode: PurgeMode, now: datetime
) -> tuple[GracefulEvictionTask, ...]:
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
    return leave(spec, tasks).graceful_eviction_tasks


def _without(spec: ResourceBindingSpec, clusters: set[str]) -> tuple[GracefulEvictionTask, ...]:
    return tuple(task for task in spec.graceful_eviction_tasks if task.from_cluster not in clusters)


def _may_schedule(spec: ResourceBindingSpec, settings: PlacementSettings) -> bool:
    suspended = spec.suspension is not None and bool(spec.suspension.scheduling)
    return not suspended and (spec.scheduler_name or DEFAULT_SCHEDULER) == settings.scheduler_name


def _with_spec(binding: Binding, spec: ResourceBindingSpec) -> Binding:
    return msgspec.structs.replace(binding, spec=spec)
