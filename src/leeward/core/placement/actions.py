"""Ways in which a binding moves, each as one outcome: it is placed, leaves lost clusters or failed copies, or goes on
from clusters that do not take it.

Whether one of them is due is asked in `phases`. Holds: S1, S2, S3, S11, S12, C2.
"""

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from functools import partial
from typing import assert_never

import msgspec

from leeward.api.purge_mode import PurgeMode, rules_of
from leeward.api.work import GracefulEvictionTask, ResourceBindingSpec, TargetCluster
from leeward.core.copies.purge_modes import rules_of_task
from leeward.core.eviction.application import (
    application_purge_mode,
    failure_task,
    held_failure,
    held_for_state,
    held_for_volumes,
)
from leeward.core.eviction.blocked_evictions import held_for_lost_state, held_for_place, held_without_gain
from leeward.core.eviction.due_evictions import Eviction, is_automatic, last_resort_at, replicas_in
from leeward.core.eviction.state_preservation import StateNotPreserved
from leeward.core.eviction.task_reasons import TaskReason
from leeward.core.eviction.tasks import (
    NOTHING,
    eviction_task,
    following_task,
    leave,
    leave_further,
    leave_term,
    own_task,
    replacement_task,
)
from leeward.core.eviction.volumes import has_claims, purge_mode_with_volumes, stay_behind
from leeward.core.placement.decision import Outcome
from leeward.core.placement.replacement import (
    find_partial_replacement,
    find_replacement,
    place_anew,
    resized_between_terms,
)
from leeward.core.placement.situation import Situation
from leeward.core.scheduling import Placed, Unplaceable, needs_scheduling
from leeward.core.scheduling.affinity import common_term
from leeward.core.scheduling.joined_terms import other_term
from leeward.core.scheduling.model import is_reschedule_requested
from leeward.core.scheduling.reschedule import is_unjoined, placement_changed
from leeward.core.scheduling.selection import is_spread


def place(at: Situation) -> Outcome:
    """Scheduling where it is due; where no cluster fits the earlier result stays, and is tried again (S1).

    Nothing new goes to clusters where the release was tried in vain, as long as it can go elsewhere; nor, where the
    placement was changed, to one that is being left and is well again.
    """
    spec = at.spec
    if not at.authority.places or not needs_scheduling(msgspec.structs.replace(at.binding, spec=spec), at.clusters):
        return Outcome.of(spec)
    result = _place_anew(at, spec)
    if isinstance(result, Unplaceable) and (back := _place_where_it_was(at)) is not None:
        return back
    there = tuple(target for target in spec.clusters if not is_unjoined(at.clusters.get(target.name)))
    match result:
        case Placed() if _leaves_term(at, result):
            mode = purge_mode_with_volumes(at.binding, at.purge_mode)
            task_of = partial(own_task, reason=TaskReason.AFFINITY_TERM_LEFT, mode=mode, now=at.now)
            left, behind = leave_term(msgspec.structs.replace(spec, clusters=there), result.clusters, task_of)
            return Outcome(result.clusters, left.graceful_eviction_tasks, result, followed=behind)
        case Placed():
            clusters = result.clusters
        case Unplaceable(kind="FitError") if at.settings.exact_health:
            clusters = ()
        case Unplaceable():
            clusters = there
    return Outcome(clusters, spec.graceful_eviction_tasks, result)


def _leaves_term(at: Situation, result: Placed) -> bool:
    """Tells whether copies leave an affinity term that the placement still names: what is well leaves gracefully (S1).

    They do on the way between two terms, whatever is asked for; else where a cluster has left the fleet, or more
    replicas fit nowhere else.
    """
    status = at.binding.status
    is_asked_for = placement_changed(at.binding) or is_reschedule_requested(at.spec, status.last_scheduled_time)
    goes_elsewhere = not is_asked_for and result.affinity_name != status.scheduler_observing_affinity_name
    return at.leaves_terms_gracefully and (goes_elsewhere or other_term(at.own_binding, at.clusters) is not None)


def _place_anew(at: Situation, spec: ResourceBindingSpec) -> Placed | Unplaceable:
    if at.is_between_terms and not spec.asks_for_none:
        returned = at.original.clusters if at.original is not None else ()
        there = tuple(target for target in spec.clusters if not is_unjoined(at.clusters.get(target.name)))
        left = msgspec.structs.replace(spec, clusters=there)
        return resized_between_terms(at.binding, left, returned, at.clusters, at.now)
    exact, tried = at.settings.exact_health, at.failures.memory.tried
    return place_anew(at.binding, spec, at.clusters, at.now, tried, at.trace, exact=exact)


def _place_where_it_was(at: Situation) -> Outcome | None:
    """Places it as a user wants it by now, with clusters that are well again: the evictions from those that it takes
    are over. None where there are none, or that finds no place either."""
    if not at.well_again:
        return None
    told = len(at.trace.terms) if at.trace is not None else 0
    result = _place_anew(at, _without(at.spec, at.well_again))
    if isinstance(result, Unplaceable):
        if at.trace is not None:
            del at.trace.terms[told:]
        return None
    taken = at.well_again & {target.name for target in result.clusters}
    return Outcome(result.clusters, _without(at.spec, taken).graceful_eviction_tasks, result)


def evict(at: Situation) -> Outcome:
    """Takes the copies away that are due together with giving them another place.

                          not bound to a place           bound to one (`_needs_place`: S11, S12)
        all are placed    they leave                     they leave, but for those that gain no new cluster
        not all are       they leave, and are replaced   as many replicas leave as find a place; what finds none stays
                          when there is a place

    Without the state that the policy wants to be preserved, nothing leaves. Clusters that were tried in vain are asked
    only where no other takes the copies.
    """
    due, mode = at.due, purge_mode_with_volumes(at.binding, at.purge_mode)
    try:
        tasks = [eviction_task(at.binding, eviction, mode, at.now) for eviction in due]
    except StateNotPreserved as error:
        return replace(place(at), held=held_for_lost_state(due, error))
    left = _left(at, tasks)
    resort_at = last_resort_at(due, at.now) if rules_of(at.purge_mode).needs_place else at.now
    last_resort = resort_at <= at.now
    match _find(at, left, last_resort), _needs_place(at):
        case Placed() as result, False:
            return _moved(at, left, result, tasks, due)
        case Placed() as result, True:
            kept = _without_gain(at, result)
            return _evict_with_gain(at, kept, tasks, result) if kept else _moved(at, left, result, tasks, due)
        case Unplaceable() as refused, False:
            return replace(Outcome.of(left, refused), evicted=due)
        case Unplaceable() as refused, True:
            outcome = _evict_in_part(at, tasks, refused, last_resort)
            return replace(outcome, wake_at=None if last_resort else resort_at)
        case _ as never:
            assert_never(never)


def _needs_place(at: Situation) -> bool:
    """Tells whether a copy may leave only for another place: not `Directly`, nor by Karmada's rules."""
    return rules_of(at.purge_mode).needs_place and at.settings.keep_without_place


def _evict_in_part(
    at: Situation, tasks: Sequence[GracefulEvictionTask], refused: Unplaceable, last_resort: bool
) -> Outcome:
    """Evicts as many replicas as find a place, where not all that leave do; the others stay (S11)."""
    spec, due, refused = at.spec, at.due, at.with_cause(refused)
    leaving = {eviction.cluster for eviction in due}
    part = None
    if at.authority.places:
        part = find_partial_replacement(at.binding, spec, leaving, at.clusters, at.now, last_resort)
    if part is None:
        return replace(place(at), held=held_for_place(spec, due, refused))
    moved = [e for e in due if part.staying.get(e.cluster) != replicas_in(spec, e.cluster)]
    moving = {eviction.cluster for eviction in moved}
    tasks = [task for task in tasks if task.from_cluster in moving]
    outcome = _moved(at, _left(at, tasks, part.staying), part.result, tasks, moved)
    return replace(outcome, held=held_for_place(spec, due, refused, part.staying))


def _find(at: Situation, left: ResourceBindingSpec, last_resort: bool) -> Placed | Unplaceable:
    """A place for what is missing in `left`; where it was tried in vain, or nothing is dispatched, only as
    a last way out."""
    if at.authority.refusal is not None:
        return at.authority.refusal
    find = partial(find_replacement, at.binding, left, at.clusters, at.now, last_resort=last_resort, trace=at.trace)
    suspension = at.spec.suspension
    on_clusters = suspension.dispatching_on_clusters if suspension is not None else None
    avoided = {*at.failures.memory.tried, *(on_clusters.cluster_names if on_clusters is not None else ())}
    result = find(avoided)
    return result if isinstance(result, Placed) or not avoided else find()


def _without_gain(at: Situation, result: Placed) -> tuple[Eviction, ...]:
    """The automatic evictions for which `result` has no new place: as many as are more than its new clusters.

    None of them where what stays and what is new would be no placement together (S2).
    """
    spec = at.spec
    if spec.is_divided:
        return ()
    automatic = [eviction for eviction in at.due if is_automatic(eviction, at.clusters[eviction.cluster])]
    present = {target.name for target in spec.clusters}
    gained = sum(target.name not in present for target in result.clusters)
    kept = tuple(automatic[gained:])
    if not gained or not kept:
        return kept
    together = _together(spec, result, kept)
    is_one_term = common_term(at.binding, (target.name for target in together), at.clusters) is not None
    is_legal = is_one_term and is_spread(msgspec.structs.replace(spec, clusters=together), at.clusters)
    return kept if is_legal else ()


def _together(spec: ResourceBindingSpec, result: Placed, kept: Sequence[Eviction]) -> tuple[TargetCluster, ...]:
    """The result, and what stays in the clusters of `kept`."""
    names = {eviction.cluster for eviction in kept}
    staying = (target for target in spec.clusters if target.name in names)
    return tuple(sorted((*result.clusters, *staying), key=lambda target: target.name))


def _evict_with_gain(
    at: Situation, kept: Sequence[Eviction], tasks: Sequence[GracefulEvictionTask], result: Placed
) -> Outcome:
    """Evicts what gets a new place, or what a person wants to go; the others of what is due are `kept` (S12)."""
    held = held_without_gain(kept)
    gaining = [eviction for eviction in at.due if eviction not in kept]
    if not gaining:
        return replace(place(at), held=held)
    leaving = {eviction.cluster for eviction in gaining}
    tasks = [task for task in tasks if task.from_cluster in leaving]
    both = replace(result, clusters=_together(at.spec, result, kept))
    return replace(_moved(at, _left(at, tasks), both, tasks, gaining), held=held)


def _moved(
    at: Situation,
    left: ResourceBindingSpec,
    result: Placed,
    tasks: Sequence[GracefulEvictionTask],
    evicted: Sequence[Eviction],
) -> Outcome:
    """The outcome of a move; where it leads to another affinity term, copies that are well leave gracefully, too
    (S1)."""
    behind: tuple[str, ...] = ()
    if tasks and at.leaves_terms_gracefully:
        task_of = partial(following_task, followed=tasks[-1], one_writer=has_claims(at.binding))
        left, behind = leave_term(left, result.clusters, task_of)
    return Outcome(result.clusters, left.graceful_eviction_tasks, result, evicted=tuple(evicted), followed=behind)


def _left(
    at: Situation, tasks: Sequence[GracefulEvictionTask], staying: Mapping[str, int] = NOTHING
) -> ResourceBindingSpec:
    """The spec once the copies have left these clusters, but for what stays; without GracefulEviction, no tasks."""
    left = leave_further(at.spec, tasks, staying)
    return left if at.settings.graceful else _without_tasks(at.spec, left, tasks)


def fail_over(at: Situation) -> Outcome:
    """Takes failed copies away from clusters that are well. Without a place that is no suspect they stay (S11)."""
    spec, failures = at.spec, at.failures
    if at.settings.keep_without_place and stay_behind(at.binding, application_purge_mode(spec)):
        return replace(place(at), held=held_for_volumes(failures, at.binding))
    try:
        tasks = [failure_task(at.binding, item, at.now) for item in failures.failed]
    except StateNotPreserved as error:
        return replace(place(at), held=held_for_state(failures, error))
    left = leave(spec, tasks)
    if not at.settings.graceful:
        left = _without_tasks(spec, left, tasks)
    excluded = () if at.settings.exact_health else failures.unhealthy_clusters
    result = at.authority.refusal or find_replacement(at.binding, left, at.clusters, at.now, excluded, trace=at.trace)
    evicted = tuple(Eviction(task.from_cluster) for task in tasks)
    if isinstance(result, Placed):
        return _moved(at, left, result, tasks, evicted)
    if at.settings.keep_without_place:
        return replace(place(at), held=held_failure(failures, result))
    return replace(Outcome.of(left, result), evicted=evicted)


def move_on(at: Situation) -> Outcome | None:
    """Takes what does not become healthy in stalled targets to clusters that were not tried; what serves there stays
    until it is healthy elsewhere. None where no other cluster takes it.

    What left `Directly` goes on so, since at most one copy runs (S7); not where any of it serves: that would go first.
    """
    spec, stalled = at.spec, at.stalled.targets
    directly = any(not rules_of_task(task).keeps_copy for task in spec.graceful_eviction_tasks) or (
        not spec.graceful_eviction_tasks and not rules_of(purge_mode_with_volumes(at.binding, at.purge_mode)).keeps_copy
    )
    mode = PurgeMode.DIRECTLY if directly else PurgeMode.GRACEFULLY
    if not at.authority.places or (directly and any(target.serving for target in stalled)):
        return None
    tasks = [replacement_task(at.binding, target.cluster, mode, at.now) for target in stalled]
    left, result = _find_next(at, tasks)
    present = {target.name for target in spec.clusters}
    if isinstance(result, Unplaceable):
        return None
    if not spec.is_divided and all(target.name in present for target in result.clusters):
        return None
    evicted = [Eviction(target.cluster, why=target.why) for target in stalled]
    return _moved(at, left, result, tasks, evicted)


def _find_next(
    at: Situation, tasks: Sequence[GracefulEvictionTask]
) -> tuple[ResourceBindingSpec, Placed | Unplaceable]:
    """A place for what does not serve in stalled targets; for all of them, where a part finds none beside what serves
    of them, as under a limit of one cluster: that stays until all is healthy elsewhere."""
    stalled = at.stalled.targets
    avoided = {*at.failures.memory.tried, *(target.cluster for target in stalled)}
    find = partial(find_replacement, at.binding, fleet=at.clusters, now=at.now, excluded=avoided, trace=at.trace)
    staying = {target.cluster: target.staying for target in stalled if target.staying}
    left = _left(at, tasks, staying)
    result = find(left)
    if isinstance(result, Unplaceable) and staying:
        whole = _left(at, tasks)
        if isinstance(again := find(whole), Placed):
            return whole, again
    return left, result


def _without_tasks(
    spec: ResourceBindingSpec, left: ResourceBindingSpec, tasks: Sequence[GracefulEvictionTask]
) -> ResourceBindingSpec:
    """`left` with the tasks that `spec` had, but for those of these clusters: they are left without grace."""
    kept = _without(spec, {task.from_cluster for task in tasks}).graceful_eviction_tasks
    return msgspec.structs.replace(left, graceful_eviction_tasks=kept)


def _without(spec: ResourceBindingSpec, clusters: Set[str]) -> ResourceBindingSpec:
    """The spec without its eviction tasks for these clusters."""
    kept = tuple(task for task in spec.graceful_eviction_tasks if task.from_cluster not in clusters)
    return msgspec.structs.replace(spec, graceful_eviction_tasks=kept)
