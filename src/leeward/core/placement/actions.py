"""Ways in which a binding moves, each as one outcome. It is placed, leaves lost clusters or failed copies, or goes on
from clusters that do not take it.

Whether one of them is due is asked in `phases`. Holds: S1, S2, S3, S11, S12, C2.
"""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial

import msgspec

from leeward.api.meta import Condition
from leeward.api.purge_mode import PurgeMode, rules_of
from leeward.api.work import GracefulEvictionTask, ResourceBindingSpec
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
from leeward.core.eviction.tasks import (
    NOTHING,
    TaskReason,
    eviction_task,
    following_task,
    leave_further,
    leave_term,
    own_task,
    replacement_task,
)
from leeward.core.eviction.volumes import has_claims, purge_mode_with_volumes, stay_behind
from leeward.core.placement.decision import Outcome
from leeward.core.placement.ranks import ClusterRank, find_replacement, has_ended
from leeward.core.placement.replacement import Targets, find_partial_replacement, place_anew, resized_between_terms
from leeward.core.placement.situation import Situation
from leeward.core.scheduling import Placed, Unplaceable, needs_scheduling
from leeward.core.scheduling.affinity import common_term
from leeward.core.scheduling.joined_terms import other_term
from leeward.core.scheduling.model import is_reschedule_requested
from leeward.core.scheduling.reschedule import is_unjoined, placement_changed
from leeward.core.scheduling.selection import is_spread


def place(at: Situation) -> Outcome:
    """Scheduling where it is due. Where no cluster fits the earlier result stays, and placing is tried again (S1).

    Nothing new goes to clusters where the release was tried in vain, as long as it can go elsewhere. After a change of
    the placement nothing new goes to a cluster that is being left and is well again. A Job that is over is not placed
    anew, nor parts of it that have ended, but where a part without a place is left of it.
    """
    spec = at.spec
    if not at.authority.places or not needs_scheduling(msgspec.structs.replace(at.binding, spec=spec), at.clusters):
        return Outcome.of(spec)
    there = tuple(target for target in spec.clusters if not is_unjoined(at.clusters.get(target.name)))
    is_covered = spec.is_divided and sum(target.replicas for target in there if target.name in at.done) >= spec.replicas
    if at.is_over or has_ended(at.binding, at.done) or (is_covered and there == spec.clusters):
        stays = Placed(there, at.binding.status.scheduler_observing_affinity_name) if there == spec.clusters else None
        return Outcome(there, spec.graceful_eviction_tasks, stays)
    result = _place_anew(at, spec)
    if isinstance(result, Placed) and (taken := at.well_again & {target.name for target in result.clusters}):
        return Outcome(result.clusters, _tasks_but_of(spec, taken), result)
    match result:
        case Placed() if _leaves_term(at, result):
            mode = purge_mode_with_volumes(at.binding, at.purge_mode)
            task_of = partial(own_task, reason=TaskReason.AFFINITY_TERM_LEFT, mode=mode, now=at.now)
            left, behind = leave_term(msgspec.structs.replace(spec, clusters=there), result.clusters, task_of)
            return Outcome(result.clusters, left.graceful_eviction_tasks, result, followed=behind)
        case Placed():
            clusters = result.clusters
        case Unplaceable():
            clusters = () if result.kind in at.cleared_by else there
    return Outcome(clusters, spec.graceful_eviction_tasks, result)


def _leaves_term(at: Situation, result: Placed) -> bool:
    """Tells whether copies leave an affinity term that the placement still names: healthy copies leave gracefully (S1).

    They do on the way between two terms, where a cluster has left the fleet, or where more replicas fit nowhere else.
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
    ranks = dict.fromkeys(at.failures.memory.tried, ClusterRank.TRIED) | dict.fromkeys(at.well_again, ClusterRank.LEFT)
    ranks = {**ranks, **at.done}
    return place_anew(at.binding, spec, at.clusters, at.now, ranks, at.trace, exact=not at.spares_the_living)


def evict(at: Situation) -> Outcome:
    """Takes the copies away that are due together with giving them another place.

                          not bound to a place           bound to one (`_needs_place`: S11, S12)
        all are placed    they leave                     they leave, but for those that gain no new cluster
        not all are       they leave, and are replaced   as many replicas leave as find a place; the rest stays
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
    upto = ClusterRank.HELD_DOWN if resort_at <= at.now else ClusterRank.TRIED
    found = _find(at, left, upto)
    if not (rules_of(at.purge_mode).needs_place and at.settings.keep_without_place):
        return _moved(at, left, found, tasks, due)
    is_refused = isinstance(found, Unplaceable)
    part = _placed_in_part(at, found, upto) if is_refused else _placed_with_gain(at, found)
    moved = [each for each in due if part.staying.get(each.cluster) != replicas_in(at.spec, each.cluster)]
    clusters = {eviction.cluster for eviction in moved}
    tasks = [task for task in tasks if task.from_cluster in clusters]
    left = _left(at, tasks, part.staying) if part.staying else left
    outcome = _moved(at, left, part.result, tasks, moved) if moved else place(at)
    return replace(outcome, held=part.held, wake_at=resort_at if is_refused and resort_at > at.now else None)


@dataclass(frozen=True, slots=True)
class PlacedPart:
    """A place for a part of the copies that are due; in `staying` clusters so many replicas stay, as `held` says."""

    result: Placed
    staying: Mapping[str, int]
    held: Condition | None


def _placed_in_part(at: Situation, refused: Unplaceable, upto: ClusterRank) -> PlacedPart:
    """A place for as many replicas as find one, where not all that leave do; the others stay (S11)."""
    spec, due = at.spec, at.due
    all_stay: Mapping[str, int] = {eviction.cluster: replicas_in(spec, eviction.cluster) for eviction in due}
    part = at.authority.places and find_partial_replacement(at.binding, spec, all_stay, at.clusters, at.now, upto)
    result, staying = part or (Placed((), ""), all_stay)
    return PlacedPart(result, staying, held_for_place(spec, due, at.with_cause(refused), staying))


def _placed_with_gain(at: Situation, result: Placed) -> PlacedPart:
    """The result for as many automatic evictions as it has new clusters; the others stay (S12).

    All leave where the staying and the new copies would be no placement together (S2)."""
    spec, alone = at.spec, PlacedPart(result, NOTHING, None)
    if spec.is_divided:
        return alone
    present = {target.name for target in spec.clusters}
    gained = sum(target.name not in present for target in result.clusters)
    automatic = [eviction for eviction in at.due if is_automatic(eviction, at.clusters[eviction.cluster])]
    kept = automatic[gained:]
    staying = {eviction.cluster: replicas_in(spec, eviction.cluster) for eviction in kept}
    beside = (target for target in spec.clusters if target.name in staying)
    together = tuple(sorted((*result.clusters, *beside), key=lambda target: target.name))
    if not kept or (gained and not _is_placement(at, together)):
        return alone
    return PlacedPart(replace(result, clusters=together), staying, held_without_gain(kept))


def _is_placement(at: Situation, targets: Targets) -> bool:
    """Tells whether these targets lie in one affinity term, and are spread as the placement asks for."""
    is_one_term = common_term(at.binding, (target.name for target in targets), at.clusters) is not None
    return is_one_term and is_spread(msgspec.structs.replace(at.spec, clusters=targets), at.clusters)


def _find(at: Situation, left: ResourceBindingSpec, upto: ClusterRank) -> Placed | Unplaceable:
    """A place for the missing replicas of `left`, in clusters of these ranks."""
    refusal = at.authority.refusal
    return refusal or find_replacement(at.binding, left, at.clusters, at.now, at.ranks, upto, at.trace)


def _moved(
    at: Situation,
    left: ResourceBindingSpec,
    result: Placed | Unplaceable,
    tasks: Sequence[GracefulEvictionTask],
    evicted: Sequence[Eviction],
) -> Outcome:
    """The outcome of a move. Where it leads to another affinity term, healthy copies leave gracefully, too (S1). Copies
    without a place are replaced when there is one."""
    behind: tuple[str, ...] = ()
    if isinstance(result, Unplaceable):
        return replace(Outcome.of(left, result), evicted=tuple(evicted))
    if tasks and at.leaves_terms_gracefully:
        task_of = partial(following_task, followed=tasks[-1], one_writer=has_claims(at.binding))
        left, behind = leave_term(left, result.clusters, task_of)
    return Outcome(result.clusters, left.graceful_eviction_tasks, result, evicted=tuple(evicted), followed=behind)


def _left(
    at: Situation, tasks: Sequence[GracefulEvictionTask], staying: Mapping[str, int] = NOTHING
) -> ResourceBindingSpec:
    """The spec once copies have left these clusters, but for the staying part. No tasks without GracefulEviction."""
    left = leave_further(at.spec, tasks, staying)
    if at.settings.graceful:
        return left
    return msgspec.structs.replace(
        left, graceful_eviction_tasks=_tasks_but_of(at.spec, {t.from_cluster for t in tasks})
    )


def fail_over(at: Situation) -> Outcome:
    """Takes failed copies away from clusters that are well. Without a place that is no suspect they stay (S11)."""
    spec, failures = at.spec, at.failures
    if at.settings.keep_without_place and stay_behind(at.binding, application_purge_mode(spec)):
        return replace(place(at), held=held_for_volumes(failures, at.binding))
    try:
        tasks = [failure_task(at.binding, item, at.now) for item in failures.failed]
    except StateNotPreserved as error:
        return replace(place(at), held=held_for_state(failures, error))
    evicted = [Eviction(task.from_cluster) for task in tasks]
    left = _left(at, tasks)
    found = _find(at, left, ClusterRank.TAKES)
    if isinstance(found, Unplaceable) and at.settings.keep_without_place:
        return replace(place(at), held=held_failure(failures, found))
    return _moved(at, left, found, tasks, evicted)


def move_on(at: Situation) -> Outcome | None:
    """Takes the part that does not become healthy in stalled targets to untried clusters. The serving part stays until
    it is healthy elsewhere. None where no other cluster takes it.

    A copy that left `Directly` goes on so, since at most one runs (S7); not where any replica serves, which would go
    first.
    """
    spec, stalled = at.spec, at.stalled.targets
    directly = any(not task.purge_rules.keeps_copy for task in spec.graceful_eviction_tasks) or (
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
    """A place for the part that does not serve in stalled targets. Where that finds none beside the serving part, as
    under a limit of one cluster, a place for all of it: the serving part stays until all is healthy elsewhere."""
    staying = {target.cluster: target.staying for target in at.stalled.targets if target.staying}
    left = _left(at, tasks, staying)
    result = _find(at, left, ClusterRank.TAKES)
    if isinstance(result, Unplaceable) and staying:
        whole = _left(at, tasks)
        if isinstance(again := _find(at, whole, ClusterRank.TAKES), Placed):
            return whole, again
    return left, result


def _tasks_but_of(spec: ResourceBindingSpec, clusters: Set[str]) -> tuple[GracefulEvictionTask, ...]:
    return tuple(task for task in spec.graceful_eviction_tasks if task.from_cluster not in clusters)
