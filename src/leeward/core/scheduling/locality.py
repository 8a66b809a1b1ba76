"""Plug-in ClusterLocality: clusters that already hold the application are better.

Karmada: plugins/clusterlocality; same.
"""

from leeward.api.cluster import Cluster
from leeward.core.scheduling.model import Request, Score

MAX_SCORE = 100


def _score(request: Request, cluster: Cluster) -> int:
    return MAX_SCORE if cluster.name in request.assigned else 0


CLUSTER_LOCALITY = Score("ClusterLocality", _score)
