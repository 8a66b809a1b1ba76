"""The cluster controller: execution spaces, agents that fall silent, taints, and unjoining.

    cluster_controller  what is looked at, and in which order; execution spaces
    lease_tracker       when each agent was heard of last
    confirming          whether an outage was seen since this process watches
    taints              the taints that the condition calls for, and the hold-down of what flaps
    unjoin              a Cluster that is being deleted gives back what is its

Karmada: pkg/controllers/cluster. Differs: NoExecute taints follow the 1.4 timing, and taints change in one write.
"""

from leeward.controllers.cluster.cluster_controller import ClusterController, ClusterSettings
from leeward.controllers.cluster.taints import TaintSettings

__all__ = ["ClusterController", "ClusterSettings", "TaintSettings"]
