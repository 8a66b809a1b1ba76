"""Tells of outages, once each: on the binding and its template; where many are concerned, how many on the cluster."""

from collections.abc import Iterable

from leeward.api.cluster import Cluster
from leeward.api.core import ObjectReference
from leeward.api.resource import CLUSTERS
from leeward.controllers.scheduler.sums import SumsByCluster
from leeward.core.failover.outage import Outlook
from leeward.runtime.events import WARNING
from leeward.runtime.plane import ControlPlane, Recorder

CLUSTER_OUTAGE = "ClusterOutage"


class OutageEvents:
    def __init__(self, plane: ControlPlane, recorder: Recorder) -> None:
        self._recorder = recorder
        self._sums = SumsByCluster(plane, "outage of", self._tell_sum)

    def tell(self, binding: ObjectReference, template: ObjectReference, news: Iterable[Outlook]) -> None:
        for outlook in news:
            if not self._sums.counts(binding.uid, outlook.outage.cluster):
                for about in (binding, template):
                    self._recorder.note(about, WARNING, CLUSTER_OUTAGE, outlook.sentence)

    def _tell_sum(self, cluster: Cluster, count: int) -> None:
        message = f"{count} more applications have copies here. What will become of each its binding's conditions say."
        self._recorder.warning(CLUSTERS, cluster, CLUSTER_OUTAGE, message)
