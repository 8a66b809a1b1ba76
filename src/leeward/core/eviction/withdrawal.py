"""A cluster comes back before its eviction is finished: is the eviction still worth it?

It is withdrawn when the old copy is seen healthy and the replacement is not yet: the copy that works is kept, and what
is not there yet is given up, as far as that is needed. What is ready already stays where it is, and so does a copy that
was there before and serves. A copy that may serve more than the old one is not given up for it: after a user has scaled
up, the old copy still has its old size. And what has found no place elsewhere is taken back at once: a cluster that is
well is never barred while replicas are missing.

Where the replacement lies in another affinity term than the old copies, a part of each would be no placement (S2): then
all tasks are withdrawn together, once all old copies are seen healthy, and the new ones are not. Targets that both
terms have stay as they are.

Karmada has no such thing: there a task outlives the outage, and the recovered cluster stays barred (fault 4 of
docs/karmada-behaviour.md).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

import msgspec

from leeward.api.cluster import Cluster
from leeward.api.policy import Placement
from leeward.api.work import Binding, GracefulEvictionTask, ResourceBindingSpec, TargetCluster, Work
from leeward.core.cluster_health.flap_damping import tolerating_hold_down
from leeward.core.cluster_health.watched_time import WatchedTime
from leeward.core.eviction.due_evictions import decide_stay, replicas_in
from leeward.core.eviction.evidence import (
    is_current,
    is_seen_healthy,
    known_to_serve,
    may_serve,
    seen_ready,
    was_there_before,
)
from leeward.core.eviction.purge_modes import rules_of_task
from leeward.core.eviction.task_reasons import reason_rules_of_task
from leeward.core.scheduling.affinity import common_term, is_in_term
from leeward.core.scheduling.model import Request
from leeward.core.scheduling.reschedule import placement_changed
from leeward.core.scheduling.selection import is_spread
from leeward.core.scheduling.steps import is_feasible


@dataclass(frozen=True, slots=True)
class Withdrawal:
    """The result with the old copy back in it, and the tasks that are left.

    `affinity_name` is the term that the result satisfies. `given_up`: it was a way home, and took too long.
    """

    returned: tuple[str, ...]
    clusters: tuple[TargetCluster, ...]
    tasks: tuple[GracefulEvictionTask, ...]
    affinity_name: str
    given_up: bool = False


def find_withdrawal(
    binding: Binding,
    clusters: Mapping[str, Cluster],
    works: Mapping[str, Work],
    now: datetime,
    grace_seconds: float,
    time: WatchedTime,
) -> Withdrawal | None:
    """The first open task that is to be withdrawn, or all of them. Grace is watched time. Holds: S1, S2, S3, S13."""
    spec = binding.spec
    if not is_current(binding) or placement_changed(binding):
        return None
    for task in spec.graceful_eviction_tasks:
        is_way_home = reason_rules_of_task(task).is_way_home
        if is_way_home and not _has_failed(spec, task, clusters, now, grace_seconds, time):
            continue
        late = _is_late(task, now, grace_seconds, time)
        if not _is_alive_again(spec, task, clusters.get(task.from_cluster), works.get(task.from_cluster), now, late):
            continue
        leaving = task.replicas or 0
        back = min(spec.replicas - sum(target.replicas for target in spec.clusters), leaving)
        if spec.is_divided and back > 0:
            result, tasks = _partly(spec, task, back, leaving - back)
        else:
            result = _with_old_copy(spec, task, clusters, works)
            tasks = tuple(t for t in spec.graceful_eviction_tasks if t is not task)
        affinity_name = None if result is None else common_term(binding, (target.name for target in result), clusters)
        if result is not None and affinity_name is not None:
            return Withdrawal((task.from_cluster,), result, tasks, affinity_name, is_way_home and late)
    return _all_back(binding, clusters, works, now)


def _all_back(
    binding: Binding, clusters: Mapping[str, Cluster], works: Mapping[str, Work], now: datetime
) -> Withdrawal | None:
    """Back into the affinity term that was left, when all that was there is well. What never got healthy where it was
    moved to in vain was not there, and its task goes on."""
    spec, tasks = binding.spec, binding.spec.graceful_eviction_tasks
    alive = {
        t.from_cluster
        for t in tasks
        if _is_alive_again(spec, t, clusters.get(t.from_cluster), works.get(t.from_cluster), now)
    }
    vain = tuple(t for t in tasks if reason_rules_of_task(t).had_nothing and t.from_cluster not in alive)
    old = {t.from_cluster: t.replicas or 0 for t in tasks if t not in vain}
    if not old or not alive.issuperset(old):
        return None
    if common_term(binding, (*old, *(target.name for target in spec.clusters)), clusters) is not None:
        return None
    term = common_term(binding, old, clusters)
    if term is None:
        return None
    stay = {t.name: t.replicas for t in spec.clusters if is_in_term(spec, term, clusters.get(t.name))}
    gone = [target for target in spec.clusters if target.name not in stay]
    if all(is_seen_healthy(works.get(t.name), clusters.get(t.name), t.replicas) for t in gone):
        return None
    if spec.is_divided and sum(old.values()) + sum(stay.values()) != spec.replicas:
        return None
    back = {name: stay.get(name, 0) + count if spec.is_divided else spec.replicas for name, count in old.items()}
    result = tuple(TargetCluster(name, replicas) for name, replicas in sorted({**stay, **back}.items()))
    if stay and not is_spread(msgspec.structs.replace(spec, clusters=result), clusters):
        return None
    if not _serves_no_less(old, gone, clusters, works):
        return None
    return Withdrawal(tuple(sorted(old)), result, vain, term)


def _serves_no_less(
    old: Iterable[str],
    gone: Iterable[TargetCluster],
    clusters: Mapping[str, Cluster],
    works: Mapping[str, Work],
) -> bool:
    """Whether the `old` copies are known to serve as much as what is given up for them may serve. Holds: S1."""
    returning = (known_to_serve(works.get(name), clusters.get(name)) for name in old)
    lost = (may_serve(works.get(t.name), clusters.get(t.name), t.replicas) for t in gone)
    return sum(lost) <= sum(serving.ready for serving in returning if serving is not None)


def _has_failed(
    spec: ResourceBindingSpec,
    task: GracefulEvictionTask,
    clusters: Mapping[str, Cluster],
    now: datetime,
    grace_seconds: float,
    time: WatchedTime,
) -> bool:
    """A way home ends where a cluster is lost meanwhile, and where nothing has become healthy in time."""
    return _is_late(task, now, grace_seconds, time) or any(
        target.name not in clusters or not clusters[target.name].is_ready for target in spec.clusters
    )


def _is_late(task: GracefulEvictionTask, now: datetime, grace_seconds: float, time: WatchedTime) -> bool:
    seconds = grace_seconds if task.grace_period_seconds is None else task.grace_period_seconds
    began = task.creation_timestamp
    return began is not None and now > time.moved(began) + timedelta(seconds=seconds)


def _partly(
    spec: ResourceBindingSpec, task: GracefulEvictionTask, back: int, left: int
) -> tuple[tuple[TargetCluster, ...], tuple[GracefulEvictionTask, ...]]:
    """What finds no place elsewhere is taken `back` from the task, in which so many are `left`; what its Work asks for
    stays the same."""
    tasks = tuple(
        msgspec.structs.replace(t, replicas=left) if t is task else t
        for t in spec.graceful_eviction_tasks
        if t is not task or left
    )
    others = tuple(target for target in spec.clusters if target.name != task.from_cluster)
    old = TargetCluster(task.from_cluster, replicas_in(spec, task.from_cluster) + back)
    return tuple(sorted((*others, old), key=lambda target: target.name)), tasks


def _is_alive_again(
    spec: ResourceBindingSpec,
    task: GracefulEvictionTask,
    cluster: Cluster | None,
    work: Work | None,
    now: datetime,
    late: bool = False,
) -> bool:
    """A cluster that is held down keeps its copy when the replacement is `late`; at once would be to and fro (C1)."""
    if cluster is None or cluster.is_being_deleted or not reason_rules_of_task(task).withdraws:
        return False
    if not rules_of_task(task).withdraws or work is None or work.metadata.deletion_timestamp is not None:
        return False
    tolerations = spec.tolerations
    may_stay = not decide_stay(cluster.spec.taints, tolerations, now).is_over(now)
    replicas = (task.replicas or 0) + replicas_in(spec, task.from_cluster)
    asked = tolerating_hold_down(spec) if late else spec
    return may_stay and _is_feasible(asked, task, cluster) and is_seen_healthy(work, cluster, replicas)


def _is_feasible(spec: ResourceBindingSpec, task: GracefulEvictionTask, cluster: Cluster) -> bool:
    """Whether the scheduler would consider the cluster, were there no task and no copy; in which affinity term is asked
    with the others (`common_term`). Holds: S2."""
    others = tuple(other for other in spec.graceful_eviction_tasks if other is not task)
    bare = msgspec.structs.replace(spec, graceful_eviction_tasks=others, clusters=())
    return is_feasible(Request(bare), cluster)


def _with_old_copy(
    spec: ResourceBindingSpec, task: GracefulEvictionTask, clusters: Mapping[str, Cluster], works: Mapping[str, Work]
) -> tuple[TargetCluster, ...] | None:
    """The present result, less what is not ready, plus the old copy; None when too much of it is ready already."""
    others = tuple(target for target in spec.clusters if target.name != task.from_cluster)
    back, stayed = task.replicas or 0, replicas_in(spec, task.from_cluster)
    if spec.is_divided:
        ready = {t.name: min(t.replicas, seen_ready(works.get(t.name), clusters.get(t.name))) for t in others}
        if reason_rules_of_task(task).is_way_home:
            back = min(back, sum(target.replicas - ready[target.name] for target in others))
        kept = _less(others, ready, back)
    else:
        healthy = {t.name for t in others if is_seen_healthy(works.get(t.name), clusters.get(t.name), t.replicas)}
        served = {t.name for t in others if _served_before(task, clusters.get(t.name), works.get(t.name))}
        kept = _fewer(spec, healthy, served)
        gone = () if kept is None else (t for t in others if t not in kept)
        if not _serves_no_less((task.from_cluster,), gone, clusters, works):
            return None
    back = back + stayed if spec.is_divided else spec.replicas
    if kept is None or (spec.is_divided and back == 0):
        return None
    return tuple(sorted((*kept, TargetCluster(task.from_cluster, back)), key=lambda target: target.name))


def _less(
    targets: tuple[TargetCluster, ...], ready: Mapping[str, int], excess: int
) -> tuple[TargetCluster, ...] | None:
    """Takes `excess` replicas away from where they are not ready."""
    kept: list[TargetCluster] = []
    for target in sorted(targets, key=lambda target: (ready[target.name] - target.replicas, target.name)):
        taken = min(excess, target.replicas - ready[target.name])
        excess -= taken
        if target.replicas > taken:
            kept.append(msgspec.structs.replace(target, replicas=target.replicas - taken))
    return tuple(kept) if excess == 0 else None


def _served_before(task: GracefulEvictionTask, cluster: Cluster | None, work: Work | None) -> bool:
    """Whether the copy is none that replaces what the task is about, and not known to serve nothing."""
    if cluster is None or not cluster.is_ready or not was_there_before(work, task.creation_timestamp):
        return False
    serving = known_to_serve(work, cluster)
    return serving is None or serving.ready > 0


def _fewer(spec: ResourceBindingSpec, healthy: set[str], served: set[str]) -> tuple[TargetCluster, ...] | None:
    """Drops copies that are neither healthy nor `served` before, where the constraint on clusters leaves no room for
    the old one."""
    if len(healthy) == len(spec.clusters):
        return None
    room, stay = _max_clusters(spec) - 1, healthy | served
    kept = sorted(spec.clusters, key=lambda target: (target.name not in stay, target.name))[:room]
    dropped = {target.name for target in spec.clusters} - {target.name for target in kept}
    return None if dropped & stay else tuple(kept)


def _max_clusters(spec: ResourceBindingSpec) -> int:
    constraints = (spec.placement or Placement()).spread_constraints
    limits = [c.max_groups for c in constraints if c.spread_by_field == "cluster" and c.max_groups > 0]
    return min(limits, default=len(spec.clusters) + 1)
