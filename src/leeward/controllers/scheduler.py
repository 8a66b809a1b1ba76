"""The scheduler: runs `decide_placement` for every binding, and is the only writer of where it goes.

Evicting, placing and finishing an eviction are one write of `spec.clusters` and `spec.gracefulEvictionTasks`; all
deadlines are the decision's `wake_at`.

The most urgent bindings come first. Those that are taken from the queue together are decided in one stroke, on one
state of the fleet, where each takes from what the others can be given; then they are written concurrently. What finds
no place is tried again when a cluster changes, with growing pauses, and at the latest after five minutes. Where room
decides, the estimators are asked first (`runtime/estimators.py`).

Karmada: pkg/scheduler, the taint manager of pkg/controllers/cluster, pkg/controllers/gracefuleviction.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import msgspec

from leeward.api.cluster import Cluster
from leeward.api.codec import encode, to_wire
from leeward.api.diff import status_patch
from leeward.api.meta import Condition, Manifest, find_condition, remove_condition, set_condition, wire_time
from leeward.api.names import (
    APPLIED_PLACEMENT_ANNOTATION,
    EVICTION_HELD_CONDITION,
    HOME_ANNOTATION,
    cluster_of_execution_space,
)
from leeward.api.policy import Placement
from leeward.api.resource import CLUSTERS, WORKS, Resource
from leeward.api.work import Binding, ResourceBindingStatus, TargetCluster, Work
from leeward.core.failover.application import application_failover
from leeward.core.failover.brake import looks_dead
from leeward.core.failover.doubt import is_failing
from leeward.core.pace import Pace, drain_budget
from leeward.core.placement import Decision, PlacementSettings, Surroundings, decide_placement
from leeward.core.scheduling import Fleet, Placed, Unplaceable, plan, scheduled_condition
from leeward.core.scheduling.batch import owner_of, priority_of
from leeward.core.scheduling.estimates import Estimates, asks_for_room, estimator_of, question_of
from leeward.core.scheduling.model import Profile, Request
from leeward.core.scheduling.steps import DEFAULT_PROFILE
from leeward.core.scheduling.workload_affinity import WorkloadGroups, workload_affinity_filters
from leeward.runtime.binding_kinds import CLUSTER_RESOURCE_BINDING, RESOURCE_BINDING
from leeward.runtime.brake import BrakeView
from leeward.runtime.estimators import Estimator, Estimators
from leeward.runtime.identity import Key, key_of
from leeward.runtime.index import Index
from leeward.runtime.informer import Informer
from leeward.runtime.plane import ControlPlane
from leeward.runtime.strokes import Strokes

RETRY_UNSCHEDULABLE = timedelta(minutes=5)
FIRST_BACKOFF_SECONDS = 1.0
LAST_BACKOFF_SECONDS = 10.0
TAINT_MANAGER = "taint-manager"
"""What a scheduler is called that only evicts and finishes evictions, and leaves placing to another process."""
STROKE = 64
"""So many bindings are decided together, and written concurrently."""


class BindingKey(NamedTuple):
    plural: str
    key: Key


@dataclass(frozen=True, slots=True)
class SchedulerSettings:
    """Gates: `workload_affinity` is WorkloadAffinity, `multiple_pod_templates` MultiplePodTemplatesScheduling.

    `estimators` are asked besides what clusters report of themselves; each has `estimator_timeout_seconds`
    (--scheduler-estimator-timeout).
    """

    placement: PlacementSettings = field(default_factory=PlacementSettings)
    evictions_per_second: float | None = None
    """--resource-eviction-rate; None is without a limit."""
    workload_affinity: bool = False
    multiple_pod_templates: bool = False
    estimators: tuple[Estimator, ...] = ()
    estimator_timeout_seconds: float = 3


class Scheduler:
    def __init__(self, plane: ControlPlane, settings: SchedulerSettings, brake: BrakeView) -> None:
        self._plane = plane
        self._settings = settings.placement
        self._brake = brake
        placement = settings.placement
        self._recorder = plane.recorder(placement.scheduler_name if placement.place else TAINT_MANAGER)
        self._clusters = plane.informers.of(CLUSTERS)
        self._groups = WorkloadGroups() if settings.workload_affinity else None
        self._estimates = Estimates()
        self._estimators = Estimators.of(plane, settings.estimators, settings.estimator_timeout_seconds)
        self._fleet = Fleet(profile=self._profile(settings))
        self._strokes = Strokes[BindingKey, tuple[Binding, Decision]](self._decide)
        self._pace = Pace[BindingKey](settings.evictions_per_second)
        self._attempts: dict[BindingKey, int] = {}
        self._works = plane.informers.of(WORKS)
        self._kinds: dict[str, tuple[Resource[Any], Informer[Any]]] = {}
        self._works_of: dict[str, Index[Work, Key]] = {}
        for kind in (RESOURCE_BINDING, CLUSTER_RESOURCE_BINDING):
            self._kinds[kind.resource.plural] = (kind.resource, plane.informers.of(kind.resource))
            self._works_of[kind.resource.plural] = Index(self._works, kind.key_of_work)
        name = "scheduler" if placement.place else TAINT_MANAGER
        self._controller = plane.controller(name, self.reconcile, workers=STROKE, rank=self._rank)

    def start(self) -> None:
        self._clusters.on_change(self._cluster_changed)
        self._works.on_change(self._work_changed)
        self._brake.on_change(self._add_all)
        for plural, (_, informer) in self._kinds.items():
            informer.on_change(self._binding_changed(plural))
        self._controller.start(self._plane.supervisor)

    async def reconcile(self, key: BindingKey) -> datetime | None:
        resource, bindings = self._kinds[key.plural]
        for informer in (self._clusters, self._works, bindings):
            await informer.wait_synced()
        await self._brake.wait_synced()
        await self._ask_for_room(key)
        decided = await self._strokes.ask(key)
        if decided is None:
            self._attempts.pop(key, None)
            return None
        binding, decision = decided
        now = self._plane.clock.now()
        placed = await self._write_placement(resource, bindings, binding, decision)
        if placed is not binding:
            self._report(resource, binding, placed, decision)
        await self._write_status(resource, bindings, placed, decision, now)
        if placed is binding:
            self._report(resource, binding, placed, decision)
        if isinstance(decision.result, Unplaceable) or decision.held is not None:
            self._attempts[key] = self._attempts.get(key, 0) + 1
            retry_at = now + RETRY_UNSCHEDULABLE
            return min(retry_at, decision.wake_at) if decision.wake_at else retry_at
        self._attempts.pop(key, None)
        return decision.wake_at

    def _profile(self, settings: SchedulerSettings) -> Profile:
        filters = () if self._groups is None else workload_affinity_filters(self._groups, self._is_left)
        return Profile(
            filters=(*DEFAULT_PROFILE.filters, *filters),
            scores=DEFAULT_PROFILE.scores,
            estimators=(*DEFAULT_PROFILE.estimators, estimator_of(self._estimates)),
            multiple_pod_templates=settings.multiple_pod_templates,
        )

    def _is_left(self, name: str) -> bool:
        """Whether what is in the cluster has to leave it."""
        cluster = self._fleet.get(name)
        return cluster is None or cluster.is_being_deleted or looks_dead(cluster) or _has_no_execute(cluster)

    async def _ask_for_room(self, key: BindingKey) -> None:
        binding = self._binding(key)
        if not self._estimators or binding is None or not asks_for_room(binding, self._fleet):
            return
        request = Request(binding.spec, multiple_pod_templates=self._fleet.profile.multiple_pod_templates)
        question = question_of(request)
        clusters = [name for name, cluster in self._fleet.items() if not looks_dead(cluster)]
        self._estimates.put(question, await self._estimators.ask(question, clusters))

    def _decide(self, keys: Sequence[BindingKey]) -> Mapping[BindingKey, tuple[Binding, Decision]]:
        """Decides for all bindings that are there and have a placement, in one stroke."""
        found = ((key, self._binding(key)) for key in keys)
        bindings = {key: binding for key, binding in found if binding is not None and _is_placeable(binding)}
        now, brake = self._plane.clock.now(), self._brake.holds(self._fleet.values())

        def decide(key: BindingKey, binding: Binding) -> Decision:
            works = self._works_by(key)
            decision = self._pace.decide(
                key,
                self._fleet,
                now,
                lambda waits: decide_placement(
                    binding, Surroundings(self._fleet, works, brake, waits), now, self._settings
                ),
            )
            if self._groups is not None and key.key.namespace:
                self._groups.put(binding, decision.clusters)
            return decision

        for key, binding in bindings.items():
            self._pace.observe(key, _left_by(binding))
        plans = plan(self._fleet, bindings, decide)
        self._add_next_in_line()
        return {key: (bindings[key], decision) for key, decision in plans.items()}

    def _binding(self, key: BindingKey) -> Binding | None:
        return self._kinds[key.plural][1].get(key.key.name, key.key.namespace)

    def _works_by(self, key: BindingKey) -> dict[str, Work]:
        """The binding's Works by cluster."""
        return {cluster_of_execution_space(w.namespace): w for w in self._works_of[key.plural].get(key.key)}

    def _rank(self, key: BindingKey) -> int:
        binding = self._binding(key)
        return 0 if binding is None else -priority_of(binding)

    async def _write_placement(
        self, resource: Resource[Any], bindings: Informer[Any], binding: Binding, decision: Decision
    ) -> Binding:
        patch: Manifest = {}
        if decision.clusters != binding.spec.clusters:
            patch["clusters"] = to_wire(decision.clusters)
        if decision.eviction_tasks != binding.spec.graceful_eviction_tasks:
            patch["gracefulEvictionTasks"] = to_wire(decision.eviction_tasks) or None
        body: Manifest = {"spec": patch} if patch else {}
        annotations = dict(decision.annotations)
        applied = encode(binding.spec.placement or Placement()).decode()
        if _is_settled(decision) and binding.metadata.annotations.get(APPLIED_PLACEMENT_ANNOTATION) != applied:
            annotations[APPLIED_PLACEMENT_ANNOTATION] = applied
        if annotations:
            body["metadata"] = {"annotations": annotations}
        if not body:
            return binding
        return await self._patch(resource, bindings, binding, body)

    async def _write_status(
        self, resource: Resource[Any], bindings: Informer[Any], binding: Binding, decision: Decision, now: datetime
    ) -> None:
        status = _status_after(binding, decision, now)
        patch = status_patch(binding.status, status)
        if patch:
            await self._patch(resource, bindings, binding, patch, subresource="status")

    async def _patch(
        self, resource: Resource[Any], bindings: Informer[Any], binding: Binding, body: Manifest, subresource: str = ""
    ) -> Binding:
        updated = await self._plane.client.patch(
            resource,
            binding.name,
            body,
            binding.namespace,
            subresource=subresource,
            resource_version=binding.metadata.resource_version,
        )
        bindings.remember(updated)
        return updated

    def _report(self, resource: Resource[Any], before: Binding, after: Binding, decision: Decision) -> None:
        """Events on the binding: what changed, and what could not.

        A placement is told as soon as it is written: when the status then cannot be, the next attempt finds nothing
        to place, and would tell nothing.
        """
        old_scheduled = find_condition(before.status.conditions, "Scheduled")
        match decision.result:
            case Placed() if after.spec.clusters != before.spec.clusters or old_scheduled is None:
                message = f"Binding has been scheduled successfully. Result: {_describe(after.spec.clusters)}"
                self._recorder.normal(resource, after, "ScheduleBindingSucceed", message)
                self._plane.metrics.schedule_attempts.labels("scheduled", "ReconcileSchedule").inc()
            case Unplaceable(message=message) if not decision.foreign and _is_news(old_scheduled, message):
                self._recorder.warning(resource, after, "ScheduleBindingFailed", message)
                self._plane.metrics.schedule_attempts.labels("error", "ReconcileSchedule").inc()
            case _:
                pass
        self._report_evictions(resource, before, after, decision)

    def _report_evictions(self, resource: Resource[Any], before: Binding, after: Binding, decision: Decision) -> None:
        for eviction in decision.evicted:
            message = f"Evicting from cluster {eviction.cluster}, {eviction.cause}."
            self._recorder.normal(resource, after, "EvictWorkloadFromClusterSucceed", message)
            self._plane.metrics.evictions.labels("success").inc()
        for cluster in decision.followed:
            message = f"Leaving cluster {cluster}, which is well, for another affinity term, when all is healthy there."
            self._recorder.normal(resource, after, "EvictWorkloadFromClusterSucceed", message)
        for cluster in decision.finished:
            message = f"Evict from cluster {cluster} succeed."
            self._recorder.normal(resource, after, "EvictWorkloadFromClusterSucceed", message)
        if decision.withdrawn:
            self._plane.metrics.evictions_withdrawn.inc()
            message = (
                f"Back with a healthy copy: {', '.join(decision.withdrawn)}. The eviction from there is withdrawn."
            )
            self._recorder.normal(resource, after, "EvictionWithdrawn", message)
        if decision.returning:
            parts = ", ".join(f"{count} to {cluster}" for cluster, count in sorted(decision.returning.items()))
            message = f"Moving replicas back: {parts}. What they leave shrinks when they are healthy."
            self._recorder.normal(resource, after, "FailbackStarted", message)
        old_held = find_condition(before.status.conditions, EVICTION_HELD_CONDITION)
        if decision.held is not None and not decision.foreign_held and _is_news(old_held, decision.held.message):
            self._recorder.warning(resource, after, "EvictWorkloadFromClusterFailed", decision.held.message)
            self._plane.metrics.evictions.labels("held").inc()
            self._plane.metrics.evictions_held.labels(decision.held.reason).inc()

    def _binding_changed(self, plural: str) -> Callable[[Binding | None, Binding | None], None]:
        def changed(old: Binding | None, new: Binding | None) -> None:
            if new is not None:
                key = BindingKey(plural, key_of(new))
                self._pace.observe(key, _left_by(new))
                self._controller.queue.add(key)
            elif old is not None:
                self._fleet.release(owner_of(old))
                self._pace.forget(BindingKey(plural, key_of(old)))
            self._add_next_in_line()
            self._group_changed(plural, old, new)

        return changed

    def _group_changed(self, plural: str, old: Binding | None, new: Binding | None) -> None:
        """Those of a group that wait are decided again when another of it has moved."""
        binding = new or old
        if self._groups is None or binding is None or not binding.namespace:
            return
        beside = self._groups.beside(binding)
        if new is None:
            self._groups.remove(binding)
        else:
            self._groups.put(new)
            beside |= self._groups.beside(new)
        if old is None or new is None or old.spec.clusters != new.spec.clusters:
            for name in beside:
                self._add_if_waiting(BindingKey(plural, Key(binding.namespace, name)))

    def _add_if_waiting(self, key: BindingKey) -> None:
        binding = self._binding(key)
        if binding is not None and _is_waiting(binding):
            self._controller.queue.add(key)

    def _cluster_changed(self, old: Cluster | None, new: Cluster | None) -> None:
        if new is not None:
            self._fleet.put(new)
        elif old is not None:
            self._fleet.remove(old.name)
        if old is None or new is None or _matters(old, new):
            self._add_all()
        elif is_failing(old) != is_failing(new) or old.status.resource_summary != new.status.resource_summary:
            self._add_waiting()

    def _work_changed(self, old: Work | None, new: Work | None) -> None:
        """What a Work reports can begin, end or withdraw an eviction; of others it changes nothing here."""
        work = new or old
        if work is None:
            return
        for kind in (RESOURCE_BINDING, CLUSTER_RESOURCE_BINDING):
            key = kind.key_of_work(work)
            plural = kind.resource.plural
            binding = self._kinds[plural][1].get(key.name, key.namespace) if key is not None else None
            if key is not None and binding is not None and _depends_on_health(binding):
                self._controller.queue.add(BindingKey(plural, key))

    def _add_next_in_line(self) -> None:
        for key in self._pace.next_in_line(self._fleet):
            self._controller.queue.add(key)

    def _add_waiting(self) -> None:
        """The bindings that wait for room or for the brake: the longer they have waited, the later."""
        now = self._plane.clock.now()
        for plural, (_, informer) in self._kinds.items():
            for binding in informer.list():
                if _is_waiting(binding):
                    key = BindingKey(plural, key_of(binding))
                    self._controller.queue.add_at(key, now + _backoff(self._attempts.get(key, 1)))

    def _add_all(self) -> None:
        for plural, (_, informer) in self._kinds.items():
            for binding in informer.list():
                self._controller.queue.add(BindingKey(plural, key_of(binding)))


def _left_by(binding: Binding) -> Iterator[str]:
    """The clusters that the binding is on its way out of."""
    return (task.from_cluster for task in binding.spec.graceful_eviction_tasks)


def _backoff(attempts: int) -> timedelta:
    """Karmada: pkg/scheduler/internal/queue; same."""
    return timedelta(seconds=min(FIRST_BACKOFF_SECONDS * 2 ** min(attempts - 1, 30), LAST_BACKOFF_SECONDS))


def _is_placeable(binding: Binding) -> bool:
    return binding.metadata.deletion_timestamp is None and binding.spec.placement is not None


def _has_no_execute(cluster: Cluster) -> bool:
    return any(taint.effect == "NoExecute" for taint in cluster.spec.taints)


def _matters(old: Cluster, new: Cluster) -> bool:
    """Whether a change of a cluster can change where anything goes."""
    return (
        old.spec != new.spec
        or old.metadata.labels != new.metadata.labels
        or old.is_being_deleted != new.is_being_deleted
        or old.is_ready != new.is_ready
        or drain_budget(old) != drain_budget(new)
        or old.status.api_enablements != new.status.api_enablements
    )


def _depends_on_health(binding: Binding) -> bool:
    return (
        bool(binding.spec.graceful_eviction_tasks)
        or application_failover(binding.spec) is not None
        or HOME_ANNOTATION in binding.metadata.annotations
    )


def _is_waiting(binding: Binding) -> bool:
    scheduled = find_condition(binding.status.conditions, "Scheduled")
    held = find_condition(binding.status.conditions, EVICTION_HELD_CONDITION)
    return held is not None or (scheduled is not None and scheduled.status == "False")


def _is_news(condition: Condition | None, message: str) -> bool:
    return condition is None or condition.message != message


def _is_settled(decision: Decision) -> bool:
    """Whether the present placement has been carried out, or found to fit nowhere."""
    return isinstance(decision.result, Placed) or getattr(decision.result, "kind", "") == "FitError"


def _status_after(binding: Binding, decision: Decision, now: datetime) -> ResourceBindingStatus:
    status = binding.status
    if decision.foreign_held:
        conditions = status.conditions
    elif decision.held is not None:
        conditions = set_condition(status.conditions, decision.held, now)
    else:
        conditions = remove_condition(status.conditions, EVICTION_HELD_CONDITION)
    status = msgspec.structs.replace(status, conditions=conditions)
    return status if decision.foreign else _scheduling_status(status, binding, decision, now)


def _scheduling_status(
    status: ResourceBindingStatus, binding: Binding, decision: Decision, now: datetime
) -> ResourceBindingStatus:
    """What the binding says of its scheduling. A result that stands is a success, also when its report was lost."""
    generation = binding.metadata.generation
    result = decision.result or Placed(decision.clusters, status.scheduler_observing_affinity_name)
    conditions = set_condition(status.conditions, scheduled_condition(result), now)
    if isinstance(result, Unplaceable):
        return msgspec.structs.replace(status, conditions=conditions)
    is_news = decision.result is not None and status.scheduler_observed_generation != generation
    scheduled_at = wire_time(now) if is_news or status.last_scheduled_time is None else status.last_scheduled_time
    return msgspec.structs.replace(
        status,
        conditions=conditions,
        scheduler_observing_affinity_name=result.affinity_name,
        scheduler_observed_generation=generation,
        last_scheduled_time=scheduled_at,
    )


def _describe(clusters: tuple[TargetCluster, ...]) -> str:
    return "{" + ", ".join(f"{target.name}:{target.replicas}" for target in clusters) + "}"
