"""The ways in which a binding moves, each as one decision: it is placed, leaves lost clusters, leaves failed copies,
or goes on from clusters that do not take it.

Whether one of them is due is asked in `core.placement`. Holds: S1, S2, S3, S11, S12, C2.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

import msgspec

from leeward.api.cluster import Cluster
from leeward.api.work import Binding, GracefulEvictionTask, ResourceBindingSpec, TargetCluster
from leeward.core.decision import Decision, PlacementSettings, may_schedule
from leeward.core.failover.application import (
    StateNotPreserved,
    Watch,
    held_failure,
    held_for_state,
    task_of,
)
from leeward.core.failover.eviction import Eviction, last_resort_at, purge_mode, replicas_in
from leeward.core.failover.holding import held_for_lost_state, held_for_place, held_without_gain, is_automatic
from leeward.core.failover.leaving import NOTHING, eviction_task, leave, leave_further, leave_term, stalled_task
from leeward.core.failover.places import (
    find_part,
    find_place,
    is_leaving,
    is_spread,
    place_anew,
)
from leeward.core.failover.stalled import StalledTarget
from leeward.core.scheduling import Placed, Unplaceable, needs_scheduling
from leeward.core.scheduling.affinity import common_term


def place(
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
    if not may_schedule(spec, settings):
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


def evict(
    binding: Binding,
    spec: ResourceBindingSpec,
    due: Sequence[Eviction],
    fleet: Mapping[str, Cluster],
    now: datetime,
    settings: PlacementSettings,
    tried: Collection[str] = (),
) -> Decision:
    """Takes the copies away from `due` together with giving them another place; without one they stay (S11), and so
    do those of an automatic eviction that gets no new place for them (S12).

    Clusters that were `tried` in vain are asked only where no other takes them.
    """
    mode = purge_mode(spec.failover, settings.purge_mode)
    try:
        tasks = [eviction_task(binding, eviction, mode, now) for eviction in due]
    except StateNotPreserved as error:
        return replace(place(binding, spec, fleet, now, settings), held=held_for_lost_state(due, error))
    left = _left(spec, tasks, settings)
    resort_at = now if mode == "Directly" else last_resort_at(due, now)
    last_resort = resort_at <= now
    result = _find(binding, spec, left, fleet, now, settings, tried, last_resort)
    is_asked_for = mode == "Directly" or not settings.keep_without_place
    if isinstance(result, Placed):
        kept = () if is_asked_for else _without_gain(binding, spec, due, result, fleet)
        if kept:
            return _evict_with_gain(binding, spec, due, kept, tasks, result, fleet, now, settings)
        return _moved(left, result, tasks, due, settings)
    if is_asked_for:
        return Decision(left.clusters, left.graceful_eviction_tasks, result, evicted=tuple(due))
    decision = _evict_in_part(binding, spec, due, tasks, result, fleet, now, settings, last_resort)
    return replace(decision, wake_at=None if last_resort else resort_at)


def _evict_in_part(
    binding: Binding,
    spec: ResourceBindingSpec,
    due: Sequence[Eviction],
    tasks: Sequence[GracefulEvictionTask],
    refused: Unplaceable,
    fleet: Mapping[str, Cluster],
    now: datetime,
    settings: PlacementSettings,
    last_resort: bool,
) -> Decision:
    """Where not all that leaves finds a place: as many replicas as find one move, and the others stay (S11)."""
    leaving = {eviction.cluster for eviction in due}
    part = find_part(binding, spec, leaving, fleet, now, last_resort) if not _refusal(spec, settings) else None
    if part is None:
        return replace(place(binding, spec, fleet, now, settings), held=held_for_place(spec, due, refused.message))
    moved = [e for e in due if part.staying.get(e.cluster) != replicas_in(spec, e.cluster)]
    moving = {eviction.cluster for eviction in moved}
    tasks = [task for task in tasks if task.from_cluster in moving]
    decision = _moved(_left(spec, tasks, settings, part.staying), part.result, tasks, moved, settings)
    return replace(decision, held=held_for_place(spec, due, refused.message, part.staying))


def _find(
    binding: Binding,
    spec: ResourceBindingSpec,
    left: ResourceBindingSpec,
    fleet: Mapping[str, Cluster],
    now: datetime,
    settings: PlacementSettings,
    tried: Collection[str],
    last_resort: bool,
) -> Placed | Unplaceable:
    """A place for what is missing in `left`; on clusters that were tried in vain only where no other takes it."""
    refusal = _refusal(spec, settings)
    if refusal is not None:
        return refusal
    if tried:
        result = find_place(binding, left, fleet, now, tried, last_resort=last_resort)
        if isinstance(result, Placed):
            return result
    return find_place(binding, left, fleet, now, last_resort=last_resort)


def _without_gain(
    binding: Binding, spec: ResourceBindingSpec, due: Sequence[Eviction], result: Placed, fleet: Mapping[str, Cluster]
) -> tuple[Eviction, ...]:
    """The automatic evictions for which `result` has no new place: as many as are more than its new clusters.

    None of them where what stays and what is new would be no placement together (S2).
    """
    if spec.is_divided:
        return ()
    automatic = [eviction for eviction in due if is_automatic(eviction, fleet[eviction.cluster])]
    present = {target.name for target in spec.clusters}
    gained = sum(target.name not in present for target in result.clusters)
    kept = tuple(automatic[gained:])
    if not gained or not kept:
        return kept
    together = _together(spec, result, kept)
    is_one_term = common_term(binding, (target.name for target in together), fleet) is not None
    return kept if is_one_term and is_spread(msgspec.structs.replace(spec, clusters=together), fleet) else ()


def _together(spec: ResourceBindingSpec, result: Placed, kept: Sequence[Eviction]) -> tuple[TargetCluster, ...]:
    """The result, and what stays in the clusters of `kept`."""
    names = {eviction.cluster for eviction in kept}
    staying = (target for target in spec.clusters if target.name in names)
    return tuple(sorted((*result.clusters, *staying), key=lambda target: target.name))


def _evict_with_gain(
    binding: Binding,
    spec: ResourceBindingSpec,
    due: Sequence[Eviction],
    kept: Sequence[Eviction],
    tasks: Sequence[GracefulEvictionTask],
    result: Placed,
    fleet: Mapping[str, Cluster],
    now: datetime,
    settings: PlacementSettings,
) -> Decision:
    """Evicts what gets a new place, or what a person wants to go; the others of `due` are `kept` (S12)."""
    held = held_without_gain(kept)
    gaining = [eviction for eviction in due if eviction not in kept]
    if not gaining:
        return replace(place(binding, spec, fleet, now, settings), held=held)
    leaving = {eviction.cluster for eviction in gaining}
    tasks = [task for task in tasks if task.from_cluster in leaving]
    both = replace(result, clusters=_together(spec, result, kept))
    return replace(_moved(_left(spec, tasks, settings), both, tasks, gaining, settings), held=held)


def _moved(
    left: ResourceBindingSpec,
    result: Placed,
    tasks: Sequence[GracefulEvictionTask],
    evicted: Sequence[Eviction],
    settings: PlacementSettings,
) -> Decision:
    """Where `result` lies in another affinity term, the copies that are well do not leave at once either (S1)."""
    behind: tuple[str, ...] = ()
    if tasks and settings.graceful and not settings.exact_health:
        left, behind = leave_term(left, result.clusters, tasks[-1])
    return Decision(result.clusters, left.graceful_eviction_tasks, result, evicted=tuple(evicted), followed=behind)


def _left(
    spec: ResourceBindingSpec,
    tasks: Sequence[GracefulEvictionTask],
    settings: PlacementSettings,
    staying: Mapping[str, int] = NOTHING,
) -> ResourceBindingSpec:
    """`spec` once the copies have left these clusters, but for what stays; without gate GracefulEviction, no tasks."""
    left = leave_further(spec, tasks, staying)
    if settings.graceful:
        return left
    return msgspec.structs.replace(left, graceful_eviction_tasks=_without(spec, {task.from_cluster for task in tasks}))


def fail_over(
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
        decision = place(binding, spec, fleet, now, settings, watched.record.left)
        return replace(decision, held=held_for_state(watched, error))
    leaving = {task.from_cluster for task in tasks}
    left = leave(spec, tasks)
    if not settings.graceful:
        left = msgspec.structs.replace(left, graceful_eviction_tasks=_without(spec, leaving))
    suspects = () if settings.exact_health else watched.suspects
    result = _refusal(spec, settings) or find_place(binding, left, fleet, now, suspects)
    evicted = tuple(Eviction(task.from_cluster) for task in tasks)
    if isinstance(result, Placed):
        return _moved(left, result, tasks, evicted, settings)
    if settings.keep_without_place:
        decision = place(binding, spec, fleet, now, settings, watched.record.left)
        return replace(decision, held=held_failure(watched, result.message))
    return Decision(left.clusters, left.graceful_eviction_tasks, result, evicted=evicted)


def move_on(
    binding: Binding,
    spec: ResourceBindingSpec,
    stalled: Sequence[StalledTarget],
    tried: Collection[str],
    fleet: Mapping[str, Cluster],
    now: datetime,
    settings: PlacementSettings,
) -> Decision | None:
    """Takes what does not become healthy in `stalled` targets to clusters that were not `tried`; what serves there
    stays until it is healthy elsewhere. None where no other cluster takes it.

    What left `Directly` goes on so, since at most one copy runs (S7); not where any of it serves: that would go first.
    """
    directly = any(task.purge_mode == "Directly" for task in spec.graceful_eviction_tasks)
    if not may_schedule(spec, settings) or (directly and any(target.serving for target in stalled)):
        return None
    tasks = [stalled_task(target.cluster, "Directly" if directly else "Gracefully", now) for target in stalled]
    left = _left(spec, tasks, settings, {target.cluster: target.staying for target in stalled if target.staying})
    avoided = {*tried, *(target.cluster for target in stalled)}
    result = find_place(binding, left, fleet, now, avoided)
    present = {target.name for target in spec.clusters}
    if isinstance(result, Unplaceable):
        return None
    if not spec.is_divided and all(target.name in present for target in result.clusters):
        return None
    evicted = [Eviction(target.cluster, why=target.why) for target in stalled]
    return _moved(left, result, tasks, evicted, settings)


def _with_spec(binding: Binding, spec: ResourceBindingSpec) -> Binding:
    return msgspec.structs.replace(binding, spec=spec)


def _refusal(spec: ResourceBindingSpec, settings: PlacementSettings) -> Unplaceable | None:
    """Why this binding is not for us to place, if it is not."""
    if spec.suspension is not None and spec.suspension.scheduling:
        return Unplaceable("Error", "scheduling of this binding is suspended", {})
    if not may_schedule(spec, settings):
        return Unplaceable("Error", f"it is placed by another scheduler, {spec.scheduler_name}", {})
    return None


def _without(spec: ResourceBindingSpec, clusters: set[str]) -> tuple[GracefulEvictionTask, ...]:
    return tuple(task for task in spec.graceful_eviction_tasks if task.from_cluster not in clusters)
