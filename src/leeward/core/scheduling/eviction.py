"""Plug-in ClusterEviction: clusters that this binding is leaving.

Karmada: plugins/clustereviction; same: any open task bars its cluster, even one that is still a target.
"""

from leeward.api.cluster import Cluster
from leeward.core.scheduling.model import Filter, Request


def _reject(request: Request, cluster: Cluster) -> str | None:
    return "cluster(s) is in the process of eviction" if cluster.name in request.evicted_from else None


CLUSTER_EVICTION = Filter("ClusterEviction", _reject, shared=True)
