"""Events of decisions: the changes that one has made or could not make, on the binding and its template; and metrics.

One event tells of an eviction and of its result, another one of its end. In a mass failover one event tells the whole
move when it is over (`move_events.py`). In a burst of a namespace all other news stand on the template alone. Outages
are told in `eviction_events.py`. An event that would say the same again is not recorded: the standing condition says
it.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import NamedTuple

from controller_runtime import NORMAL, WARNING, Rank, reference_of
from controller_runtime.burst_detector import BurstDetector, BurstDetectors
from kubeapi.core import ObjectReference
from leeward.api.cluster import Cluster
from leeward.api.meta import Condition, find_condition
from leeward.api.names import CLUSTER_OUTAGE_CONDITION, EVICTION_HELD_CONDITION
from leeward.api.resource import CLUSTERS
from leeward.api.work import Binding, GracefulEvictionTask, ResourceBindingSpec, TargetCluster, Work
from leeward.controllers.scheduler.bindings import BindingKey, Bindings
from leeward.controllers.scheduler.eviction_events import BURST_SECONDS, BURST_SIZE, EVICTED, OutageEvents
from leeward.controllers.scheduler.move_events import MoveEvents
from leeward.core.copies.availability import availability
from leeward.core.placement import Decision
from leeward.core.scheduling import Placed, Unplaceable
from leeward.runtime.binding_kinds import template_of
from leeward.runtime.clusters_by_name import ClustersByName
from leeward.runtime.controller_context import ControlPlane, Recorder
from leeward.runtime.metrics import EVICTION_QUEUE

RECONCILE = "ReconcileSchedule"
NOT_EVICTED = "EvictWorkloadFromClusterFailed"


class DecisionEvents:
    def __init__(self, plane: ControlPlane, bindings: Bindings, recorder: Recorder) -> None:
        self._bindings = bindings
        self._recorder = recorder
        self._moves = MoveEvents(plane, bindings, recorder)
        self._clusters = ClustersByName(plane.informers.of(CLUSTERS))
        self._outages = OutageEvents(plane, recorder)
        self._metrics = plane.metrics
        self._clock = plane.clock
        self._expects_burst = plane.events.expects_burst
        self._moving = BurstDetector(BURST_SIZE, BURST_SECONDS)
        self._bursts = BurstDetectors(BURST_SIZE, BURST_SECONDS)

    def tell(self, key: BindingKey, before: Binding, after: Binding, decision: Decision) -> None:
        template = template_of(after)
        abouts = (reference_of(self._bindings.resource(key), after), template)
        now = self._clock.monotonic()
        for news in _of_move(before, after, decision):
            in_burst = self._bursts.add(after.namespace, template.uid, now)
            self._moving.add(template.uid, now)
            if news.left and (self._moving.is_there(now) or self._expects_burst()):
                self._moves.begin(key, template, news.left, news.message)
                continue
            for about in abouts[1:] if in_burst else abouts:
                self._recorder.note(about, news.type, news.reason, news.message, Rank.MOVE)
        self._tell_ends(key, template, before, after, decision)
        if decision.outage is not None and not decision.foreign_held:
            standing = find_condition(before.status.conditions, CLUSTER_OUTAGE_CONDITION)
            self._outages.tell(abouts[0], template, decision.outage.news(standing))
        self._count(before, after, decision)

    def _tell_ends(
        self, key: BindingKey, template: ObjectReference, before: Binding, after: Binding, decision: Decision
    ) -> None:
        if not decision.finished:
            return
        works = self._bindings.works_by_cluster(key)
        for task in before.spec.graceful_eviction_tasks:
            if task.from_cluster in decision.finished:
                moved = describe_move(task, after.spec, works, self._clusters, self._clock.now())
                self._moves.end(key, template, task.from_cluster, moved)

    def measure(self, decision: Decision, seconds: float) -> None:
        """Observes how long it took to decide and to write the decision."""
        if decision.result is not None:
            result = "success" if isinstance(decision.result, Placed) else "error"
            self._metrics.scheduling_seconds.labels(result, RECONCILE).observe(seconds)
        if decision.evicted:
            self._metrics.eviction_seconds.labels(EVICTION_QUEUE).observe(seconds)

    def _count(self, before: Binding, after: Binding, decision: Decision) -> None:
        for news in _of_scheduling(before, after, decision):
            result = "success" if news.type == NORMAL else "error"
            self._metrics.schedule_attempts.labels(result, RECONCILE).inc()
        self._metrics.evictions.labels(EVICTION_QUEUE, "success").inc(len(decision.evicted))
        if decision.withdrawn:
            self._metrics.outages.evictions_withdrawn.inc()
        if decision.held is not None and any(_of_holding(before, decision)):
            self._metrics.evictions.labels(EVICTION_QUEUE, "held").inc()
            self._metrics.resilience.evictions_held.labels(decision.held.reason).inc()


class _News(NamedTuple):
    """`left`: the cluster that a copy begins to leave, with the words about that; of other news it is empty."""

    type: str
    reason: str
    message: str
    left: str = ""


def _of_move(before: Binding, after: Binding, decision: Decision) -> Iterator[_News]:
    """News of a move: leaving copies, with the result; the result by itself where nothing leaves; and staying copies,
    with the reason."""
    leaves = decision.evicted or decision.followed
    if not leaves or isinstance(decision.result, Unplaceable) or decision.quota_refusal:
        yield from _of_scheduling(before, after, decision)
    yield from _of_evictions(decision, _describe(after.spec.clusters))
    yield from _of_returns(decision)
    yield from _of_holding(before, decision)


def _of_scheduling(before: Binding, after: Binding, decision: Decision) -> Iterator[_News]:
    scheduled = find_condition(before.status.conditions, "Scheduled")
    refusal = decision.quota_refusal
    if refusal and not decision.foreign and _is_news(scheduled, refusal):
        yield _News(WARNING, "ScheduleBindingFailed", refusal)
    match decision.result:
        case Placed() if not refusal and (after.spec.clusters != before.spec.clusters or scheduled is None):
            message = f"Binding has been scheduled successfully. Result: {_describe(after.spec.clusters)}"
            yield _News(NORMAL, "ScheduleBindingSucceed", message)
        case Unplaceable() as refused if not decision.foreign and _is_news(scheduled, refused.told):
            yield _News(WARNING, "ScheduleBindingFailed", refused.told)
        case _:
            pass


def _of_evictions(decision: Decision, result: str) -> Iterator[_News]:
    for eviction in decision.evicted:
        message = f"Evicting from cluster {eviction.cluster}, {eviction.cause}. Result: {result}"
        yield _News(NORMAL, EVICTED, message, eviction.cluster)
    for cluster in decision.followed:
        message = f"Leaving cluster {cluster}, which is well, for another affinity term, when all is healthy there."
        yield _News(NORMAL, EVICTED, f"{message} Result: {result}", cluster)


def _of_returns(decision: Decision) -> Iterator[_News]:
    if decision.withdrawn:
        back = ", ".join(decision.withdrawn)
        message = f"Back with a healthy copy: {back}. The eviction from there is withdrawn."
        yield _News(NORMAL, "EvictionWithdrawn", message)
    if decision.returning:
        parts = ", ".join(f"{count} to {cluster}" for cluster, count in sorted(decision.returning.items()))
        message = f"Moving replicas back: {parts}. What they leave shrinks when they are healthy."
        yield _News(NORMAL, "FailbackStarted", message)


def _of_holding(before: Binding, decision: Decision) -> Iterator[_News]:
    known = find_condition(before.status.conditions, EVICTION_HELD_CONDITION)
    if decision.held is not None and not decision.foreign_held and _is_news(known, decision.held.message):
        yield _News(WARNING, NOT_EVICTED, decision.held.message)


def _is_news(condition: Condition | None, message: str) -> bool:
    return condition is None or condition.message != message


def _describe(clusters: tuple[TargetCluster, ...]) -> str:
    return "{" + ", ".join(f"{target.name}:{target.replicas}" for target in clusters) + "}"


def describe_move(
    task: GracefulEvictionTask,
    spec: ResourceBindingSpec,
    works: Mapping[str, Work],
    clusters: Mapping[str, Cluster],
    now: datetime,
) -> str:
    """Sentence about a move that is over. `spec` is without the task; `works` are by cluster.

    Replicas are counted, and copies where there are no replicas."""
    wanted = healthy = 0
    for target in spec.clusters:
        known = availability(works.get(target.name), clusters.get(target.name), target.replicas)
        wanted += max(1, target.replicas)
        healthy += known.at_least if target.replicas else known.is_whole
    places = ", ".join(target.name for target in spec.clusters if target.name != task.from_cluster)
    began = task.creation_timestamp
    took = f" after {max(0, round((now - began).total_seconds()))} s" if began is not None else ""
    return f"Moved from {task.from_cluster} to {places or 'no other cluster'}: {healthy} of {wanted} healthy{took}."
