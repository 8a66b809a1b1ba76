"""When is an eviction finished? Each open task is kept until it is safe to let go of the old copy.

A task ends when every present target is seen healthy; or, past its grace period, when replacements that cover it
were at least placed. `suppressDeletion` holds a task (true) or ends it (false), whatever else is the case. An empty
result is never "all healthy" (BEHAVIOUR 8.1).

Karmada: pkg/controllers/gracefuleviction (assessEvictionTasks); differs as said above, and where `seen healthy` does.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

import msgspec

from leeward.api.cluster import Cluster
from leeward.api.meta import wire_time
from leeward.api.work import Binding, GracefulEvictionTask
from leeward.core.failover.evidence import is_seen_healthy


@dataclass(frozen=True, slots=True)
class Assessment:
    """Tasks that go on, clusters whose task has ended, and when the next grace period ends."""

    kept: tuple[GracefulEvictionTask, ...]
    finished: tuple[str, ...]
    wake_at: datetime | None


def assess_tasks(binding: Binding, clusters: Mapping[str, Cluster], now: datetime, grace_seconds: float) -> Assessment:
    """Judges the open tasks of `binding`. Holds: S1."""
    replaced = _is_replaced(binding)
    healthy = replaced and all(is_seen_healthy(binding, t, clusters.get(t.name)) for t in binding.spec.clusters)
    kept: list[GracefulEvictionTask] = []
    finished: list[str] = []
    ends: list[datetime] = []
    for task in binding.spec.graceful_eviction_tasks:
        started = task.creation_timestamp or wire_time(now)
        grace = grace_seconds if task.grace_period_seconds is None else task.grace_period_seconds
        end = started + timedelta(seconds=grace)
        if _is_finished(task, healthy=healthy, replaced=replaced, is_late=now > end):
            finished.append(task.from_cluster)
            continue
        kept.append(task if task.creation_timestamp else msgspec.structs.replace(task, creation_timestamp=started))
        if task.suppress_deletion is None and end >= now:
            ends.append(end + timedelta(microseconds=1))
    return Assessment(tuple(kept), tuple(finished), min(ends, default=None))


def _is_finished(task: GracefulEvictionTask, *, healthy: bool, replaced: bool, is_late: bool) -> bool:
    if task.suppress_deletion is not None:
        return not task.suppress_deletion
    return healthy or (is_late and replaced)


def _is_replaced(binding: Binding) -> bool:
    """Whether the present targets are all that is asked for, so that nothing of the old copies is missed."""
    spec = binding.spec
    if not spec.clusters:
        return False
    strategy = spec.placement.replica_scheduling if spec.placement else None
    if not spec.replicas or strategy is None or strategy.replica_scheduling_type == "Duplicated":
        return True
    return sum(target.replicas for target in spec.clusters) >= spec.replicas
