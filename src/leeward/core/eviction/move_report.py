"""Report of a move that is over: where an application has gone from a cluster, and how well it is there, in a sentence.

It is told once, of a task that ended, so that it needs no memory of what was told before.
"""

from collections.abc import Mapping
from datetime import datetime

from leeward.api.cluster import Cluster
from leeward.api.work import GracefulEvictionTask, ResourceBindingSpec, Work
from leeward.core.copies.availability import availability


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
        known = availability(works.get(target.name), clusters.get(target.name), target.replicas)
        wanted += max(1, target.replicas)
        healthy += known.at_least if target.replicas else known.is_whole
    places = ", ".join(target.name for target in spec.clusters if target.name != task.from_cluster)
    began = task.creation_timestamp
    took = f" after {max(0, round((now - began).total_seconds()))} s" if began is not None else ""
    return f"Moved from {task.from_cluster} to {places or 'no other cluster'}: {healthy} of {wanted} healthy{took}."
