"""What it does to a binding that a copy leaves a cluster: the target goes, and an eviction task takes its place.

Karmada: `ResourceBindingSpec.GracefulEvictCluster`; same, proven by its recorded cases.
"""

from collections.abc import Sequence

import msgspec

from leeward.api.work import GracefulEvictionTask, ResourceBindingSpec


def leave(spec: ResourceBindingSpec, tasks: Sequence[GracefulEvictionTask]) -> ResourceBindingSpec:
    """`spec` without the clusters of `tasks`. A cluster that is no target opens none, nor one that is being left."""
    replicas = {target.name: target.replicas for target in spec.clusters}
    leaving = {task.from_cluster for task in tasks}
    being_left = {task.from_cluster for task in spec.graceful_eviction_tasks}
    opened = tuple(
        msgspec.structs.replace(task, replicas=replicas[task.from_cluster] or None)
        for task in tasks
        if task.from_cluster in replicas and task.from_cluster not in being_left
    )
    return msgspec.structs.replace(
        spec,
        clusters=tuple(target for target in spec.clusters if target.name not in leaving),
        graceful_eviction_tasks=(*spec.graceful_eviction_tasks, *opened),
    )
