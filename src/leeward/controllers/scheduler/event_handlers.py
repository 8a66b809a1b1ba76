"""Handlers of what makes a binding be looked at again: a change of it, its Works, a cluster, the brake, the heartbeat
or a quota.

Bindings that wait for room, or for the brake, are looked at the later, the longer they have waited. What was decided
upon, and is written as it was to be, is not looked at again for that. Decides nothing.
"""

from datetime import datetime, timedelta

from leeward.api.cluster import Cluster
from leeward.api.names import (
    AWAITED_TARGETS_ANNOTATION,
    HOME_ANNOTATION,
    OUTAGE_CONFIRMED_ANNOTATION,
    POLICY_TAINTS_CONFIRMED_ANNOTATION,
)
from leeward.api.quota import FederatedResourceQuota
from leeward.api.resource import CLUSTERS
from leeward.api.work import Binding, Work
from leeward.controllers.scheduler.bindings import BindingKey, Bindings
from leeward.controllers.scheduler.concerned import ConcernedBindings
from leeward.controllers.scheduler.scheduling_cycle import SchedulingCycle
from leeward.core.cluster_health.outage import nodes_down
from leeward.core.cluster_health.pending_condition import is_failing, is_recovering
from leeward.core.eviction.application import application_failover
from leeward.core.placement.concern import concern_of, is_decided_alike, is_waiting
from leeward.core.quota.enforcement import leaves_more
from leeward.planning.eviction_limiter import drain_budget
from leeward.runtime.brake import BrakeView
from leeward.runtime.controller_context import ControlPlane
from leeward.runtime.heartbeat import HeartbeatView
from leeward.runtime.metrics import EVICTION_QUEUE
from leeward.runtime.queue import WorkQueue
from leeward.runtime.staying import StayingObjects

RETRY_UNSCHEDULABLE = timedelta(minutes=5)
FIRST_BACKOFF_SECONDS = 1.0
LAST_BACKOFF_SECONDS = 10.0
TAINTED_WITHIN = timedelta(seconds=1)
"""Time in which a cluster that fails has its taint, which its bindings are looked at for."""
REPORTED_WITHIN = timedelta(seconds=5)
"""Time in which a Work of which nothing is told but that it is there mostly says more."""
CONFIRMATIONS = (OUTAGE_CONFIRMED_ANNOTATION, POLICY_TAINTS_CONFIRMED_ANNOTATION)


class EventHandlers:
    def __init__(
        self, plane: ControlPlane, bindings: Bindings, cycle: SchedulingCycle, queue: WorkQueue[BindingKey]
    ) -> None:
        self._plane = plane
        self._bindings = bindings
        self._cycle = cycle
        self._queue = queue
        self._concerned = ConcernedBindings()
        self._attempts: dict[BindingKey, int] = {}
        """Attempts of those that found no place, or were held back, whether or not they say so already."""
        self._staying = StayingObjects[BindingKey, Binding](is_decided_alike)

    def start(self, brake: BrakeView, heartbeat: HeartbeatView) -> None:
        self._cycle.after_batch(self._add_next_in_line)
        self._plane.informers.of(CLUSTERS).on_change(self._cluster_changed)
        self._bindings.works.on_change(self._work_changed)
        brake.on_change(self._brake_changed)
        heartbeat.on_change(self._heartbeat_changed)
        self._bindings.on_change(self._binding_changed)

    def failed(self, key: BindingKey, now: datetime, wake_at: datetime | None) -> datetime:
        """Notes that it found no place, or was held back. Returns when to try again, if nothing changes."""
        self._attempts[key] = self._attempts.get(key, 0) + 1
        retry_at = now + RETRY_UNSCHEDULABLE
        return retry_at if wake_at is None else min(retry_at, wake_at)

    def settled(self, key: BindingKey) -> None:
        self._attempts.pop(key, None)

    def stays(self, key: BindingKey) -> None:
        """Notes that a binding was decided upon and stays as it is, but for a status that waits to be written."""
        binding = self._bindings.get(key)
        if binding is not None:
            self._staying.put(key, binding)

    def _add_next_in_line(self) -> None:
        self._plane.metrics.eviction_queue.labels(EVICTION_QUEUE).set(self._cycle.waiting)
        for key in self._cycle.next_in_line():
            self._queue.add(key)

    def _binding_changed(self, key: BindingKey, old: Binding | None, new: Binding | None) -> None:
        beside = self._cycle.see_binding(key, old, new)
        self._concerned.put(key, None if new is None else concern_of(new))
        if new is None:
            self.settled(key)
            self._staying.forget(key)
        elif old is None or not self._staying.has(key, lambda: self._bindings.statuses(key).expected(new)):
            self._staying.forget(key)
            self._add(key, "Add" if old is None else "Update")
        self._add_next_in_line()
        for other in beside:
            binding = self._bindings.get(other)
            if binding is not None and is_waiting(binding):
                self._add(other, "Update")

    def quota_changed(self, old: FederatedResourceQuota | None, new: FederatedResourceQuota | None) -> None:
        """Tries those of a quota's namespace that wait again where it leaves more room, or is gone."""
        quota = new or old
        if quota is None or (old is not None and new is not None and not leaves_more(old, new)):
            return
        for key in self._concerned.waiting:
            if key.key.namespace == quota.namespace:
                self._add(key, "Quota")

    def _cluster_changed(self, old: Cluster | None, new: Cluster | None) -> None:
        self._cycle.see_cluster(old, new)
        if old is None or new is None or _matters(old, new):
            within = TAINTED_WITHIN if old is not None and new is not None and _fails(old, new) else None
            states = [cluster for cluster in (old, new) if cluster is not None]
            for key in dict.fromkeys((*self._concerned.of(*states), *self._attempts)):
                self._add(key, "Cluster", within)
        elif is_failing(old) != is_failing(new) or old.status.resource_summary != new.status.resource_summary:
            self._add_waiting()

    def _work_changed(self, old: Work | None, new: Work | None) -> None:
        """Queues the bindings of a Work that can begin, end or withdraw an eviction; of others it changes nothing
        here."""
        work = new or old
        for key in () if work is None else self._bindings.keys_of_work(work):
            binding = self._bindings.get(key)
            if binding is not None and _depends_on_health(binding):
                self._add(key, "Work", None if _tells(old, new) else REPORTED_WITHIN)

    def _brake_changed(self) -> None:
        self._add_all("Brake")

    def _heartbeat_changed(self) -> None:
        self._add_all("Heartbeat")

    def _add_waiting(self) -> None:
        now = self._plane.clock.now()
        for key in self._concerned.waiting:
            self._queue.add_at(key, now + _backoff(self._attempts.get(key, 1)))

    def _add_all(self, event: str) -> None:
        for key, _ in self._bindings.all():
            self._add(key, event)

    def _add(self, key: BindingKey, event: str, within: timedelta | None = None) -> None:
        """Has a binding looked at; what is sure to be followed by more can wait for it, `within` some time."""
        self._plane.metrics.queue_incoming.labels(event).inc()
        if within is None:
            self._queue.add(key)
        else:
            self._queue.add_at(key, self._plane.clock.now() + within)


def _backoff(attempts: int) -> timedelta:
    """Karmada: pkg/scheduler/internal/queue; same."""
    return timedelta(seconds=min(FIRST_BACKOFF_SECONDS * 2 ** min(attempts - 1, 30), LAST_BACKOFF_SECONDS))


def _matters(old: Cluster, new: Cluster) -> bool:
    """Tells whether a change of a cluster can change where anything goes.

    A field that a decision begins to read has its line here. tests/sim/test_cluster_concern.py tries what wakes nobody,
    as far as its histories change such a field.
    """
    return (
        old.spec != new.spec
        or old.metadata.labels != new.metadata.labels
        or old.is_being_deleted != new.is_being_deleted
        or old.is_ready != new.is_ready
        or is_recovering(old) != is_recovering(new)
        or drain_budget(old) != drain_budget(new)
        or bool(nodes_down(old)) != bool(nodes_down(new))
        or any(old.metadata.annotations.get(name) != new.metadata.annotations.get(name) for name in CONFIRMATIONS)
        or old.status.api_enablements != new.status.api_enablements
    )


def _fails(old: Cluster, new: Cluster) -> bool:
    """Tells whether a cluster has just become not Ready, which is all: its taints follow."""
    return old.is_ready and not new.is_ready and old.spec == new.spec and old.metadata.labels == new.metadata.labels


def _tells(old: Work | None, new: Work | None) -> bool:
    """Tells whether more is told of a Work than that it is there, and is carried out."""
    if new is None or new.status.manifest_statuses or new.metadata.deletion_timestamp is not None:
        return True
    return old is not None and (old.spec != new.spec or bool(old.status.manifest_statuses))


def _depends_on_health(binding: Binding) -> bool:
    return (
        bool(binding.spec.graceful_eviction_tasks)
        or application_failover(binding.spec) is not None
        or AWAITED_TARGETS_ANNOTATION in binding.metadata.annotations
        or HOME_ANNOTATION in binding.metadata.annotations
    )
