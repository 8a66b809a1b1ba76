"""Plug-in ClusterLocality: clusters that already hold the application are better.

Karmada: plugins/clusterlocality; same.
"""

from leeward.core.scheduling.model import Score

MAX_SCORE = 100

CLUSTER_LOCALITY = Score("ClusterLocality", lambda request, cluster: MAX_SCORE * (cluster.name in request.assigned))
