"""Copies that are purged Directly, one after the other, and what waits for them."""

from collections.abc import Collection, Mapping

from leeward.api.work import GracefulEvictionTask, ResourceBindingSpec
from leeward.core.copies.purge_modes import rules_of_task
from leeward.core.eviction.task_reasons import TaskReason, reason_of
from leeward.core.execution.works import needed_by_others


def purged_now(spec: ResourceBindingSpec, clusters: Collection[str]) -> frozenset[str]:
    """The clusters whose copies are to be gone at once; `clusters` have a Work.

    What is well and leaves its affinity term with a lost copy, because volumes have one writer at a time, serves until
    the lost one is known to be gone: nothing can replace it before. Holds: S1, S7.
    """
    purged = [task for task in spec.graceful_eviction_tasks if not rules_of_task(task).keeps_copy]
    there = set(clusters) - needed_by_others(spec)
    is_waiting = any(task.from_cluster in there and not _only_follows(task) for task in purged)
    return frozenset(task.from_cluster for task in purged if not (is_waiting and _only_follows(task)))


def held_by_purge(growth: Mapping[str, int | None]) -> frozenset[str]:
    """The clusters whose Works stay as they are while a purged copy is not known to be gone, by how many more replicas
    each would ask for: None where it is not there, or nobody can say.

    Nothing grows then. And where anything would, nothing shrinks: what was to replace it is not made. Holds: S1, S7.
    """
    if all(more is not None and more <= 0 for more in growth.values()):
        return frozenset()
    return frozenset(cluster for cluster, more in growth.items() if more != 0)


def _only_follows(task: GracefulEvictionTask) -> bool:
    return reason_of(task) is TaskReason.AFFINITY_TERM_LEFT
