"""Tells that copies have left a cluster: each on its template; in a mass failover, how many on the cluster."""

import asyncio
from collections.abc import Iterable

from leeward.api.core import ObjectReference
from leeward.api.resource import CLUSTERS
from leeward.runtime.crowd import Crowd
from leeward.runtime.events import NORMAL
from leeward.runtime.plane import ControlPlane, Recorder

EVICTED = "EvictWorkloadFromClusterSucceed"
CROWD, CROWD_SECONDS = 16, 10.0
"""So many departures within this time are summed up."""


class Departures:
    """What is not summed up when the process ends is not told: the bindings show it."""

    def __init__(self, plane: ControlPlane, recorder: Recorder) -> None:
        self._plane = plane
        self._recorder = recorder
        self._clusters = plane.informers.of(CLUSTERS)
        self._crowd = Crowd(CROWD, CROWD_SECONDS)
        self._counts: dict[str, int] = {}

    def tell(self, template: ObjectReference, left: Iterable[str]) -> None:
        for cluster in left:
            now = self._plane.clock.monotonic()
            self._crowd.add((template.uid, cluster), now)
            if self._crowd.is_there(now):
                self._count(cluster)
            else:
                self._recorder.note(template, NORMAL, EVICTED, f"Evict from cluster {cluster} succeed.")

    def _count(self, cluster: str) -> None:
        if cluster not in self._counts:
            self._plane.supervisor.start(self._sum_up(cluster), f"departures from {cluster}")
        self._counts[cluster] = self._counts.get(cluster, 0) + 1

    async def _sum_up(self, name: str) -> None:
        await asyncio.sleep(CROWD_SECONDS)
        count, cluster = self._counts.pop(name), self._clusters.get(name)
        if cluster is not None:
            message = f"Evict from cluster {name} succeed: {count} workloads in {CROWD_SECONDS:.0f} s."
            self._recorder.normal(CLUSTERS, cluster, EVICTED, message)
