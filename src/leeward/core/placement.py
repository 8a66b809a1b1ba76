"""The one decision about a binding: what must go, where it goes instead, and what has been finished.

Karmada has three writers for this (taint manager, scheduler, graceful-eviction controller) and two moments in which an
application has lost its place and gained none. Here the three are composed, and the result is one write.

    decide_stay  ->  what must go        (core.failover.eviction)
    schedule     ->  where it goes       (core.scheduling)
    assess_tasks ->  what is finished    (core.failover.graceful)

Holds: S1, S2, S3, S4, S11, C2.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

import msgspec

from leeward.api.cluster import Cluster
from leeward.api.core import Taint
from leeward.api.meta import Condition, wire_time
from leeward.api.names import EVICTION_HELD_CONDITION, NOT_READY_TAINT, UNREACHABLE_TAINT
from leeward.api.work import Binding, GracefulEvictionTask, ResourceBindingSpec, TargetCluster, Work
from leeward.core.failover.brake import looks_dead
from leeward.core.failover.eviction import decide_stay, purge_mode
from leeward.core.failover.graceful import Assessment, assess_tasks
from leeward.core.failover.recovery import find_withdrawal
from leeward.core.scheduling import Placed, Unplaceable, needs_scheduling, schedule
from leeward.core.scheduling.taints import untolerated_taint

DEFAULT_SCHEDULER = "default-scheduler"
TAINT_MANAGER = "TaintManager"
TAINT_UNTOLERATED = "TaintUntolerated"


@dataclass(frozen=True, slots=True)
class PlacementSettings:
    """What flags and gates say: `evict` is the taint manager with gate Failover, `graceful` gate GracefulEviction.

    `keep_without_place` is S11, `withdraw` that recovery cancels; `exact_health` ends tasks by Karmada's own rule.
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
class Eviction:
    """A cluster that the binding leaves now, and the taints that make it leave."""

    cluster: str
    taints: tuple[Taint, ...]


@dataclass(frozen=True, slots=True)
class Decision:
    """What a binding is to be. `result` is what scheduling said, None where it had nothing to do.

    `held` is the condition EvictionHeld where an eviction is held back or cannot be finished, None where there is none.
    `foreign`: another scheduler places this binding, or scheduling is suspended; what it says of that is not ours.
    """

    clusters: tuple[TargetCluster, ...]
    eviction_tasks: tuple[GracefulEvictionTask, ...]
    result: Placed | Unplaceable | None = None
    held: Condition | None = None
    evicted: tuple[Eviction, ...] = ()
    finished: tuple[str, ...] = ()
    withdrawn: str = ""
    foreign: bool = False
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
    braked = tuple(e for e in due if around.brake and _is_automatic(e, fleet[e.cluster]))
    due = tuple(eviction for eviction in due if eviction not in braked)
    decision = _evict(binding, spec, due, fleet, now, settings) if due else _place(binding, spec, fleet, now, settings)
    return replace(
        decision,
        held=decision.held or _held_tasks(assessment, braked),
        foreign=not _may_schedule(spec, settings),
        finished=assessment.finished,
        wake_at=min((i for i in (assessment.wake_at, next_due) if i is not None), default=None),
    )


def _is_automatic(eviction: Eviction, cluster: Cluster) -> bool:
    """Whether it is our own judgement of a cluster that makes the copy leave, and not someone's will."""
    keys = {taint.key for taint in eviction.taints}
    return keys <= {NOT_READY_TAINT, UNREACHABLE_TAINT} and looks_dead(cluster)


def _held_tasks(assessment: Assessment, braked: Sequence[Eviction]) -> Condition | None:
    """Why something that is due does not happen, where it is not for want of a place."""
    if braked:
        return _condition("BrakeEngaged", f"not evicted from {_list(braked)}: most of the fleet looks dead")
    if assessment.overdue:
        clusters = ", ".join(assessment.overdue)
        return _condition("ReplacementMissing", f"the copy in {clusters} stays: not all of it has another place yet")
    suppressed = [task.from_cluster for task in assessment.kept if task.suppress_deletion]
    if suppressed:
        clusters = ", ".join(suppressed)
        return _condition("DeletionSuppressed", f"the copy in {clusters} stays, because suppressDeletion is set")
    return None


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
) -> Decision:
    """Scheduling where it is due; the earlier result stays unless no cluster fits at all."""
    if not _may_schedule(spec, settings):
        return Decision(spec.clusters, spec.graceful_eviction_tasks)
    if not needs_scheduling(_with_spec(binding, spec), fleet):
        return Decision(spec.clusters, spec.graceful_eviction_tasks)
    result = schedule(spec, binding.status, _candidates(spec, fleet, now))
    match result:
        case Placed():
            clusters = result.clusters
        case Unplaceable(kind="FitError"):
            clusters = ()
        case Unplaceable():
            clusters = spec.clusters
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
    if isinstance(result, Placed) and _is_placement(spec, result.clusters):
        return Decision(result.clusters, left.graceful_eviction_tasks, result, evicted=tuple(due))
    reason = result.message if isinstance(result, Unplaceable) else "no cluster would hold a copy"
    if mode == "Directly" or not settings.keep_without_place:
        kept = result if isinstance(result, Unplaceable) else None
        return Decision(left.clusters, left.graceful_eviction_tasks, kept, evicted=tuple(due))
    return Decision(spec.clusters, spec.graceful_eviction_tasks, held=_held(due, reason))


def _reschedule(
    binding: Binding,
    left: ResourceBindingSpec,
    fleet: Mapping[str, Cluster],
    now: datetime,
    settings: PlacementSettings,
) -> Placed | Unplaceable:
    if left.suspension is not None and left.suspension.scheduling:
        return Unplaceable("Error", "scheduling of this binding is suspended", {})
    if not _may_schedule(left, settings):
        return Unplaceable("Error", f"it is placed by another scheduler, {left.scheduler_name}", {})
    return schedule(left, binding.status, _candidates(left, fleet, now), keep_assigned=True)


def _candidates(spec: ResourceBindingSpec, fleet: Mapping[str, Cluster], now: datetime) -> list[Cluster]:
    """All clusters, but not those that a copy would have to leave again at once (C1)."""
    tolerations = spec.placement.cluster_tolerations if spec.placement else ()
    targets = {target.name for target in spec.clusters}

    def would_bounce(cluster: Cluster) -> bool:
        taints = cluster.spec.taints
        tolerated = untolerated_taint(taints, tolerations) is None
        return cluster.name not in targets and tolerated and decide_stay(taints, tolerations, now).is_over(now)

    return [fleet[name] for name in sorted(fleet) if not would_bounce(fleet[name])]


def _is_placement(spec: ResourceBindingSpec, clusters: Sequence[TargetCluster]) -> bool:
    """Whether a scheduling result is a place to go: all replicas of a divided template, at least one copy of others."""
    if not clusters:
        return False
    return not _is_divided(spec) or sum(target.replicas for target in clusters) >= spec.replicas


def _with_tasks(
    spec: ResourceBindingSpec, due: Sequence[Eviction], mode: str, now: datetime
) -> tuple[GracefulEvictionTask, ...]:
    open_from = {task.from_cluster for task in spec.graceful_eviction_tasks}
    replicas = {target.name: target.replicas for target in spec.clusters}
    new = tuple(
        GracefulEvictionTask(
            from_cluster=eviction.cluster,
            replicas=replicas[eviction.cluster] or None,
            reason=TAINT_UNTOLERATED,
            producer=TAINT_MANAGER,
            purge_mode=mode,  # type: ignore[arg-type]
            creation_timestamp=wire_time(now),
        )
        for eviction in due
        if eviction.cluster not in open_from
    )
    return (*spec.graceful_eviction_tasks, *new)


def _held(due: Sequence[Eviction], reason: str) -> Condition:
    return _condition("NoPlaceToGo", f"not evicted from {_list(due)}, because there is no place to go: {reason}")


def _condition(reason: str, message: str) -> Condition:
    return Condition(type=EVICTION_HELD_CONDITION, status="True", reason=reason, message=message)


def _list(evictions: Sequence[Eviction]) -> str:
    return ", ".join(f"{e.cluster} ({', '.join(map(str, e.taints))})" for e in evictions)


def _without(spec: ResourceBindingSpec, clusters: set[str]) -> tuple[GracefulEvictionTask, ...]:
    return tuple(task for task in spec.graceful_eviction_tasks if task.from_cluster not in clusters)


def _may_schedule(spec: ResourceBindingSpec, settings: PlacementSettings) -> bool:
    suspended = spec.suspension is not None and bool(spec.suspension.scheduling)
    return not suspended and (spec.scheduler_name or DEFAULT_SCHEDULER) == settings.scheduler_name


def _is_divided(spec: ResourceBindingSpec) -> bool:
    strategy = spec.placement.replica_scheduling if spec.placement else None
    return spec.replicas > 0 and strategy is not None and strategy.replica_scheduling_type != "Duplicated"


def _with_spec(binding: Binding, spec: ResourceBindingSpec) -> Binding:
    return msgspec.structs.replace(binding, spec=spec)
