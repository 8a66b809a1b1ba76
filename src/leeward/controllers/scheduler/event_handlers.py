"""Handlers of the changes for which a binding is looked at again: of it, its Works, a cluster, the brake, the heartbeat
or a quota.

Bindings that wait for room, or for the brake, are looked at the later, the longer they have waited. A binding that is
written as it was decided is not looked at again for that. Decides nothing.
"""

from collections.abc import Generator
from contextlib import contextmanager
from datetime import datetime, timedelta

from controller_runtime import Key, StayingObjects, WorkQueue, version_of
from kubeapi.meta import unversioned
from leeward.api.cluster import Cluster
from leeward.api.moves_with import MOVES_WITH_ANNOTATION
from leeward.api.quota import FederatedResourceQuota
from leeward.api.resource import CLUSTERS
from leeward.api.work import Binding, Work
from leeward.controllers.scheduler.bindings import BindingKey, Bindings
from leeward.controllers.scheduler.concerned import ConcernedBindings
from leeward.controllers.scheduler.scheduling_cycle import SchedulingCycle
from leeward.core.cluster_health.pending_condition import is_failing
from leeward.core.placement import Decision
from leeward.core.placement.concern import (
    awaits_taints,
    bears_on_health,
    concern_of,
    depends_on_health,
    is_awaited,
    is_decided_alike,
    is_settled,
    is_unfinished,
    is_waiting,
    may_change_placements,
)
from leeward.core.quota.enforcement import leaves_more
from leeward.runtime.brake import BrakeView
from leeward.runtime.controller_context import ControlPlane
from leeward.runtime.heartbeat import HeartbeatView
from leeward.runtime.metrics import EVICTION_QUEUE

RETRY_UNSCHEDULABLE = timedelta(minutes=5)
FIRST_BACKOFF_SECONDS = 1.0
LAST_BACKOFF_SECONDS = 10.0
TAINT_DELAY = timedelta(seconds=1)
"""Pause in which a cluster that became not Ready gets its taints, which its bindings are looked at for."""
REPORT_DELAY = timedelta(seconds=5)
"""Pause in which a Work without a report mostly gets one, and a move its end: it is looked at once for all that."""


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
        self._changed: list[tuple[Cluster, timedelta | None]] = []
        """States of clusters that no placement was asked about yet."""
        self._written: dict[BindingKey, set[int]] = {}
        """Versions that are seen of bindings which are being decided and written; 0: a cluster has changed."""

    def start(self, brake: BrakeView, heartbeat: HeartbeatView) -> None:
        self._cycle.after_batch(self._add_next_in_line)
        self._plane.informers.of(CLUSTERS).on_change(self._cluster_changed)
        self._bindings.works.on_change(self._work_changed)
        brake.on_change(lambda: self._add_all("Brake"))
        heartbeat.on_change(lambda: self._add_all("Heartbeat"))
        self._bindings.on_change(self._binding_changed)

    def failed(self, key: BindingKey, now: datetime, wake_at: datetime | None) -> datetime:
        """Notes that it found no place, or was held back. Returns when to try again, if nothing changes."""
        self._attempts[key] = self._attempts.get(key, 0) + 1
        retry_at = now + RETRY_UNSCHEDULABLE
        return retry_at if wake_at is None else min(retry_at, wake_at)

    def settled(self, key: BindingKey) -> None:
        self._attempts.pop(key, None)

    def stays(self, key: BindingKey, before: Binding, placed: Binding, decision: Decision) -> None:
        """Notes, within `writing`, that a binding stays as it was decided, but for a status that waits to be written.

        A cluster that has changed meanwhile may be one where it goes. A move is looked at once more a moment later.
        """
        binding, seen = self._bindings.get(key), self._written[key]
        if placed is before:
            seen.discard(0)
        if binding is None or seen != (set() if placed is before else {version_of(placed)}):
            return
        if placed is before or is_settled(before, binding, decision):
            seen.clear()
            self._staying.put(key, binding)
        elif decision.evicted and decision.outage is not None and not is_unfinished(decision):
            seen.clear()
            self._add(key, "Update", REPORT_DELAY)

    @contextmanager
    def writing(self, key: BindingKey) -> Generator[None]:
        """Keeps the changes of a binding back while it is decided and written: one of them is that very write."""
        self._written[key] = set()
        try:
            yield
        finally:
            if self._written.pop(key):
                self._add(key, "Update")

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
        elif old is None or not self._staying.has(key, lambda: self._bindings.expected(key, new)):
            self._staying.forget(key)
            if key in self._written:
                self._written[key].add(version_of(new))
            else:
                delay = REPORT_DELAY if old is not None and self._is_progress(key, old, new) else None
                self._add(key, "Add" if old is None else "Update", delay)
        self._add_next_in_line()
        if old is not None and new is not None and _group_view(old) != _group_view(new):
            for name in self._cycle.moving_with(new):
                self._add(BindingKey(key.plural, Key(new.namespace, name)), "Update")
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
        if old is None or new is None or may_change_placements(old, new):
            for seen in self._written.values():
                seen.add(0)
            delay = TAINT_DELAY if old is not None and new is not None and awaits_taints(old, new) else None
            states = [cluster for cluster in (old, new) if cluster is not None]
            for key in dict.fromkeys((*self._concerned.of(*states), *self._attempts)):
                self._add(key, "Cluster", delay)
            self._changed += [(cluster, delay) for cluster in states]
            if len(self._changed) == len(states):
                self._plane.supervisor.start(self._add_meant(), "placements-of-changed-clusters")
        elif is_failing(old) != is_failing(new) or old.status.resource_summary != new.status.resource_summary:
            self._add_waiting()

    async def _add_meant(self) -> None:
        """Adds those whose placement may mean a changed cluster. Changes that come meanwhile are looked at together."""
        while self._changed:
            states, delays = zip(*self._changed, strict=True)
            delay = None if None in delays else TAINT_DELAY
            for keys in self._concerned.meaning(states):
                await self._plane.turns.take()
                for key in keys:
                    self._add(key, "Cluster", delay)
            del self._changed[: len(states)]

    def _work_changed(self, old: Work | None, new: Work | None) -> None:
        """Queues the bindings of a Work that can begin, end or withdraw an eviction; it changes no others."""
        work = new or old
        for key in () if work is None else self._bindings.keys_of_work(work):
            binding = self._bindings.get(key)
            if binding is not None and depends_on_health(binding):
                waits = not bears_on_health(old, new) or (new is not None and is_awaited(binding, new))
                self._add(key, "Work", REPORT_DELAY if waits else None)

    def _is_progress(self, key: BindingKey, old: Binding, new: Binding) -> bool:
        """Tells whether the status alone has changed, and a copy is awaited still."""
        same = old.spec == new.spec and unversioned(old.metadata) == unversioned(new.metadata)
        return same and any(is_awaited(new, work) for work in self._bindings.works_by_cluster(key).values())

    def _add_waiting(self) -> None:
        now = self._plane.clock.now()
        for key in self._concerned.waiting:
            self._queue.add_at(key, now + _backoff(self._attempts.get(key, 1)))

    def _add_all(self, event: str) -> None:
        for key, _ in self._bindings.all():
            self._add(key, event)

    def _add(self, key: BindingKey, event: str, delay: timedelta | None = None) -> None:
        """Has a binding looked at, after a `delay` where another change is about to follow."""
        self._plane.metrics.queue_incoming.labels(event).inc()
        if delay is None:
            self._queue.add(key)
        else:
            self._queue.add_at(key, self._plane.clock.now() + delay)


def _backoff(attempts: int) -> timedelta:
    """Karmada: pkg/scheduler/internal/queue; same."""
    return timedelta(seconds=min(FIRST_BACKOFF_SECONDS * 2 ** min(attempts - 1, 30), LAST_BACKOFF_SECONDS))


def _group_view(binding: Binding) -> object:
    """The targets and the group, by which others of its group are decided."""
    return binding.spec.clusters, binding.metadata.annotations.get(MOVES_WITH_ANNOTATION)
