"""Sums up by cluster what is told of so many bindings at once that nobody would read each event."""

import asyncio
from collections.abc import Callable, Hashable

from leeward.api.cluster import Cluster
from leeward.api.resource import CLUSTERS
from leeward.runtime.crowd import Crowd
from leeward.runtime.plane import ControlPlane

CROWD, CROWD_SECONDS = 16, 10.0
"""So many of a kind within this time are summed up."""


class SumsByCluster:
    """`tell` gets a cluster and how many were counted there, some seconds after the first of them.

    What is not summed up when the process ends is not told: the bindings show it.
    """

    def __init__(self, plane: ControlPlane, name: str, tell: Callable[[Cluster, int], None]) -> None:
        self._plane = plane
        self._name = name
        self._tell = tell
        self._clusters = plane.informers.of(CLUSTERS)
        self._crowd = Crowd(CROWD, CROWD_SECONDS)
        self._counts: dict[str, int] = {}

    def counts(self, who: Hashable, cluster: str) -> bool:
        """Whether this one is one of a crowd, and counted; else it is to be told by itself."""
        now = self._plane.clock.monotonic()
        self._crowd.add((who, cluster), now)
        if not self._crowd.is_there(now):
            return False
        if cluster not in self._counts:
            self._plane.supervisor.start(self._sum_up(cluster), f"{self._name} {cluster}")
        self._counts[cluster] = self._counts.get(cluster, 0) + 1
        return True

    async def _sum_up(self, name: str) -> None:
        await asyncio.sleep(CROWD_SECONDS)
        count, cluster = self._counts.pop(name), self._clusters.get(name)
        if cluster is not None:
            self._tell(cluster, count)
