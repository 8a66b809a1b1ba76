"""Withdrawal of evictions: a cluster comes back before what left it was replaced, and its old copy is kept.

The old copy must be seen healthy, where the scheduler would consider the cluster; and it must be known to serve as much
as what is given up for it may serve: after a user has scaled up, the old copy still has its old size. What a reason and
a purge mode allow stands in their tables (`task_reasons`, `api.purge_mode`). The first way that is open is taken:

    for each eviction task
      replicas are missing elsewhere   as many come back as have no place, and nothing is given up: while replicas are
                                       missing, no cluster that is well is barred
      divided, all are placed          all that left comes back, for replicas that are not ready yet; past its grace
                                       period for what is ready of such a part, too, so that all that is asked for is
                                       ready; of a failback that has failed, as many as are not ready
      duplicated                       the copy comes back, for one that neither is ready nor served before, where a
                                       constraint on clusters leaves no room for both
    for all tasks together             the replacement lies in another affinity term, so that a part of each would be no
                                       placement (S2): all come back once all old copies are seen healthy, and the new
                                       ones are not; targets that both terms have stay as they are

After a changed placement nothing comes back by itself: the user has said where it is to be. Where that finds no place
without a cluster that is being left and is well again, it is not barred any more (`placement.actions.place`).

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
from leeward.core.copies.availability import Availability, at_instant, availability, wanted_by_itself
from leeward.core.copies.evidence import is_current, was_there_before
from leeward.core.copies.purge_modes import rules_of_task
from leeward.core.eviction.due_evictions import decide_stay, replicas_in
from leeward.core.eviction.making_room import without_partly_ready, without_unready
from leeward.core.eviction.task_reasons import reason_rules_of_task
from leeward.core.eviction.tasks import grace_of
from leeward.core.scheduling.affinity import common_term, is_in_term
from leeward.core.scheduling.model import Request
from leeward.core.scheduling.reschedule import placement_changed
from leeward.core.scheduling.selection import is_spread
from leeward.core.scheduling.spread_fields import is_over_clusters
from leeward.core.scheduling.steps import is_feasible


@dataclass(frozen=True, slots=True)
class Withdrawal:
    """The result with the old copy back in it, and the tasks that are left.

    `affinity_name` is the term that the result satisfies. `given_up`: it was a failback, and took too long.
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
    if not is_current(binding) or placement_changed(binding):
        return None
    copies = _Copies(binding, clusters, works, now, grace_seconds, time)
    single = (found for task in copies.tasks if (found := _one_back(copies, task)) is not None)
    return next(single, None) or _all_back(copies)


def well_again(
    binding: Binding,
    clusters: Mapping[str, Cluster],
    works: Mapping[str, Work],
    now: datetime,
    grace_seconds: float,
    time: WatchedTime,
) -> frozenset[str]:
    """Clusters that are being left, and whose copies are seen healthy and may stay."""
    copies = _Copies(binding, clusters, works, now, grace_seconds, time)
    alive = (task for task in copies.tasks if copies.is_alive_again(task, late=copies.is_late(task)))
    return frozenset(task.from_cluster for task in alive)


@dataclass(frozen=True, slots=True)
class _Copies:
    """Copies of a binding, with what is known of them: those that were left, and those that replace them."""

    binding: Binding
    clusters: Mapping[str, Cluster]
    works: Mapping[str, Work]
    now: datetime
    grace_seconds: float
    time: WatchedTime

    @property
    def spec(self) -> ResourceBindingSpec:
        return self.binding.spec

    @property
    def tasks(self) -> tuple[GracefulEvictionTask, ...]:
        return self.binding.spec.graceful_eviction_tasks

    def known(self, name: str, replicas: int) -> Availability:
        return availability(self.works.get(name), self.clusters.get(name), replicas)

    def is_healthy(self, target: TargetCluster) -> bool:
        return self.known(target.name, target.replicas).is_whole

    def ready_in(self, target: TargetCluster) -> int:
        """Number of its replicas that surely serve."""
        return min(target.replicas, self.known(target.name, target.replicas).at_least)

    def serving_in(self, target: TargetCluster) -> int:
        """Number of its replicas that nothing else takes the place of, as long as there is time: also those that were
        told last of a Ready cluster, of which nothing is known now."""
        known, cluster = self.known(target.name, target.replicas), self.clusters.get(target.name)
        is_unknown = cluster is not None and cluster.is_ready and known.since is None
        return min(target.replicas, max(known.at_least, known.told if is_unknown else 0))

    def had_in(self, name: str) -> int:
        """Number of replicas that the cluster has until its task has ended."""
        leaving = sum(task.replicas or 0 for task in self.tasks if task.from_cluster == name)
        return leaving + (replicas_in(self.spec, name) if self.spec.is_divided else 0)

    def served_before(self, task: GracefulEvictionTask, name: str) -> bool:
        """Tells whether the copy is none that replaces what the task is about, and not known to serve nothing."""
        cluster, work = self.clusters.get(name), self.works.get(name)
        if cluster is None or not cluster.is_ready or not was_there_before(work, task.creation_timestamp):
            return False
        known = availability(work, cluster, replicas_in(self.spec, name))
        return known.since is None or known.told > 0

    def is_late(self, task: GracefulEvictionTask) -> bool:
        """Tells whether the task is past its grace period."""
        began = task.creation_timestamp
        seconds = grace_of(task, self.grace_seconds)
        return began is not None and self.now > self.time.moved(began) + timedelta(seconds=seconds)

    def has_failed(self, task: GracefulEvictionTask) -> bool:
        """A failback has failed where a cluster is lost meanwhile, and where nothing has become healthy in time."""
        targets = (self.clusters.get(target.name) for target in self.spec.clusters)
        return self.is_late(task) or any(cluster is None or not cluster.is_ready for cluster in targets)

    def is_alive_again(self, task: GracefulEvictionTask, *, late: bool = False) -> bool:
        """Tells whether the old copy may stay, and is seen healthy, or well with what its cluster wants. One that is
        held down keeps it only when the replacement is `late`: at once would be to and fro (C1)."""
        cluster, work = self.clusters.get(task.from_cluster), self.works.get(task.from_cluster)
        if cluster is None or cluster.is_being_deleted or not reason_rules_of_task(task).withdraws:
            return False
        if not rules_of_task(task).withdraws or work is None or work.metadata.deletion_timestamp is not None:
            return False
        spec = self.spec
        may_stay = not decide_stay(cluster.taints, spec.tolerations, self.now).is_over(self.now)
        replicas = (task.replicas or 0) + replicas_in(spec, task.from_cluster)
        asked = tolerating_hold_down(spec) if late else spec
        is_enough = bool(wanted_by_itself(work, cluster)) and not reason_rules_of_task(task).was_never_healthy
        is_well = is_enough or availability(work, cluster, replicas).is_whole
        return may_stay and is_well and _is_feasible(asked, task, cluster)


def _is_feasible(spec: ResourceBindingSpec, task: GracefulEvictionTask, cluster: Cluster) -> bool:
    """Tells whether the scheduler would consider the cluster, were there no task and no copy; in which affinity term is
    asked with the others (`common_term`). Holds: S2."""
    others = tuple(other for other in spec.graceful_eviction_tasks if other is not task)
    bare = msgspec.structs.replace(spec, graceful_eviction_tasks=others, clusters=())
    return is_feasible(Request(bare), cluster)


def _one_back(copies: _Copies, task: GracefulEvictionTask) -> Withdrawal | None:
    """One task is withdrawn, or a part of it, within one affinity term."""
    spec, late = copies.spec, copies.is_late(task)
    is_failback = reason_rules_of_task(task).is_failback
    if is_failback and not copies.has_failed(task):
        return None
    if not copies.is_alive_again(task, late=late):
        return None
    leaving = task.replicas or 0
    missing = min(spec.replicas - sum(target.replicas for target in spec.clusters), leaving)
    if spec.is_divided and missing > 0:
        result, tasks = _partly(spec, task, missing, leaving - missing)
    else:
        result = _divided_for(copies, task) if spec.is_divided else _duplicated_for(copies, task)
        tasks = tuple(other for other in copies.tasks if other is not task)
    if result is None:
        return None
    affinity_name = common_term(copies.binding, (target.name for target in result), copies.clusters)
    if affinity_name is None:
        return None
    return Withdrawal((task.from_cluster,), result, tasks, affinity_name, is_failback and late)


def _partly(
    spec: ResourceBindingSpec, task: GracefulEvictionTask, back: int, left: int
) -> tuple[tuple[TargetCluster, ...], tuple[GracefulEvictionTask, ...]]:
    """Takes so many `back` as find no place elsewhere; so many are `left` to the task. What the Work asks for stays the
    same."""
    tasks = tuple(
        msgspec.structs.replace(t, replicas=left) if t is task else t
        for t in spec.graceful_eviction_tasks
        if t is not task or left
    )
    others = tuple(target for target in spec.clusters if target.name != task.from_cluster)
    old = TargetCluster(task.from_cluster, replicas_in(spec, task.from_cluster) + back)
    return _with_target(others, old), tasks


def _divided_for(copies: _Copies, task: GracefulEvictionTask) -> tuple[TargetCluster, ...] | None:
    """The present targets, less replicas that are not ready, plus those that left; None when too many are ready, or,
    before it is late, may be."""
    spec, name = copies.spec, task.from_cluster
    others = tuple(target for target in spec.clusters if target.name != name)
    ready = {target.name: copies.serving_in(target) for target in others}
    back = task.replicas or 0
    if reason_rules_of_task(task).is_failback:
        back = min(back, sum(target.replicas - ready[target.name] for target in others))
    kept, total = without_unready(others, ready, back), back + replicas_in(spec, name)
    if kept is None and copies.is_late(task):
        ready = {target.name: copies.ready_in(target) for target in others}
        kept = without_unready(others, ready, back) or without_partly_ready(others, ready, back)
    return None if kept is None or total == 0 else _with_target(kept, TargetCluster(name, total))


def _duplicated_for(copies: _Copies, task: GracefulEvictionTask) -> tuple[TargetCluster, ...] | None:
    """The present copies, less what is not ready, plus the old one; None when too much of it is ready or serves."""
    spec, name = copies.spec, task.from_cluster
    others = tuple(target for target in spec.clusters if target.name != name)
    healthy = {target.name for target in others if copies.is_healthy(target)}
    served = {target.name for target in others if copies.served_before(task, target.name)}
    kept = _fewer(spec, healthy, served)
    if kept is None:
        return None
    gone = (target for target in others if target not in kept)
    if not _serves_no_less(copies, (name,), gone):
        return None
    return _with_target(kept, TargetCluster(name, spec.replicas))


def _with_target(kept: tuple[TargetCluster, ...], target: TargetCluster) -> tuple[TargetCluster, ...]:
    return tuple(sorted((*kept, target), key=lambda each: each.name))


def _fewer(spec: ResourceBindingSpec, healthy: set[str], served: set[str]) -> tuple[TargetCluster, ...] | None:
    """Drops copies that are neither healthy nor `served` before, where the constraint on clusters leaves no room for
    the old one. None where all are healthy; where there is none at all, the old one is all that there is."""
    if spec.clusters and len(healthy) == len(spec.clusters):
        return None
    room, stay = _max_clusters(spec) - 1, healthy | served
    kept = sorted(spec.clusters, key=lambda target: (target.name not in stay, target.name))[:room]
    dropped = {target.name for target in spec.clusters} - {target.name for target in kept}
    return None if dropped & stay else tuple(kept)


def _max_clusters(spec: ResourceBindingSpec) -> int:
    constraints = (spec.placement or Placement()).spread_constraints
    limits = [each.max_groups for each in constraints if is_over_clusters(each) and each.max_groups > 0]
    return min(limits, default=len(spec.clusters) + 1)


def _all_back(copies: _Copies) -> Withdrawal | None:
    """Back into the affinity term that was left, when all that was there is well; from a failback, when that has
    failed. What was moved to in vain, and never got healthy there, was not there: its task goes on."""
    spec, clusters = copies.spec, copies.clusters
    alive = {task.from_cluster for task in copies.tasks if copies.is_alive_again(task)}
    vain = tuple(
        task for task in copies.tasks if reason_rules_of_task(task).was_never_healthy and task.from_cluster not in alive
    )
    old = {task.from_cluster: task.replicas or 0 for task in copies.tasks if task not in vain}
    if not old or not alive.issuperset(old):
        return None
    returning = [task for task in copies.tasks if reason_rules_of_task(task).is_failback]
    if not all(map(copies.has_failed, returning)):
        return None
    if common_term(copies.binding, (*old, *(target.name for target in spec.clusters)), clusters) is not None:
        return None
    term = common_term(copies.binding, old, clusters)
    if term is None:
        return None
    stay = {t.name: t.replicas for t in spec.clusters if is_in_term(spec, term, clusters.get(t.name))}
    gone = [target for target in spec.clusters if target.name not in stay]
    if all(map(copies.is_healthy, gone)):
        return None
    if spec.is_divided and sum(old.values()) + sum(stay.values()) != spec.replicas:
        return None
    back = {name: stay.get(name, 0) + count if spec.is_divided else spec.replicas for name, count in old.items()}
    result = tuple(TargetCluster(name, replicas) for name, replicas in sorted({**stay, **back}.items()))
    if not is_spread(msgspec.structs.replace(spec, clusters=result), clusters):
        return None
    if not _serves_no_less(copies, old, gone):
        return None
    return Withdrawal(tuple(sorted(old)), result, vain, term, any(map(copies.is_late, returning)))


def _serves_no_less(copies: _Copies, old: Iterable[str], gone: Iterable[TargetCluster]) -> bool:
    """Tells whether the `old` copies surely serve as much as what is given up for them may serve; in a cluster that is
    not Ready nothing is given up before it is seen again. Holds: S1."""
    returning = sum(copies.known(name, copies.had_in(name)).at_least for name in old)
    lost = 0
    for target in gone:
        cluster, known = copies.clusters.get(target.name), copies.known(target.name, target.replicas)
        if cluster is not None and cluster.is_ready:
            lost += at_instant(known, target.replicas, copies.now).at_most
    return lost <= returning
