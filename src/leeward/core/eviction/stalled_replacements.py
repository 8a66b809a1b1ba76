"""Replacements that take nothing: clusters that are Ready, and where a moved copy never becomes healthy.

A cluster with a full disk, or whose admission or quota refuses new objects, answers every probe. It would swallow an
application for ever beside a healthy third cluster. During a failover a target has a time to start: the policy's word
(`leeward.dev/time-to-start`), else the grace period of its eviction. If it is not healthy by then, the part of it that
does not serve goes to the next cluster (`core.placement`). The binding's memory (`core.copies.memory`) names clusters
that were tried in vain. So each is tried once for a release (C1). Without a next place it stays.
A target whose overrides fail has no Work at all, and takes nothing either.

A cluster that is unjoined and a changed placement take copies away at once, and an eviction task can end by time. Then
no task tells that a target replaces something: it is awaited, in the binding's memory, until it is seen healthy.

A whole copy that was there before the failover began is no replacement: it stays, however it is (S12). A suspended copy
is not expected to be taken, and has its time when it goes on.

Holds: S1 (serving replicas stay until their replacement is seen healthy), L2. Karmada has no such thing.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from leeward.api.cluster import Cluster
from leeward.api.failback import time_to_start
from leeward.api.meta import find_condition
from leeward.api.names import OVERRIDE_FAILED_CONDITION
from leeward.api.work import Binding, GracefulEvictionTask, ResourceBindingSpec, TargetCluster, Work
from leeward.core.cluster_health.watched_time import CLOCKS_APART, UNKEPT, Attention
from leeward.core.copies.availability import availability, wanted_by_itself
from leeward.core.copies.disruption import CopyTable, KnownCopy
from leeward.core.copies.evidence import is_current, is_uncounted, refused_dependencies, was_there_before
from leeward.core.copies.memory import NO_INSTANTS, Instants
from leeward.core.eviction.tasks import grace_of, moves_on, reason_rules_of_task
from leeward.core.interpreter.own_replicas import has_outgrown

DISPATCHING = "Dispatching"
NOT_TAKEN, NOT_RENDERED = "which does not take it: ", "for which nothing could be rendered: "


@dataclass(frozen=True, slots=True)
class StalledTarget:
    """A target that has not taken the replicas that moved to it; at most `serving` of its replicas may be ready.

    `staying` are those that stay there: of a copy that is not divided, none.
    """

    cluster: str
    staying: int
    serving: int
    why: str


@dataclass(frozen=True, slots=True)
class StalledTargets:
    """Stalled targets of one binding, and when the next may have to be counted among them."""

    targets: tuple[StalledTarget, ...] = ()
    wake_at: datetime | None = None


def find_stalled(
    binding: Binding,
    copies: CopyTable,
    now: datetime,
    grace_seconds: float,
    attention: Attention = UNKEPT,
    awaited: Instants = NO_INSTANTS,
    released: datetime | None = None,
) -> StalledTargets:
    """Judges the targets of a binding that is in the middle of a failover, and those that are `awaited`.

    `released`: the instant at which another release took the place of the one that the failover began with. It has the
    whole time from then on.

    Only watched time counts (S13). A future instant is that of a cluster whose clock is ahead, and says nothing.
    """
    if not attention.has_settled(now):
        return StalledTargets(wake_at=attention.settles_at(now))
    tasks = [task for task in binding.spec.graceful_eviction_tasks if moves_on(task)]
    if not awaited and not any(task.creation_timestamp for task in tasks):
        return StalledTargets()
    bound = _time_to_start(binding, max((grace_of(task, grace_seconds) for task in tasks), default=grace_seconds))
    found: list[StalledTarget] = []
    later: list[datetime] = []
    for target in binding.spec.clusters:
        row = copies.rows[target.name]
        began = _began(binding, tasks, row.work) or awaited.get(target.name)
        if began is None or (judged := _judge(binding, target, row)) is None:
            continue
        stalled, told = judged
        since = began if told is None or told > now + CLOCKS_APART else told
        stalled_at = attention.time.moved(max(began, since, released or began)) + bound
        if now > stalled_at:
            found.append(stalled)
        else:
            later.append(stalled_at + timedelta(microseconds=1))
    return StalledTargets(tuple(found), min(later, default=None))


def _time_to_start(binding: Binding, grace_seconds: float) -> timedelta:
    """Time that a copy may take to become healthy: the policy's word, else its grace period."""
    seconds = time_to_start(binding.metadata.annotations)
    return timedelta(seconds=grace_seconds if seconds is None else seconds)


def _began(binding: Binding, tasks: Sequence[GracefulEvictionTask], work: Work | None) -> datetime | None:
    """Instant at which the copy of this Work began to replace something; None where nothing leaves for it."""
    instants = [task.creation_timestamp for task in tasks if task.creation_timestamp]
    if not instants or (not binding.spec.is_divided and was_there_before(work, min(instants))):
        return None
    return max(instants)


def _judge(binding: Binding, target: TargetCluster, row: KnownCopy) -> tuple[StalledTarget, datetime | None] | None:
    """Judges the missing part of the target, and since when; None where nothing is missing, or nobody can say."""
    cluster, work, known = row.home, row.work, row.known
    if cluster is None or not cluster.is_ready:
        return None
    if work is None:
        return _not_rendered(binding, target, cluster)
    if _is_suspended(work) or is_uncounted(work) or known.is_whole or row.is_under_way:
        return None
    if refused := refused_dependencies(work):
        return StalledTarget(target.name, 0, 0, f"which does not have {refused}"), _expected_since(cluster, work)
    staying = min(target.replicas, known.told) if binding.spec.is_divided else 0
    if (binding.spec.is_divided and staying == target.replicas) or has_outgrown(work, target.replicas):
        return None
    applied, since = work.applied, known.since
    if since is not None:
        why = (
            f"{known.told} of {target.replicas} replicas became ready" if target.replicas else "the copy is not healthy"
        )
        why = f"where {why}"
    elif applied is not None and applied.status == "False":
        since = max((at for at in (applied.last_transition_time, _expected_since(cluster, work)) if at), default=None)
        why = f"{NOT_TAKEN}{applied.message}"
    else:
        why, since = "which has not taken it", _expected_since(cluster, work)
    return StalledTarget(target.name, staying, known.at_most, why), since


def _not_rendered(
    binding: Binding, target: TargetCluster, cluster: Cluster
) -> tuple[StalledTarget, datetime | None] | None:
    """Judges a target without a Work: None where one may still come, since no override has failed."""
    failed = find_condition(binding.status.conditions, OVERRIDE_FAILED_CONDITION)
    if failed is None or not is_current(binding):
        return None
    instants = (condition.last_transition_time for condition in (cluster.ready, failed) if condition is not None)
    why = f"{NOT_RENDERED}{failed.message}"
    return StalledTarget(target.name, 0, 0, why), max(filter(None, instants), default=None)


def _is_suspended(work: Work) -> bool:
    is_suspended = find_condition(work.status.conditions, DISPATCHING, "False") is not None
    return bool(work.spec.suspend_dispatching) or is_suspended


def _expected_since(cluster: Cluster, work: Work) -> datetime | None:
    """Instant since which the cluster is Ready, and the Work is there and dispatched: the old copy may go first."""
    conditions = (cluster.ready, find_condition(work.status.conditions, DISPATCHING))
    instants = [condition.last_transition_time for condition in conditions if condition is not None]
    return max((at for at in (*instants, work.metadata.creation_timestamp) if at), default=None)


def await_targets(
    binding: Binding,
    after: Sequence[TargetCluster],
    tasks: Sequence[GracefulEvictionTask],
    clusters: Mapping[str, Cluster],
    works: Mapping[str, Work],
    now: datetime,
    known: Instants = NO_INSTANTS,
) -> Instants:
    """The targets of `after` that are awaited, once the binding has these and no other eviction tasks than `tasks`.

    None that is seen healthy, with all that its cluster wants, and none of a binding that asks for no replicas. Those
    that are `known` keep their time.
    """
    spec = binding.spec
    if spec.asks_for_none:
        return {}
    awaited = {target.name: known[target.name] for target in after if target.name in known}
    present = {*(target.name for target in after), *(task.from_cluster for task in tasks)}
    if any(task.from_cluster not in present for task in _failovers(spec)):
        awaited = {**_of_failover(spec, after, works, now), **awaited}
    if any(target.name not in present for target in spec.clusters):
        awaited = {**dict.fromkeys(_grown(spec, after), now), **awaited}
    seen = [(target, works.get(target.name), clusters.get(target.name)) for target in after if target.name in awaited]
    lacking = [each for each in seen if not availability(each[1], each[2], each[0].replicas).is_whole]
    return {target.name: awaited[target.name] for target, work, home in lacking if not wanted_by_itself(work, home)}


def _failovers(spec: ResourceBindingSpec) -> list[GracefulEvictionTask]:
    return [task for task in spec.graceful_eviction_tasks if reason_rules_of_task(task).fails_over]


def _of_failover(
    spec: ResourceBindingSpec, after: Sequence[TargetCluster], works: Mapping[str, Work], now: datetime
) -> Instants:
    """Targets of `after` that replace copies of the eviction tasks of `spec`, and since when."""
    instants = [task.creation_timestamp for task in _failovers(spec) if task.creation_timestamp is not None]
    first, began = min(instants, default=now), max(instants, default=now)
    was_there = {target.name: was_there_before(works.get(target.name), first) for target in after}
    return {name: began for name, was in was_there.items() if spec.is_divided or not was}


def _grown(spec: ResourceBindingSpec, after: Sequence[TargetCluster]) -> Collection[str]:
    """Targets of `after` that are new, or of a divided binding have more replicas than in `spec`."""
    before = spec.assigned
    return [t.name for t in after if t.name not in before or (spec.is_divided and t.replicas > before[t.name])]
