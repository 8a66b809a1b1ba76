"""Moves that are told in one event: in a burst not when a copy begins to leave, but when it is over.

Moves that are still under way after a while are told one by one, where they are few. Else the cluster says how many
they are.
"""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass

from controller_runtime import NORMAL, WARNING, Rank, keep_latest
from kubeapi.core import ObjectReference
from leeward.api.cluster import Cluster
from leeward.api.resource import CLUSTERS
from leeward.controllers.scheduler.bindings import BindingKey, Bindings
from leeward.controllers.scheduler.eviction_events import BURST_SECONDS, BURST_SIZE, EVICTED, SumsByCluster
from leeward.runtime.controller_context import ControlPlane, Recorder

MOST_UNTOLD = 50_000
UNFINISHED_SECONDS, LOOK_SECONDS = 120.0, 30.0
UNFINISHED = "EvictWorkloadFromClusterUnfinished"


@dataclass(slots=True)
class _Move:
    """A copy on its way out, of which nothing was told when it began, at `since`; `message` is the untold text."""

    key: BindingKey
    template: ObjectReference
    cluster: str
    message: str
    since: float
    is_told: bool = False


class MoveEvents:
    """Events of moves. Moves that are under way are known to this process alone: its successor tells the ends of moves
    in a burst."""

    def __init__(self, plane: ControlPlane, bindings: Bindings, recorder: Recorder) -> None:
        self._plane = plane
        self._bindings = bindings
        self._recorder = recorder
        self._clusters = plane.informers.of(CLUSTERS)
        self._begun = SumsByCluster(plane, "evictions from", self._tell_begun)
        self._ended = SumsByCluster(plane, "departures from", self._tell_ended)
        self._under_way: dict[tuple[BindingKey, str], _Move] = {}
        self._is_looking = False

    def begin(self, key: BindingKey, template: ObjectReference, cluster: str, message: str) -> None:
        """A copy leaves as one of a burst: `message` is told only should it take long."""
        self._begun.add(cluster)
        now = self._plane.clock.monotonic()
        self._under_way.pop((key, cluster), None)
        self._under_way[key, cluster] = _Move(key, template, cluster, message, now)
        keep_latest(self._under_way, MOST_UNTOLD)
        if not self._is_looking:
            self._is_looking = True
            self._plane.supervisor.start(self._look_after(), "moves under way")

    def end(self, key: BindingKey, template: ObjectReference, cluster: str, moved: str) -> None:
        """A copy has left; `moved` says where to, and is told where nothing was told before."""
        was_untold = self._under_way.pop((key, cluster), None) is not None
        in_burst = self._ended.counts(template.uid, cluster)
        message = moved if in_burst or was_untold else f"Evict from cluster {cluster} succeed."
        self._recorder.note(template, NORMAL, EVICTED, message, Rank.MOVE)

    async def _look_after(self) -> None:
        while self._under_way:
            await asyncio.sleep(LOOK_SECONDS)
            self._forget_ended()
            due = self._plane.clock.monotonic() - UNFINISHED_SECONDS
            late = [move for move in self._under_way.values() if not move.is_told and move.since <= due]
            for move in late:
                move.is_told = True
            self._tell_late(late)
        self._is_looking = False

    def _forget_ended(self) -> None:
        """Forgets moves that were withdrawn, or whose binding is gone: these end without a word of ours."""
        for place, move in list(self._under_way.items()):
            if move.cluster not in self._left_by(move.key):
                del self._under_way[place]

    def _left_by(self, key: BindingKey) -> Iterator[str]:
        binding = self._bindings.get(key)
        return (task.from_cluster for task in (binding.spec.graceful_eviction_tasks if binding is not None else ()))

    def _tell_late(self, late: list[_Move]) -> None:
        by_cluster: dict[str, list[_Move]] = {}
        for move in late:
            by_cluster.setdefault(move.cluster, []).append(move)
        for name, moves in by_cluster.items():
            cluster = self._clusters.get(name)
            if len(moves) < BURST_SIZE or cluster is None:
                for move in moves[:BURST_SIZE]:
                    message = f"{move.message} Not healthy there after {UNFINISHED_SECONDS:.0f} s."
                    self._recorder.note(move.template, WARNING, UNFINISHED, message, Rank.MOVE)
            else:
                message = f"{len(moves)} workloads that left more than {UNFINISHED_SECONDS:.0f} s ago are not healthy"
                self._recorder.warning(CLUSTERS, cluster, UNFINISHED, f"{message} elsewhere; the Outage lists them.")

    def _tell_begun(self, cluster: Cluster, count: int) -> None:
        message = f"Evicting from cluster {cluster.name}: {count} workloads in {BURST_SECONDS:.0f} s."
        self._recorder.normal(CLUSTERS, cluster, EVICTED, message)

    def _tell_ended(self, cluster: Cluster, count: int) -> None:
        message = f"Evict from cluster {cluster.name} succeed: {count} workloads in {BURST_SECONDS:.0f} s."
        self._recorder.normal(CLUSTERS, cluster, EVICTED, message)
