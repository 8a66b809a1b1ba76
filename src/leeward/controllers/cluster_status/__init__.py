"""The cluster status controller: probes a member, and writes what `cluster_facts` reads there into its Cluster."""

from leeward.controllers.cluster_status.cluster_status import ClusterStatusController, ClusterStatusSettings

__all__ = ["ClusterStatusController", "ClusterStatusSettings"]
