"""Asking the estimators that clusters have of their own: all at once, by one deadline, and who answers counts.

What has not answered by then, or errs, is unknown: neither no room nor any amount of it. That cluster's estimator
rests (`resting.py`), and the others are heard all the same. So one that hangs costs its deadline once. No more than
`MAX_CALLS` are asked at the same time; whoever was not asked by the deadline has not failed.

Karmada: pkg/estimator/client/accurate.go; the same deadline for all. There one error discards what all others said.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from controller_runtime import Rest
from kubeapi.loop import Clock, Supervisor
from kubeapi.text import shown
from leeward.api.work import BindingResource
from leeward.core.scheduling.estimates import Answers, Question, lowest
from leeward.runtime.controller_context import ControlPlane
from leeward.runtime.metrics import Metrics

NAME = "scheduler-estimator"
MAX_CALLS = 128
MAX_REASON = 300

log = logging.getLogger(__name__)


class ClusterEstimator(Protocol):
    """The way to the estimators of all clusters. Its calls raise anything, and may be cancelled."""

    async def room(self, cluster: str, question: Question) -> int: ...

    async def unschedulable(self, cluster: str, workload: BindingResource, threshold_seconds: float) -> int: ...

    async def forget(self, cluster: str) -> None: ...


class ClusterEstimators:
    def __init__(
        self,
        estimator: ClusterEstimator,
        clock: Clock,
        metrics: Metrics,
        supervisor: Supervisor,
        deadline_seconds: float,
    ) -> None:
        self._estimator = estimator
        self._clock = clock
        self._metrics = metrics
        self._supervisor = supervisor
        self._deadline_seconds = deadline_seconds
        self._rests: dict[str, Rest] = {}
        self._places = asyncio.Semaphore(MAX_CALLS)

    @staticmethod
    def of(plane: ControlPlane, estimator: ClusterEstimator, deadline_seconds: float) -> "ClusterEstimators":
        return ClusterEstimators(estimator, plane.clock, plane.metrics, plane.supervisor, deadline_seconds)

    async def room(self, question: Question, clusters: Sequence[str]) -> Answers:
        """Number that still fits into each of the clusters that answer in time. Never raises for an estimator."""
        return await self._ask(clusters, lambda cluster: self._estimator.room(cluster, question))

    async def unschedulable(self, workload: BindingResource, clusters: Sequence[str], seconds: float) -> Answers:
        """Number of replicas that have had no node for so long, in each of the clusters that answer in time."""
        return await self._ask(clusters, lambda cluster: self._estimator.unschedulable(cluster, workload, seconds))

    def forget(self, cluster: str) -> None:
        """The cluster has left the fleet."""
        self._rests.pop(cluster, None)
        self._supervisor.start(self._estimator.forget(cluster), "estimator of a cluster that left")

    async def _ask(self, clusters: Sequence[str], ask: Callable[[str], Awaitable[int]]) -> Answers:
        now = self._clock.monotonic()
        rests = {cluster: self._rests.setdefault(cluster, Rest()) for cluster in clusters}
        asked = [cluster for cluster, rest in rests.items() if rest.may_ask(now)]
        answers: dict[str, int] = {}
        waiting: set[str] = set()

        async def ask_one(cluster: str) -> None:
            async with self._places:
                waiting.add(cluster)
                try:
                    answers[cluster] = await ask(cluster)
                except Exception as error:
                    self._leave_out(cluster, "error", shown(str(error) or repr(error), MAX_REASON))
                else:
                    self._heard(cluster)
                waiting.discard(cluster)

        try:
            async with asyncio.timeout(self._deadline_seconds):
                await asyncio.gather(*map(ask_one, asked))
        except TimeoutError:
            for cluster in sorted(waiting):
                self._leave_out(cluster, "late", f"no answer within {self._deadline_seconds:g} seconds")
        return lowest([answers])

    def _heard(self, cluster: str) -> None:
        self._metrics.estimates.labels(NAME, "success").inc()
        rest = self._rests.get(cluster)
        if rest is not None and rest.answered():
            log.info("the estimator of %s answers again", cluster)

    def _leave_out(self, cluster: str, result: str, reason: str) -> None:
        self._metrics.estimates.labels(NAME, result).inc()
        rest = self._rests.get(cluster)
        if rest is not None and rest.failed(self._clock.monotonic()):
            log.warning("the estimator of %s is left out for now: %s", cluster, reason)
