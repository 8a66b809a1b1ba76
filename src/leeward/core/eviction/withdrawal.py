"""Withdrawal of evictions: a cluster comes back before its copies were replaced, and its old copy is kept.

The old copy must be seen healthy, where the scheduler would consider the cluster. It comes back for replicas that
others do not surely serve, and the law must let the replicas go that are given up for it (`copies.disruption`). Copies
in a cluster that is away stay there until it is seen again. Tables say which reason and purge mode allow it (`tasks`,
`api.purge_mode`). The first way that is open is taken:

    for each eviction task
      replicas are missing elsewhere   as many come back as have no place, and nothing is given up: while replicas are
                                       missing, no cluster that is well is barred
      divided, all are placed          as many come back as others do not surely serve; where these few would be no
                                       placement beside the others, as many as those have that lack some
      duplicated                       the copy comes back, for the least of those that are not whole, where a
                                       constraint on clusters leaves no room for both
    for all tasks together             the replacement lies in another affinity term (S2): all come back once all old
                                       copies are seen healthy, and the new ones are not; targets of both terms stay

Until the eviction is late, the last report of a Ready cluster counts as serving: a template that has just been changed
moves nothing. After a changed placement nothing comes back by itself: the user has said where it is to be. Where that
finds no place without a cluster that is being left and is well again, it is not barred any more
(`placement.actions.place`).
In Karmada a task outlives the outage, and the recovered cluster stays barred (fault 4 of docs/karmada-behaviour.md).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import msgspec

from leeward.api.cluster import Cluster
from leeward.api.policy import Placement
from leeward.api.work import Binding, GracefulEvictionTask, ResourceBindingSpec, TargetCluster
from leeward.core.cluster_health.flap_damping import tolerating_hold_down
from leeward.core.cluster_health.watched_time import WatchedTime
from leeward.core.copies.availability import wanted_by_itself
from leeward.core.copies.disruption import CopyTable
from leeward.core.copies.evidence import is_current, was_there_before
from leeward.core.eviction.due_evictions import decide_stay, replicas_in
from leeward.core.eviction.tasks import grace_of, reason_rules_of_task
from leeward.core.scheduling.affinity import common_term, is_in_term
from leeward.core.scheduling.model import Request
from leeward.core.scheduling.reschedule import placement_changed
from leeward.core.scheduling.selection import is_spread
from leeward.core.scheduling.spread_fields import is_over_clusters
from leeward.core.scheduling.steps import is_feasible

_Targets = tuple[TargetCluster, ...]


@dataclass(frozen=True, slots=True)
class Withdrawal:
    """The result with the old copy back in it, and the tasks that are left.

    `affinity_name` is the term that the result satisfies. `given_up`: it was a failback, and took too long.
    """

    returned: tuple[str, ...]
    clusters: _Targets
    tasks: tuple[GracefulEvictionTask, ...]
    affinity_name: str
    given_up: bool = False


@dataclass(frozen=True, slots=True)
class Returns:
    """Copies of a binding that are being left, and may come back. Grace is watched time. Holds: S1, S2, S3, S13."""

    binding: Binding
    copies: CopyTable
    clusters: Mapping[str, Cluster]
    now: datetime
    grace_seconds: float
    time: WatchedTime

    @property
    def spec(self) -> ResourceBindingSpec:
        return self.binding.spec

    @property
    def tasks(self) -> tuple[GracefulEvictionTask, ...]:
        return self.binding.spec.graceful_eviction_tasks

    def find(self) -> Withdrawal | None:
        """The first open task that is to be withdrawn, or all of them. While a copy is purged, nothing new is made."""
        is_made = is_current(self.binding) or any(not task.purge_rules.keeps_copy for task in self.tasks)
        if not is_made or placement_changed(self.binding):
            return None
        single = (found for task in self.tasks if (found := _one_back(self, task)) is not None)
        return next(single, None) or _all_back(self)

    def well_again(self) -> frozenset[str]:
        """Clusters that are being left, and whose copies are seen healthy and may stay."""
        alive = (task for task in self.tasks if self.is_alive_again(task, late=self.is_late(task)))
        return frozenset(task.from_cluster for task in alive)

    def lacking(self, target: TargetCluster, *, late: bool) -> int:
        """Number of its replicas that do not surely serve; 1 for a copy without replicas."""
        row = self.copies.rows[target.name]
        if row.known.is_whole:
            return 0
        is_believed = row.home is not None and row.home.is_ready and not late
        return max(0, row.need - max(row.known.at_least, row.known.told if is_believed else 0))

    def served_before(self, task: GracefulEvictionTask, name: str) -> bool:
        """Tells whether the copy is older than the eviction, and not known to serve nothing."""
        row = self.copies.rows[name]
        is_seen = row.home is not None and row.home.is_ready
        is_known_empty = row.known.since is not None and row.known.told == 0
        return is_seen and was_there_before(row.work, task.creation_timestamp) and not is_known_empty

    def may_give_up(self, kept: Sequence[TargetCluster]) -> bool:
        """Tells whether the law lets the targets shrink to those that are `kept`."""
        left = {target.name: target.replicas for target in kept}
        shrinking = (t.name for t in self.spec.clusters if t.name not in left or left[t.name] < t.replicas)
        homes = {name: self.copies.rows[name].home for name in shrinking}
        seen = (name for name, home in homes.items() if home is not None and home.is_ready)
        return self.copies.may_disrupt({name: left.get(name, 0) for name in seen})

    def is_late(self, task: GracefulEvictionTask) -> bool:
        """Tells whether the task is past its grace period."""
        began = task.creation_timestamp
        seconds = grace_of(task, self.grace_seconds)
        return began is not None and self.now - self.time.moved(began) > timedelta(seconds=seconds)

    def has_failed(self, task: GracefulEvictionTask) -> bool:
        """A failback has failed where a cluster is lost meanwhile, and where nothing has become healthy in time."""
        targets = (self.clusters.get(target.name) for target in self.spec.clusters)
        return self.is_late(task) or any(cluster is None or not cluster.is_ready for cluster in targets)

    def is_alive_again(self, task: GracefulEvictionTask, *, late: bool = False) -> bool:
        """Tells whether the old copy may stay, and is seen healthy, or is whole by its cluster's number. A held-down
        cluster keeps it only when the replacement is `late`: at once would be to and fro (C1)."""
        row = self.copies.rows[task.from_cluster]
        cluster, work, reason = row.home, row.work, reason_rules_of_task(task)
        if cluster is None or work is None or work.metadata.deletion_timestamp is not None:
            return False
        if not reason.withdraws or not task.purge_rules.withdraws:
            return False
        may_stay = not decide_stay(cluster.taints, self.spec.tolerations, self.now).is_over(self.now)
        is_enough = not reason.was_never_healthy and bool(wanted_by_itself(work, cluster))
        asked = tolerating_hold_down(self.spec) if late else self.spec
        return may_stay and (is_enough or row.known.is_whole) and would_be_considered(asked, task, cluster)


def would_be_considered(spec: ResourceBindingSpec, task: GracefulEvictionTask, cluster: Cluster) -> bool:
    """Tells whether the scheduler would consider the cluster, were there no task and no copy; in which affinity term is
    asked with the others (`common_term`). Holds: S2."""
    others = tuple(other for other in spec.graceful_eviction_tasks if other is not task)
    bare = msgspec.structs.replace(spec, graceful_eviction_tasks=others, clusters=())
    return is_feasible(Request(bare), cluster)


def _one_back(at: Returns, task: GracefulEvictionTask) -> Withdrawal | None:
    """One task is withdrawn, or a part of it, within one affinity term."""
    spec, late, name = at.spec, at.is_late(task), task.from_cluster
    is_failback = reason_rules_of_task(task).is_failback
    if (is_failback and not at.has_failed(task)) or not at.is_alive_again(task, late=late):
        return None
    leaving = task.replicas or 0
    missing = min(spec.replicas - sum(target.replicas for target in spec.clusters), leaving)
    others = tuple(target for target in spec.clusters if target.name != name)
    if not spec.is_divided:
        kept, back = _duplicated_for(at, task, others, late=late), spec.replicas
    elif missing > 0:
        kept, back = others, missing
    else:
        kept, back = _divided_for(at, task, others, late=late)
    if kept is None:
        return None
    target = TargetCluster(name, back + replicas_in(spec, name))
    result = tuple(sorted((*kept, target), key=lambda each: each.name))
    affinity_name = common_term(at.binding, (target.name for target in result), at.clusters)
    if affinity_name is None:
        return None
    left = leaving - back if spec.is_divided else 0
    shorter = msgspec.structs.replace(task, replicas=left)
    tasks = tuple(shorter if each is task else each for each in at.tasks if each is not task or left)
    return Withdrawal((name,), result, tasks, affinity_name, is_failback and late)


def _divided_for(
    at: Returns, task: GracefulEvictionTask, others: _Targets, *, late: bool
) -> tuple[_Targets | None, int]:
    """The others less the replicas that they do not surely serve, and how many these are."""
    name, spec = task.from_cluster, at.spec
    there, leaving = replicas_in(spec, name), task.replicas or 0
    lacking = {target.name: at.lacking(target, late=late) for target in others}
    entire = {target.name: target.replicas if lacking[target.name] else 0 for target in others}
    few, many = (_giving(others, most, leaving) for most in (lacking, entire))

    def is_placement(kept: _Targets) -> bool:
        return is_spread(msgspec.structs.replace(spec, clusters=(*kept, TargetCluster(name))), at.clusters)

    kept, back = few if is_placement(few[0]) or not is_placement(many[0]) else many
    return (kept, back) if back and at.may_give_up((*kept, TargetCluster(name, there))) else (None, 0)


def _giving(targets: _Targets, most: Mapping[str, int], count: int) -> tuple[_Targets, int]:
    """Takes `count` replicas away, where the most can be given first; and how many were found."""
    kept, rest = list[TargetCluster](), count
    for target in sorted(targets, key=lambda target: (-most[target.name], target.name)):
        taken = min(rest, most[target.name])
        rest -= taken
        if target.replicas > taken:
            kept.append(msgspec.structs.replace(target, replicas=target.replicas - taken))
    return tuple(kept), count - rest


def _duplicated_for(at: Returns, task: GracefulEvictionTask, others: _Targets, *, late: bool) -> _Targets | None:
    """The other copies, less those that lack the most where the constraint on clusters leaves no room for the old one;
    None where all serve, or where too much would be given up. Where there is no other, the old one is all there is.
    A copy that served before the eviction was no part of it, and stays. Holds: S12."""
    lacking = {t.name: 0 if at.served_before(task, t.name) else at.lacking(t, late=late) for t in others}
    kept = tuple(sorted(others, key=lambda each: (lacking[each.name], each.name))[: _max_clusters(at.spec) - 1])
    is_served = bool(others) and not any(lacking.values())
    return kept if not is_served and at.may_give_up(kept) else None


def _max_clusters(spec: ResourceBindingSpec) -> int:
    constraints = (spec.placement or Placement()).spread_constraints
    limits = [each.max_groups for each in constraints if is_over_clusters(each) and each.max_groups > 0]
    return min(limits, default=len(spec.clusters) + 1)


def _all_back(at: Returns) -> Withdrawal | None:
    """Back into the affinity term that was left, when all copies there are healthy; from a failback, when that has
    failed. A copy that never got healthy there was not there: its task goes on."""
    spec, clusters = at.spec, at.clusters
    alive = {task.from_cluster for task in at.tasks if at.is_alive_again(task)}
    vain = tuple(
        task for task in at.tasks if reason_rules_of_task(task).was_never_healthy and task.from_cluster not in alive
    )
    old = {task.from_cluster: task.replicas or 0 for task in at.tasks if task not in vain}
    if not old or not alive.issuperset(old):
        return None
    returning = [task for task in at.tasks if reason_rules_of_task(task).is_failback]
    if not all(map(at.has_failed, returning)):
        return None
    if common_term(at.binding, (*old, *(target.name for target in spec.clusters)), clusters) is not None:
        return None
    term = common_term(at.binding, old, clusters)
    if term is None:
        return None
    stay = {t.name: t.replicas for t in spec.clusters if is_in_term(spec, term, clusters.get(t.name))}
    gone = [target for target in spec.clusters if target.name not in stay]
    if not any(at.lacking(target, late=True) for target in gone):
        return None
    if spec.is_divided and sum(old.values()) + sum(stay.values()) != spec.replicas:
        return None
    back = {name: stay.get(name, 0) + count if spec.is_divided else spec.replicas for name, count in old.items()}
    result = tuple(TargetCluster(name, replicas) for name, replicas in sorted({**stay, **back}.items()))
    if not is_spread(msgspec.structs.replace(spec, clusters=result), clusters):
        return None
    if not at.may_give_up(result):
        return None
    return Withdrawal(tuple(sorted(old)), result, vain, term, any(map(at.is_late, returning)))
