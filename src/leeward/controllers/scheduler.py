"""The scheduler: runs `decide_placement` for every binding, and is the only writer of where it goes.

Evicting, placing and finishing an eviction are one write of `spec.clusters` and `spec.gracefulEvictionTasks`; all
deadlines are the decision's `wake_at`.

Karmada: pkg/scheduler, the taint manager of pkg/controllers/cluster, pkg/controllers/gracefuleviction.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import msgspec

from leeward.api.cluster import Cluster
from leeward.api.codec import encode, to_wire
from leeward.api.diff import status_patch
from leeward.api.meta import Manifest, find_condition, remove_condition, set_condition, wire_time
from leeward.api.names import APPLIED_PLACEMENT_ANNOTATION, EVICTION_HELD_CONDITION
from leeward.api.policy import Placement
from leeward.api.resource import CLUSTER_RESOURCE_BINDINGS, CLUSTERS, RESOURCE_BINDINGS, Resource
from leeward.api.work import Binding, ResourceBindingStatus, TargetCluster
from leeward.core.placement import Decision, PlacementSettings, decide_placement
from leeward.core.scheduling import Placed, Unplaceable, scheduled_condition
from leeward.runtime.identity import Key, key_of
from leeward.runtime.informer import Informer
from leeward.runtime.plane import ControlPlane

RETRY_UNSCHEDULABLE = timedelta(minutes=5)


class BindingKey(NamedTuple):
    plural: str
    key: Key


class Scheduler:
    def __init__(self, plane: ControlPlane, settings: PlacementSettings) -> None:
        self._plane = plane
        self._settings = settings
        self._recorder = plane.recorder(settings.scheduler_name)
        self._clusters = plane.informers.of(CLUSTERS)
        self._fleet: dict[str, Cluster] = {}
        self._kinds: dict[str, tuple[Resource[Any], Informer[Any]]] = {
            resource.plural: (resource, plane.informers.of(resource))
            for resource in (RESOURCE_BINDINGS, CLUSTER_RESOURCE_BINDINGS)
        }
        self._controller = plane.controller("scheduler", self.reconcile)

    def start(self) -> None:
        self._clusters.on_change(self._cluster_changed)
        for plural, (_, informer) in self._kinds.items():
            informer.on_change(self._binding_changed(plural))
        self._controller.start(self._plane.supervisor)

    async def reconcile(self, key: BindingKey) -> datetime | None:
        resource, bindings = self._kinds[key.plural]
        await self._clusters.wait_synced()
        await bindings.wait_synced()
        binding: Binding | None = bindings.get(key.key.name, key.key.namespace)
        if binding is None or binding.metadata.deletion_timestamp is not None or binding.spec.placement is None:
            return None
        now = self._plane.clock.now()
        decision = decide_placement(binding, self._fleet, now, self._settings)
        placed = await self._write_placement(resource, bindings, binding, decision)
        await self._write_status(resource, bindings, placed, decision, now)
        self._report(resource, binding, placed, decision)
        if isinstance(decision.result, Unplaceable):
            retry_at = now + RETRY_UNSCHEDULABLE
            return min(retry_at, decision.wake_at) if decision.wake_at else retry_at
        return decision.wake_at

    async def _write_placement(
        self, resource: Resource[Any], bindings: Informer[Any], binding: Binding, decision: Decision
    ) -> Binding:
        patch: Manifest = {}
        if decision.clusters != binding.spec.clusters:
            patch["clusters"] = to_wire(decision.clusters)
        if decision.eviction_tasks != binding.spec.graceful_eviction_tasks:
            patch["gracefulEvictionTasks"] = to_wire(decision.eviction_tasks) or None
        body: Manifest = {"spec": patch} if patch else {}
        applied = encode(binding.spec.placement or Placement()).decode()
        if _is_settled(decision) and binding.metadata.annotations.get(APPLIED_PLACEMENT_ANNOTATION) != applied:
            body["metadata"] = {"annotations": {APPLIED_PLACEMENT_ANNOTATION: applied}}
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
        """Events on the binding: what changed, and what could not."""
        old_scheduled = find_condition(before.status.conditions, "Scheduled")
        match decision.result:
            case Placed() if after.spec.clusters != before.spec.clusters or old_scheduled is None:
                message = f"Binding has been scheduled successfully. Result: {_describe(after.spec.clusters)}"
                self._recorder.normal(resource, after, "ScheduleBindingSucceed", message)
                self._plane.metrics.schedule_attempts.labels("scheduled", "ReconcileSchedule").inc()
            case Unplaceable(message=message) if old_scheduled is None or old_scheduled.message != message:
                self._recorder.warning(resource, after, "ScheduleBindingFailed", message)
                self._plane.metrics.schedule_attempts.labels("error", "ReconcileSchedule").inc()
            case _:
                pass
        self._report_evictions(resource, before, after, decision)

    def _report_evictions(self, resource: Resource[Any], before: Binding, after: Binding, decision: Decision) -> None:
        for eviction in decision.evicted:
            taints = ", ".join(map(str, eviction.taints))
            message = f"Evicting from cluster {eviction.cluster}, which has the taint {taints}."
            self._recorder.normal(resource, after, "EvictWorkloadFromClusterSucceed", message)
            self._plane.metrics.evictions.labels("success").inc()
        for cluster in decision.finished:
            message = f"Evict from cluster {cluster} succeed."
            self._recorder.normal(resource, after, "EvictWorkloadFromClusterSucceed", message)
        old_held = find_condition(before.status.conditions, EVICTION_HELD_CONDITION)
        if decision.held is not None and (old_held is None or old_held.message != decision.held.message):
            self._recorder.warning(resource, after, "EvictWorkloadFromClusterFailed", decision.held.message)
            self._plane.metrics.evictions.labels("held").inc()

    def _binding_changed(self, plural: str) -> Callable[[Binding | None, Binding | None], None]:
        def changed(_: Binding | None, new: Binding | None) -> None:
            if new is not None:
                self._controller.queue.add(BindingKey(plural, key_of(new)))

        return changed

    def _cluster_changed(self, old: Cluster | None, new: Cluster | None) -> None:
        if new is not None:
            self._fleet[new.name] = new
        elif old is not None:
            self._fleet.pop(old.name, None)
        if old is not None and new is not None and not _matters(old, new):
            return
        for plural, (_, informer) in self._kinds.items():
            for binding in informer.list():
                self._controller.queue.add(BindingKey(plural, key_of(binding)))


def _matters(old: Cluster, new: Cluster) -> bool:
    """Whether a change of a cluster can change where anything goes."""
    return (
        old.spec != new.spec
        or old.metadata.labels != new.metadata.labels
        or old.is_being_deleted != new.is_being_deleted
        or old.is_ready != new.is_ready
        or old.status.api_enablements != new.status.api_enablements
    )


def _is_settled(decision: Decision) -> bool:
    """Whether the present placement has been carried out, or found to fit nowhere."""
    return isinstance(decision.result, Placed) or getattr(decision.result, "kind", "") == "FitError"


def _status_after(binding: Binding, decision: Decision, now: datetime) -> ResourceBindingStatus:
    status = binding.status
    conditions = status.conditions
    changes: dict[str, Any] = {}
    generation = binding.metadata.generation
    result = decision.result
    if result is not None:
        conditions = set_condition(conditions, scheduled_condition(result), now)
    if isinstance(result, Placed):
        changes["scheduler_observing_affinity_name"] = result.affinity_name
        if status.scheduler_observed_generation != generation or status.last_scheduled_time is None:
            changes["last_scheduled_time"] = wire_time(now)
    if result is None or isinstance(result, Placed):
        changes["scheduler_observed_generation"] = generation
    if decision.held is not None:
        conditions = set_condition(conditions, decision.held, now)
    else:
        conditions = remove_condition(conditions, EVICTION_HELD_CONDITION)
    return msgspec.structs.replace(status, conditions=conditions, **changes)


def _describe(clusters: tuple[TargetCluster, ...]) -> str:
    return "{" + ", ".join(f"{target.name}:{target.replicas}" for target in clusters) + "}"
