"""Events of outages, and sums over many bindings: one on the cluster says how many they are."""

import asyncio
from collections.abc import Callable, Hashable, Iterable

from controller_runtime import WARNING, BurstDetector, Rank
from kubeapi.core import ObjectReference
from leeward.api.cluster import Cluster
from leeward.api.resource import CLUSTERS
from leeward.core.cluster_health.outage import Outlook
from leeward.runtime.controller_context import ControlPlane, Recorder

EVICTED, CLUSTER_OUTAGE = "EvictWorkloadFromClusterSucceed", "ClusterOutage"
BURST_SIZE, BURST_SECONDS = 16, 10.0
"""Number of events of a kind, and the time, within which they are summed up: nobody would read each event."""


class OutageEvents:
    """Tells of outages, once each: on the binding and its template."""

    def __init__(self, plane: ControlPlane, recorder: Recorder) -> None:
        self._recorder = recorder
        self._sums = SumsByCluster(plane, "outage of", self._tell_sum)

    def tell(self, binding: ObjectReference, template: ObjectReference, news: Iterable[Outlook]) -> None:
        for outlook in news:
            if not self._sums.counts(binding.uid, outlook.outage.cluster):
                for about in (binding, template):
                    self._recorder.note(about, WARNING, CLUSTER_OUTAGE, outlook.sentence, Rank.MOVE)

    def _tell_sum(self, cluster: Cluster, count: int) -> None:
        message = f"{count} more applications have copies here. What will become of each its binding's conditions say."
        self._recorder.warning(CLUSTERS, cluster, CLUSTER_OUTAGE, message)


class SumsByCluster:
    """`tell` gets a cluster and how many were counted there, some seconds after the first of them.

    A sum that is open when the process ends is not told: the bindings show it.
    """

    def __init__(self, plane: ControlPlane, name: str, tell: Callable[[Cluster, int], None]) -> None:
        self._plane = plane
        self._name = name
        self._tell = tell
        self._clusters = plane.informers.of(CLUSTERS)
        self._burst = BurstDetector(BURST_SIZE, BURST_SECONDS)
        self._counts: dict[str, int] = {}

    def counts(self, who: Hashable, cluster: str) -> bool:
        """Tells whether this one is one of a burst, and counted; else it is to be told by itself."""
        now = self._plane.clock.monotonic()
        self._burst.add((who, cluster), now)
        if not self._burst.is_there(now):
            return False
        self.add(cluster)
        return True

    def add(self, cluster: str) -> None:
        """Counts one that is known to be one of a burst."""
        if cluster not in self._counts:
            self._plane.supervisor.start(self._sum_up(cluster), f"{self._name} {cluster}")
        self._counts[cluster] = self._counts.get(cluster, 0) + 1

    async def _sum_up(self, name: str) -> None:
        await asyncio.sleep(BURST_SECONDS)
        count, cluster = self._counts.pop(name), self._clusters.get(name)
        if cluster is not None:
            self._tell(cluster, count)
