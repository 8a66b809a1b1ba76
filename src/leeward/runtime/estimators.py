"""Asking estimators: several at once, each with a deadline, and the lowest answer counts.

An `Estimator` knows more about how much room clusters have than they report: one that looks at the nodes, or at quotas.
One that errs, or has not answered by the deadline, is left out: its silence limits nothing. It then rests, longer with
every failure in a row, and one question at a time finds out whether it is back; so one that hangs costs its deadline
once, not once for every binding (`resting.py`). Who is left out is logged, and counted. Those that each cluster has
of its own are asked beside them (`cluster_estimators.py`).

Never decides: `core.scheduling.estimates` draws the conclusions for a placement.
Karmada: pkg/estimator/client; the same minimum and the same deadline. There a dead estimator costs every binding its
time-out.
"""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from controller_runtime import Rest
from kubeapi.loop import Clock, Supervisor
from leeward.core.scheduling.estimates import Answers, Question, lowest
from leeward.runtime.cluster_estimators import ClusterEstimator, ClusterEstimators
from leeward.runtime.controller_context import ControlPlane
from leeward.runtime.metrics import Metrics

log = logging.getLogger(__name__)


class Estimator(Protocol):
    @property
    def name(self) -> str: ...

    async def estimate(self, question: Question, clusters: Sequence[str]) -> Answers:
        """Estimates how many more fit into each of the clusters.

        A cluster of which nothing is known is left out, or has `UNAUTHENTIC`. It may be cancelled.
        Raises: anything; it is then left out.
        """
        ...


@dataclass(slots=True)
class _Line:
    estimator: Estimator
    rest: Rest = field(default_factory=Rest)


class Estimators:
    """`ask` is safe to call for many bindings at once: questions that mean the same are asked once.

    `of_clusters` are those that clusters have of their own.
    """

    def __init__(
        self,
        estimators: Sequence[Estimator],
        clock: Clock,
        metrics: Metrics,
        supervisor: Supervisor,
        deadline_seconds: float,
        of_clusters: ClusterEstimators | None = None,
    ) -> None:
        self._of_clusters = of_clusters
        self._lines = [_Line(estimator) for estimator in estimators]
        self._clock = clock
        self._metrics = metrics
        self._supervisor = supervisor
        self._deadline_seconds = deadline_seconds
        self._asked: dict[bytes, asyncio.Task[Answers]] = {}

    @staticmethod
    def of(
        plane: ControlPlane,
        estimators: Sequence[Estimator],
        of_clusters: ClusterEstimator | None,
        deadline_seconds: float,
    ) -> "Estimators":
        each = None if of_clusters is None else ClusterEstimators.of(plane, of_clusters, deadline_seconds)
        return Estimators(estimators, plane.clock, plane.metrics, plane.supervisor, deadline_seconds, each)

    def __bool__(self) -> bool:
        """Tells whether there is anyone to ask."""
        return bool(self._lines) or self._of_clusters is not None

    def forget(self, cluster: str) -> None:
        """The cluster has left the fleet."""
        if self._of_clusters is not None:
            self._of_clusters.forget(cluster)

    async def ask(self, question: Question, clusters: Sequence[str]) -> Answers:
        """The lowest answers of those who answer in time; empty when there is none. Never raises for an estimator."""
        asked = self._asked.get(question.key)
        if asked is None:
            asked = self._supervisor.start(self._ask_all(question, clusters), "estimators")
            self._asked[question.key] = asked
            asked.add_done_callback(lambda _: self._asked.pop(question.key, None))
        return await asyncio.shield(asked)

    async def _ask_all(self, question: Question, clusters: Sequence[str]) -> Answers:
        now = self._clock.monotonic()
        asked = [self._ask_one(line, question, clusters) for line in self._lines if line.rest.may_ask(now)]
        if self._of_clusters is not None:
            asked.append(self._of_clusters.room(question, clusters))
        return lowest(await asyncio.gather(*asked))

    async def _ask_one(self, line: _Line, question: Question, clusters: Sequence[str]) -> Answers:
        name = line.estimator.name
        try:
            async with asyncio.timeout(self._deadline_seconds):
                answers = lowest([await line.estimator.estimate(question, clusters)])
        except TimeoutError:
            self._leave_out(line, "late", f"no answer within {self._deadline_seconds:g} seconds")
            return {}
        except Exception as error:
            self._leave_out(line, "error", repr(error))
            return {}
        self._metrics.estimates.labels(name, "success").inc()
        if line.rest.answered():
            log.info("estimator %s answers again", name)
        return answers

    def _leave_out(self, line: _Line, result: str, reason: str) -> None:
        self._metrics.estimates.labels(line.estimator.name, result).inc()
        if line.rest.failed(self._clock.monotonic()):
            log.warning("estimator %s is left out for now: %s", line.estimator.name, reason)
