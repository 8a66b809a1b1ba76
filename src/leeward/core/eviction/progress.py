"""Progress of evictions: which open tasks have ended. Each is kept until the law lets the old copy go.

The first rule that says something of a task decides when it may end:

    no replicas are asked for   at once; a copy that is purged `Directly`, when its Work is gone
    the brake is engaged        not now
    a purged copy is gone       at once where replicas have no place, so that its cluster can take them again
    the law lets it go          once the members were looked at, and replacements are as large (`replacement_size`)
    the old copy is gone        after two grace periods, so that the next cluster is tried meanwhile
                                (`stalled_replacements`)
    it serves nothing           after its grace period, and when that has been so for a whole one, so that a Pod that
                                restarts is not taken for a copy that serves nothing; not while replicas have no place
    anything else               not now: time alone ends nothing, and an unseen copy stays

The law (`copies.disruption`): with the replicas that stay there, the others surely serve all that is asked for. Each
task that has ended takes its copy out of the sum for the next one. A copy that serves too little stays as long as its
replacement does so, too.

`suppressDeletion` holds a task (true) or ends it (false), whatever else is the case: then the copy goes, and the task
with it. An empty result is never "all healthy" (fault 1 of docs/karmada-behaviour.md).
Karmada: pkg/controllers/gracefuleviction (assessEvictionTasks); differs as said above, and in `seen healthy`. By its
law (`KARMADA_LAW`) a task ends when all targets are reported healthy, by a report of any generation, or by time alone.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import msgspec

from kubeapi.meta import wire_time
from leeward.api.work import Binding, GracefulEvictionTask
from leeward.core.cluster_health.watched_time import UNKEPT, Attention
from leeward.core.copies.disruption import CopyTable, KnownCopy
from leeward.core.copies.evidence import is_current
from leeward.core.eviction.tasks import grace_of
from leeward.core.interpreter.resource_health import health_rules_in
from leeward.core.replacement_size import sizes_awaited_until

END_OF_TIME = datetime(9000, 1, 1, tzinfo=UTC)
_INSTANT = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Assessment:
    """Tasks that go on, clusters whose task has ended, and when to look again.

    `overdue` are the clusters whose task is past its grace period and goes on. A Job that replaces one `is_under_way`.
    """

    kept: tuple[GracefulEvictionTask, ...]
    finished: tuple[str, ...]
    overdue: tuple[str, ...]
    wake_at: datetime | None
    is_under_way: bool = False


@dataclass(frozen=True, slots=True)
class _OpenTask:
    """A task, with all by which it may end.

    `grace_end` is the end of its grace period, which lasts `grace_seconds` of watched time. `ended` are the replicas to
    which the copies shrink whose tasks have ended before.
    """

    task: GracefulEvictionTask
    binding: Binding
    copies: CopyTable
    ended: Mapping[str, int]
    attention: Attention
    now: datetime
    grace_end: datetime
    grace_seconds: float
    brake: bool

    @property
    def row(self) -> KnownCopy:
        return self.copies.rows[self.task.from_cluster]

    @property
    def is_purged(self) -> bool:
        return not self.task.purge_rules.keeps_copy

    @property
    def looked_at(self) -> datetime:
        """Instant from which the members have been looked at; the end of time while nobody watches."""
        at, now = self.attention, self.now
        return now if at.has_settled(now) else at.settles_at(now) or END_OF_TIME


_Rule = Callable[[_OpenTask], datetime | None]


class Law(NamedTuple):
    """A law for the end of evictions. The first of its rules that speaks of a task gives the instant from which it may
    end. Another rule is for tasks that a person has ended. `leaves_enough`: nothing is missed."""

    rules: tuple[_Rule, ...]
    is_over_for_a_person: Callable[[_OpenTask], bool]
    leaves_enough: bool = True


def _ends_by_reports(open_task: _OpenTask) -> datetime | None:
    """Karmada's rules: by reports, or by time alone."""
    return open_task.now if _all_reported_healthy(open_task.binding) else open_task.grace_end + _INSTANT


def _ends_without_replicas(open_task: _OpenTask) -> datetime | None:
    """Ends where no replicas are asked for: none are missed."""
    if not open_task.binding.spec.asks_for_none:
        return None
    return END_OF_TIME if open_task.is_purged and open_task.row.work is not None else open_task.now


def _waits_for_brake(open_task: _OpenTask) -> datetime | None:
    return END_OF_TIME if open_task.brake else None


def _frees_its_place(open_task: _OpenTask) -> datetime | None:
    """Ends where the copy was purged, and is gone, while replicas have no place."""
    is_free = open_task.is_purged and open_task.row.work is None and not _is_placed(open_task.binding)
    return open_task.now if is_free else None


def _ends_by_the_law(open_task: _OpenTask) -> datetime | None:
    """A copy that has nothing to lose bars its cluster until the targets serve. Holds: S1, S13."""
    name, left, copies = open_task.task.from_cluster, open_task.row.assigned, open_task.copies
    targets = {target.name for target in open_task.binding.spec.clusters} - {name}
    may_go = is_current(open_task.binding) and copies.leaves_enough(name, {**open_task.ended, name: left})
    if not may_go or any(copies.rows[each].is_unjudged for each in targets):
        return None
    spec, seconds = open_task.binding.spec, open_task.grace_seconds
    larger_at = sizes_awaited_until(spec, copies, name, open_task.now, seconds, open_task.attention)
    return max(open_task.looked_at, larger_at) if open_task.row.at_most > left or copies.serves(targets) else None


def _ends_when_gone(open_task: _OpenTask) -> datetime | None:
    """A copy that is gone bars its cluster for another grace period, in which the next cluster is tried."""
    if not open_task.row.is_gone:
        return None
    return open_task.grace_end + timedelta(seconds=open_task.grace_seconds) + _INSTANT


def _ends_when_it_serves_nothing(open_task: _OpenTask) -> datetime | None:
    """Holds: S1, S13."""
    row, since = open_task.row, open_task.row.known.since
    if row.at_most > row.assigned or since is None or open_task.is_purged or not _is_placed(open_task.binding):
        return None
    unchanged = open_task.attention.time.moved(since) + timedelta(seconds=open_task.grace_seconds)
    return max(open_task.grace_end + _INSTANT, unchanged + _INSTANT, open_task.looked_at)


def _is_ended_by_a_person(open_task: _OpenTask) -> bool:
    """Tells whether a task that a person has ended is over. A part is over once its Work asks for no more than stays, a
    copy once it is gone. The task remembers the person's word until a cluster that is away is back."""
    task, binding, row = open_task.task, open_task.binding, open_task.row
    if task.suppress_deletion:
        return False
    name = task.from_cluster
    if any(target.name == name and target.replicas > 0 for target in binding.spec.clusters):
        return is_current(binding)
    is_needed = any(target.name == name for snapshot in binding.spec.required_by for target in snapshot.clusters)
    return is_needed or row.work is None or row.home is None


def _is_let_go(open_task: _OpenTask) -> bool:
    return not open_task.task.suppress_deletion


LEEWARD_LAW = Law(
    (
        _ends_without_replicas,
        _waits_for_brake,
        _frees_its_place,
        _ends_by_the_law,
        _ends_when_gone,
        _ends_when_it_serves_nothing,
    ),
    _is_ended_by_a_person,
)
KARMADA_LAW = Law((_ends_by_reports,), _is_let_go, leaves_enough=False)


def assess_tasks(
    binding: Binding,
    copies: CopyTable,
    now: datetime,
    grace_seconds: float,
    *,
    law: Law = LEEWARD_LAW,
    brake: bool = False,
    attention: Attention = UNKEPT,
) -> Assessment:
    """Judges the open tasks of `binding`. Grace runs over watched time, and nothing ends by it before the members were
    looked at again. Holds: S1, S4, S13.
    """
    kept: list[GracefulEvictionTask] = []
    finished: list[str] = []
    ended = dict[str, int]()
    overdue: list[str] = []
    is_under_way = any(copies.rows[target.name].is_under_way for target in binding.spec.clusters)
    instants = [] if copies.settles_at is None else [copies.settles_at]
    for task in binding.spec.graceful_eviction_tasks:
        name, end = task.from_cluster, grace_end_of(task, now, grace_seconds, attention)
        if task.creation_timestamp is None:
            kept.append(msgspec.structs.replace(task, creation_timestamp=wire_time(now)))
            instants += [end + _INSTANT] if task.suppress_deletion is None else []
            continue
        open_task = _OpenTask(task, binding, copies, ended, attention, now, end, grace_of(task, grace_seconds), brake)
        may_end = next((at for rule in law.rules if (at := rule(open_task)) is not None), None)
        has_ended = may_end is not None and may_end <= now
        if has_ended if task.suppress_deletion is None else law.is_over_for_a_person(open_task):
            finished.append(name)
            ended[name] = open_task.row.assigned
            continue
        kept.append(task)
        if task.suppress_deletion is None:
            if now > end and not open_task.row.is_gone:
                overdue.append(name)
            instants += [at for at in (end + _INSTANT, may_end) if at is not None and now < at < END_OF_TIME]
    return Assessment(tuple(kept), tuple(finished), tuple(overdue), min(instants, default=None), is_under_way)


def _is_placed(binding: Binding) -> bool:
    """Tells whether all that is asked for has a place."""
    spec = binding.spec
    has_all = not spec.is_divided or sum(target.replicas for target in spec.clusters) >= spec.replicas
    return bool(spec.clusters) and has_all


def grace_end_of(task: GracefulEvictionTask, now: datetime, grace_seconds: float, attention: Attention) -> datetime:
    """End of a task's grace period; the end of time for instants that somebody has written and that lie beyond it."""
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
