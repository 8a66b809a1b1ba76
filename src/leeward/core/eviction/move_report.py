"""Report of a move that is over: where an application has gone from a cluster, and how well it is there, in a sentence.

It is told once, of a task that ended, so that it needs no memory of what was told before.
"""

from collections.abc import Mapping
from datetime import datetime

from leeward.api.cluster import Cluster
from leeward.api.work import GracefulEvictionTask, ResourceBindingSpec, Work
from leeward.core.eviction.evidence import is_seen_healthy, relied_upon


def describe_move(
    task: GracefulEvictionTask,
    spec: ResourceBindingSpec,
    works: Mapping[str, Work],
    clusters: Mapping[str, Cluster],
    now: datetime,
) -> str:
    """`spec` without the task; `works` by cluster. Replicas are counted, and copies where there are no replicas."""
    wanted = healthy = 0
    for target in spec.clusters:
        work, cluster = works.get(target.name), clusters.get(target.name)
        wanted += max(1, target.replicas)
        healthy += relied_upon(work, cluster, target.replicas) if target.replicas else is_seen_healthy(work, cluster, 0)
    places = ", ".join(target.name for target in spec.clusters if target.name != task.from_cluster)
    began = task.creation_timestamp
    took = f" after {max(0, round((now - began).total_seconds()))} s" if began is not None else ""
    return f"Moved from {task.from_cluster} to {places or 'no other cluster'}: {healthy} of {wanted} healthy{took}."
