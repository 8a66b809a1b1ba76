"""Tells that copies have left a cluster: each on its template; in a mass failover, how many on the cluster."""

from collections.abc import Iterable

from leeward.api.cluster import Cluster
from leeward.api.core import ObjectReference
from leeward.api.resource import CLUSTERS
from leeward.controllers.scheduler.sums import CROWD, CROWD_SECONDS, SumsByCluster
from leeward.runtime.events import NORMAL
from leeward.runtime.plane import ControlPlane, Recorder

__all__ = ["CROWD", "EVICTED", "Departures"]

EVICTED = "EvictWorkloadFromClusterSucceed"


class Departures:
    def __init__(self, plane: ControlPlane, recorder: Recorder) -> None:
        self._recorder = recorder
        self._sums = SumsByCluster(plane, "departures from", self._tell_sum)

    def tell(self, template: ObjectReference, left: Iterable[str]) -> None:
        for cluster in left:
            if not self._sums.counts(template.uid, cluster):
                self._recorder.note(template, NORMAL, EVICTED, f"Evict from cluster {cluster} succeed.")

    def _tell_sum(self, cluster: Cluster, count: int) -> None:
        message = f"Evict from cluster {cluster.name} succeed: {count} workloads in {CROWD_SECONDS:.0f} s."
        self._recorder.normal(CLUSTERS, cluster, EVICTED, message)
