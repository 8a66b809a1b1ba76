"""When is an eviction finished? Each open task is kept until it is safe to let go of the old copy.

A task ends when every present target is seen healthy; or, past its grace period, when replacements that cover it
were at least placed, and the old copy is not what is seen healthy meanwhile. `suppressDeletion` holds a task (true)
or ends it (false), whatever else is the case. An empty result is never "all healthy" (BEHAVIOUR 8.1); but where
replicas are shared out and none are asked for any more, nothing is missed, and the task ends at once.

A copy that was purged Directly and is gone holds no place free: where nothing replaces it the task ends, so that its
cluster can take the application in again when it is back.

Karmada: pkg/controllers/gracefuleviction (assessEvictionTasks); differs as said above, and where `seen healthy` does.
With `exact` its rules hold: the reported health counts whatever it speaks of, and time ends a task by itself.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

import msgspec

from leeward.api.cluster import Cluster
from leeward.api.meta import wire_time
from leeward.api.work import Binding, GracefulEvictionTask, Work
from leeward.core.failover.evidence import is_current, is_seen_healthy


@dataclass(frozen=True, slots=True)
class Assessment:
    """Tasks that go on, clusters whose task has ended, and when the next grace period ends.

    `overdue` are the clusters whose task would have ended by time, had their replacement been placed.
    """

    kept: tuple[GracefulEvictionTask, ...]
    finished: tuple[str, ...]
    overdue: tuple[str, ...]
    wake_at: datetime | None


def assess_tasks(
    binding: Binding,
    clusters: Mapping[str, Cluster],
    works: Mapping[str, Work],
    now: datetime,
    grace_seconds: float,
    exact: bool = False,
) -> Assessment:
    """Judges the open tasks of `binding`; `works` are its Works by cluster. Holds: S1."""
    replaced = exact or is_replaced(binding)
    kept: list[GracefulEvictionTask] = []
    finished: list[str] = []
    overdue: list[str] = []
    ends: list[datetime] = []
    for task in binding.spec.graceful_eviction_tasks:
        if task.creation_timestamp is None:
            kept.append(msgspec.structs.replace(task, creation_timestamp=wire_time(now)))
            if task.suppress_deletion is None:
                ends.append(wire_time(now) + timedelta(seconds=_grace(task, grace_seconds), microseconds=1))
            continue
        end = task.creation_timestamp + timedelta(seconds=_grace(task, grace_seconds))
        old_copy = works.get(task.from_cluster), clusters.get(task.from_cluster)
        healthy = _all_reported_healthy(binding) if exact else replaced and _is_covered(binding, task, clusters, works)
        may_end_late = exact or (replaced and _may_end_late(task, *old_copy))
        in_vain = not replaced and task.purge_mode == "Directly" and task.from_cluster not in works
        if _is_finished(task, healthy=healthy or in_vain, is_late=now > end and may_end_late):
            finished.append(task.from_cluster)
            continue
        kept.append(task)
        if task.suppress_deletion is None:
            if now > end:
                overdue.append(task.from_cluster)
            else:
                ends.append(end + timedelta(microseconds=1))
    return Assessment(tuple(kept), tuple(finished), tuple(overdue), min(ends, default=None))


def _is_covered(
    binding: Binding, task: GracefulEvictionTask, clusters: Mapping[str, Cluster], works: Mapping[str, Work]
) -> bool:
    """Whether what replaces the old copy is seen healthy: not that part of it which stays for want of a place, unless
    that part is all that is asked for by now."""
    spec = binding.spec
    if spec.asks_for_none:
        return task.purge_mode != "Directly" or task.from_cluster not in works
    others = tuple(target for target in spec.clusters if target.name != task.from_cluster)
    targets = others or (spec.clusters if spec.is_divided else ())
    return (
        bool(targets)
        and is_current(binding)
        and all(is_seen_healthy(works.get(t.name), clusters.get(t.name), t.replicas) for t in targets)
    )


def is_replaced(binding: Binding) -> bool:
    """Whether the present targets are all that is asked for, so that nothing of the old copies is missed."""
    spec = binding.spec
    if spec.asks_for_none:
        return True
    return bool(spec.clusters) and (
        not spec.is_divided or sum(target.replicas for target in spec.clusters) >= spec.replicas
    )


def _grace(task: GracefulEvictionTask, default_seconds: float) -> float:
    return default_seconds if task.grace_period_seconds is None else task.grace_period_seconds


def _may_end_late(task: GracefulEvictionTask, work: Work | None, cluster: Cluster | None) -> bool:
    """Time ends no task whose old copy is the one that is seen healthy, nor one that waits for the old copy to go."""
    waits = task.purge_mode == "Directly" and work is not None
    return not waits and not is_seen_healthy(work, cluster, task.replicas or 0)


def _is_finished(task: GracefulEvictionTask, *, healthy: bool, is_late: bool) -> bool:
    if task.suppress_deletion is not None:
        return not task.suppress_deletion
    return healthy or is_late


def _all_reported_healthy(binding: Binding) -> bool:
    """Karmada's rule: vacuously true without targets."""
    if binding.status.scheduler_observed_generation != binding.metadata.generation:
        return False
    health = {item.cluster_name: item.health for item in binding.status.aggregated_status}
    return all(health.get(target.name) == "Healthy" for target in binding.spec.clusters)
