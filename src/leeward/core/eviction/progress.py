"""Progress of evictions: which open tasks have ended. Each is kept until it is safe to let go of the old copy.

The first rule that says something of a task decides when it may end:

    exact                       when all targets are reported healthy, or its grace period is over, as in Karmada
    no replicas are asked for   at once; what was purged `Directly`, when its Work is gone
    the brake is engaged        not now
    replicas have no place      not now; what was purged and is gone, at once, so that its cluster can take them again
    all targets are healthy     when they have been looked at since somebody watches
    the old copy is gone        after two grace periods, so that the next cluster is tried meanwhile
                                (`stalled_replacements`)
    it serves no more           after its grace period, and when that has been so for a whole one, so that a Pod that
                                restarts is not taken for a copy that serves nothing (`copies.availability`)
    anything else               not now: time alone ends nothing, and what cannot be seen stays

`suppressDeletion` holds a task (true) or ends it (false), whatever else is the case: then the copy goes, and the task
with it. An empty result is never "all
healthy" (fault 1 of docs/karmada-behaviour.md).

Karmada: pkg/controllers/gracefuleviction (assessEvictionTasks); differs as said above, and where `seen healthy` does.
With `exact` its rules hold: the reported health counts whatever it speaks of, and time ends a task by itself.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import msgspec

from kubeapi.meta import wire_time
from leeward.api.cluster import Cluster
from leeward.api.work import Binding, GracefulEvictionTask, ResourceBindingSpec, TargetCluster, Work
from leeward.core.cluster_health.pending_condition import is_failing
from leeward.core.cluster_health.watched_time import UNKEPT, Attention
from leeward.core.copies.availability import Availability, availability
from leeward.core.copies.evidence import is_current
from leeward.core.copies.purge_modes import rules_of_task
from leeward.core.eviction.due_evictions import replicas_in
from leeward.core.eviction.tasks import grace_of
from leeward.core.interpreter.resource_health import health_rules_in

END_OF_TIME = datetime(9000, 1, 1, tzinfo=UTC)

_INSTANT = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Assessment:
    """Tasks that go on, clusters whose task has ended, and when to look again.

    `overdue` are the clusters whose task is past its grace period and goes on.
    """

    kept: tuple[GracefulEvictionTask, ...]
    finished: tuple[str, ...]
    overdue: tuple[str, ...]
    wake_at: datetime | None


@dataclass(frozen=True, slots=True)
class _End:
    """Instant from which a task may end, by what is known now (None: by nothing that is known); and how many ready
    replicas of the replacement then stand for its copy and for no other."""

    at: datetime | None
    taken: int = 0


_NEVER = _End(None)


@dataclass(frozen=True, slots=True)
class _Copies:
    """Copies of a binding, with what is known of them: the old ones, and those that replace them."""

    binding: Binding
    clusters: Mapping[str, Cluster]
    works: Mapping[str, Work]
    attention: Attention

    @property
    def spec(self) -> ResourceBindingSpec:
        return self.binding.spec

    def is_covered(self, task: GracefulEvictionTask) -> bool:
        """Tells whether what replaces the old copy is seen healthy, where nothing begins to fail: not that part of it
        which stays for want of a place, unless that part is all that is asked for by now."""
        others = tuple(target for target in self.spec.clusters if target.name != task.from_cluster)
        targets = others or (self.spec.clusters if self.spec.is_divided else ())
        return bool(targets) and is_current(self.binding) and all(self._is_relied_upon(target) for target in targets)

    def _known(self, target: TargetCluster) -> Availability:
        return availability(self.works.get(target.name), self.clusters.get(target.name), target.replicas)

    def _is_relied_upon(self, target: TargetCluster) -> bool:
        cluster = self.clusters.get(target.name)
        return not (cluster is not None and is_failing(cluster)) and self._known(target).is_whole

    @property
    def is_replacement_under_way(self) -> bool:
        """Tells whether a Job that runs replaces what left: its end decides, and not the time that it takes."""
        known = map(self._known, self.spec.clusters)
        return any(each.since is not None and each.at_most > each.told for each in known)

    def relied_upon_from(self, now: datetime) -> datetime | None:
        """Instant from which what replaces the old copies may be relied upon, where it is seen healthy; None while
        nobody watches."""
        believed = (self._known(target).believed_from for target in self.spec.clusters)
        looked = now if self.attention.has_settled(now) else self.attention.settles_at(now)
        return looked and max([looked, *(instant for instant in believed if instant is not None)])

    def is_gone(self, task: GracefulEvictionTask) -> bool:
        """Tells whether there is nothing left to take away: it was purged, or its cluster has left the fleet."""
        if task.from_cluster in self.works:
            return False
        return not rules_of_task(task).keeps_copy or task.from_cluster not in self.clusters

    def served_by_old(self, task: GracefulEvictionTask) -> tuple[int, datetime] | None:
        """Replicas that would be lost with the part of the old copy that leaves, and the instant since which that is
        so; None where that is not known."""
        if not rules_of_task(task).keeps_copy:
            return None
        name = task.from_cluster
        staying = replicas_in(self.spec, name) if self.spec.is_divided else 0
        known = availability(self.works.get(name), self.clusters.get(name), staying + (task.replicas or 0))
        return None if known.since is None else (max(0, max(known.told, known.at_most) - staying), known.since)

    def served_by_replacement(self) -> int:
        """The ready replicas that the old copies can be let go for; at least so many, by what is known.

        Divided: what is not ready yet counts as missing of what replaces them. What left later may itself have come
        from what left earlier, so only the tasks of one instant add up. Duplicated: the worst of the targets.
        """
        spec = self.spec
        known = {target.name: self._known(target) for target in spec.clusters}
        if not spec.is_divided:
            return min((each.told if each.at_least else 0 for each in known.values()), default=0)
        missing = sum(target.replicas - known[target.name].at_least for target in spec.clusters)
        leaving = Counter[datetime | None]()
        for task in spec.graceful_eviction_tasks:
            leaving[task.creation_timestamp] += task.replicas or 0
        return max(0, max(leaving.values(), default=0) - missing)


@dataclass(frozen=True, slots=True)
class _OpenTask:
    """A task, with all by which it may end.

    `grace_end` is the end of its grace period, which lasts `grace_seconds` of watched time. `spare` ready replicas of
    the replacement stand for no other old copy yet.
    """

    task: GracefulEvictionTask
    copies: _Copies
    now: datetime
    grace_end: datetime
    grace_seconds: float
    spare: int
    exact: bool
    brake: bool

    @property
    def is_purged(self) -> bool:
        return not rules_of_task(self.task).keeps_copy

    @property
    def is_without_work(self) -> bool:
        return self.task.from_cluster not in self.copies.works


def assess_tasks(
    binding: Binding,
    clusters: Mapping[str, Cluster],
    works: Mapping[str, Work],
    now: datetime,
    grace_seconds: float,
    *,
    exact: bool = False,
    brake: bool = False,
    attention: Attention = UNKEPT,
) -> Assessment:
    """Judges the open tasks of `binding`; `works` are its Works by cluster. Grace runs over watched time, and nothing
    ends by it before the members were looked at again. Holds: S1, S4, S13.
    """
    copies = _Copies(binding, clusters, works, attention)
    spare = copies.served_by_replacement() if binding.spec.graceful_eviction_tasks else 0
    kept: list[GracefulEvictionTask] = []
    finished: list[str] = []
    overdue: list[str] = []
    instants: list[datetime] = []
    for task in binding.spec.graceful_eviction_tasks:
        end = _grace_end(task, now, grace_seconds, attention)
        if task.creation_timestamp is None:
            kept.append(msgspec.structs.replace(task, creation_timestamp=wire_time(now)))
            instants += [end + _INSTANT] if task.suppress_deletion is None else []
            continue
        may_end = _may_end(_OpenTask(task, copies, now, end, grace_of(task, grace_seconds), spare, exact, brake))
        has_ended = may_end.at is not None and may_end.at <= now
        spare -= may_end.taken if has_ended else 0
        is_finished = has_ended if task.suppress_deletion is None else _is_ended_by_a_person(task, copies, exact)
        if is_finished:
            finished.append(task.from_cluster)
            continue
        kept.append(task)
        if task.suppress_deletion is None:
            if now > end and not copies.is_gone(task) and not copies.is_replacement_under_way:
                overdue.append(task.from_cluster)
            instants += [at for at in (end + _INSTANT, may_end.at) if at is not None and at > now]
    return Assessment(tuple(kept), tuple(finished), tuple(overdue), min(instants, default=None))


def _ends_by_reports(open_task: _OpenTask) -> _End | None:
    """Karmada's rules: by what is reported, or by time alone."""
    if not open_task.exact:
        return None
    is_well = _all_reported_healthy(open_task.copies.binding)
    return _End(open_task.now if is_well else open_task.grace_end + _INSTANT)


def _ends_without_replicas(open_task: _OpenTask) -> _End | None:
    """Ends where no replicas are asked for: none are missed."""
    if not open_task.copies.spec.asks_for_none:
        return None
    return _NEVER if open_task.is_purged and not open_task.is_without_work else _End(open_task.now)


def _waits_for_brake(open_task: _OpenTask) -> _End | None:
    return _NEVER if open_task.brake else None


def _waits_for_replicas(open_task: _OpenTask) -> _End | None:
    """Waits until all that is asked for has a place; what was purged, and is gone, makes room for it."""
    if _is_replaced(open_task.copies.binding):
        return None
    return _End(open_task.now) if open_task.is_purged and open_task.is_without_work else _NEVER


def _ends_when_covered(open_task: _OpenTask) -> _End | None:
    copies = open_task.copies
    return _End(copies.relied_upon_from(open_task.now)) if copies.is_covered(open_task.task) else None


def _ends_when_gone(open_task: _OpenTask) -> _End | None:
    """A copy that is gone bars its cluster for another grace period, in which the next cluster is tried."""
    if not open_task.copies.is_gone(open_task.task):
        return None
    return _End(open_task.grace_end + timedelta(seconds=open_task.grace_seconds) + _INSTANT)


def _ends_when_outserved(open_task: _OpenTask) -> _End | None:
    """Holds: S1, S13."""
    copies, now = open_task.copies, open_task.now
    served = copies.served_by_old(open_task.task)
    if served is None or served[0] > open_task.spare:
        return None
    if not copies.attention.has_settled(now):
        return _End(copies.attention.settles_at(now))
    unchanged = copies.attention.time.moved(served[1]) + timedelta(seconds=open_task.grace_seconds)
    return _End(max(open_task.grace_end, unchanged) + _INSTANT, served[0] if copies.spec.is_divided else 0)


_RULES: tuple[Callable[[_OpenTask], _End | None], ...] = (
    _ends_by_reports,
    _ends_without_replicas,
    _waits_for_brake,
    _waits_for_replicas,
    _ends_when_covered,
    _ends_when_gone,
    _ends_when_outserved,
)


def _may_end(open_task: _OpenTask) -> _End:
    """Judges the task by the first rule that says something of it."""
    return next((end for rule in _RULES if (end := rule(open_task)) is not None), _NEVER)


def _is_ended_by_a_person(task: GracefulEvictionTask, copies: _Copies, exact: bool) -> bool:
    """Tells whether what a person has ended is over: a part that leaves, once its Work asks for no more than stays; a
    copy, once it is gone. The task remembers the person's word until a cluster that is away is back."""
    if task.suppress_deletion or exact:
        return not task.suppress_deletion
    spec, name = copies.spec, task.from_cluster
    if replicas_in(spec, name) > 0:
        return is_current(copies.binding)
    is_needed = any(target.name == name for snapshot in spec.required_by for target in snapshot.clusters)
    return is_needed or name not in copies.works or name not in copies.clusters


def _is_replaced(binding: Binding) -> bool:
    """Tells whether the present targets are all that is asked for, so that nothing of the old copies is missed."""
    spec = binding.spec
    return bool(spec.clusters) and (
        not spec.is_divided or sum(target.replicas for target in spec.clusters) >= spec.replicas
    )


def _grace_end(task: GracefulEvictionTask, now: datetime, grace_seconds: float, attention: Attention) -> datetime:
    """The end of time for instants that somebody has written and that lie beyond it."""
    try:
        since = attention.time.moved(task.creation_timestamp or wire_time(now))
        return min(since + timedelta(seconds=grace_of(task, grace_seconds)), END_OF_TIME)
    except OverflowError:
        return END_OF_TIME


def _all_reported_healthy(binding: Binding) -> bool:
    """Karmada's rule: vacuously true without targets."""
    if binding.status.scheduler_observed_generation != binding.metadata.generation:
        return False
    well = {item.cluster_name for item in binding.status.aggregated_status if health_rules_in(item).is_well}
    return well.issuperset(target.name for target in binding.spec.clusters)
