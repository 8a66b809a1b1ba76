"""One binding at a time: decided (together with those that are taken with it), written, told."""

import logging
from collections import Counter
from datetime import datetime, timedelta
from functools import partial

from leeward.api.meta import Condition, find_condition
from leeward.api.names import EVICTION_HELD_CONDITION, REPLACEMENT_HELD_CONDITION
from leeward.api.resource import CLUSTER_RESOURCE_BINDINGS, CLUSTERS, FEDERATED_RESOURCE_QUOTAS, RESOURCE_BINDINGS
from leeward.api.work import Binding
from leeward.controllers.scheduler.bindings import BindingKey, Bindings
from leeward.controllers.scheduler.decision_events import DecisionEvents
from leeward.controllers.scheduler.decision_writer import DecisionWriter, QuotaRefused
from leeward.controllers.scheduler.event_handlers import EventHandlers
from leeward.controllers.scheduler.scheduling_cycle import SchedulerSettings, SchedulingCycle, Unlisted
from leeward.core.placement.concern import is_unfinished
from leeward.runtime.brake import BrakeView
from leeward.runtime.controller_context import ControlPlane
from leeward.runtime.heartbeat import HeartbeatView

TAINT_MANAGER = "taint-manager"
"""Name of a scheduler that only evicts and finishes evictions, and leaves placing to another process."""
UNLISTED_PAUSE = timedelta(seconds=10)
"""Pause before a binding is looked at again that names clusters which are in no list, should no event tell of them."""
log = logging.getLogger(__name__)
BATCH = 64
"""Number of bindings that are decided together, and written concurrently."""


class Scheduler:
    def __init__(
        self, plane: ControlPlane, settings: SchedulerSettings, brake: BrakeView, heartbeat: HeartbeatView
    ) -> None:
        self._plane = plane
        self._brake = brake
        self._heartbeat = heartbeat
        self._clusters = plane.informers.of(CLUSTERS)
        self._bindings = Bindings(plane)
        follows_quotas = settings.quota_enforcement or settings.quota_estimate
        self._quotas = plane.informers.of(FEDERATED_RESOURCE_QUOTAS) if follows_quotas else None
        self._cycle = SchedulingCycle(plane, self._bindings, settings, brake, heartbeat)
        placement = settings.placement
        recorder = plane.recorder(placement.scheduler_name if placement.place else TAINT_MANAGER)
        self._events = DecisionEvents(plane, self._bindings, recorder)
        name = "scheduler" if placement.place else TAINT_MANAGER
        self._writer = DecisionWriter(plane, self._bindings, name)
        self._controller = plane.controller(name, self.reconcile, workers=BATCH, rank=self._cycle.rank)
        self._held_evictions = HeldEvictions(plane)
        self._handlers = EventHandlers(plane, self._bindings, self._cycle, self._controller.queue)

    def start(self) -> None:
        self._held_evictions.start()
        self._handlers.start(self._brake, self._heartbeat)
        if self._quotas is not None:
            self._quotas.on_change(self._handlers.quota_changed)
        self._controller.start(self._plane.supervisor)

    async def reconcile(self, key: BindingKey) -> datetime | None:
        for informer in (self._clusters, self._bindings.works, self._bindings.informer(key)):
            await informer.wait_current()
        await self._brake.wait_synced()
        await self._heartbeat.wait_synced()
        with self._handlers.writing(key):
            return await self._decide_and_write(key)

    async def _decide_and_write(self, key: BindingKey) -> datetime | None:
        started = self._plane.clock.monotonic()
        try:
            decided = await self._cycle.decide(key)
        except Unlisted as error:
            log.debug("%s %s: %s", self._controller.name, key, error)
            return self._plane.clock.now() + UNLISTED_PAUSE
        if decided is None:
            self._handlers.settled(key)
            return None
        binding, decision = decided
        now = self._plane.clock.now()
        try:
            placed = await self._writer.write_placement(key, binding, decision)
        except QuotaRefused as refused:
            decided = await self._cycle.decide(key, str(refused))
            if decided is None:
                return None
            binding, decision = decided
            placed = await self._writer.write_placement(key, binding, decision)
        self._events.measure(decision, self._plane.clock.monotonic() - started)
        self._events.tell(key, binding, placed, decision)
        self._writer.post_status(key, placed, decision, now, partial(self._controller.failed, key))
        self._handlers.stays(key, binding, placed, decision)
        if is_unfinished(decision):
            return self._handlers.failed(key, now, decision.wake_at)
        self._handlers.settled(key)
        return decision.wake_at


class HeldEvictions:
    """The metrics of holds: bindings whose eviction, or replacement, is held now, by reason; and how long gates have
    held replacements. It counts change by change, and reads nothing by itself."""

    def __init__(self, plane: ControlPlane) -> None:
        told = plane.metrics.resilience
        self._gauges = {
            EVICTION_HELD_CONDITION: told.held_evictions,
            REPLACEMENT_HELD_CONDITION: told.held_replacements,
        }
        self._clock, self._seconds = plane.clock, told.replacement_held_seconds
        self._held = Counter[tuple[str, str]]()
        self._informers = plane.informers.of(RESOURCE_BINDINGS), plane.informers.of(CLUSTER_RESOURCE_BINDINGS)

    def start(self) -> None:
        """Starts from nothing: an earlier life of this process may have counted as well."""
        for gauge in self._gauges.values():
            gauge.clear()
        for informer in self._informers:
            informer.on_change(self._changed)

    def _changed(self, old: Binding | None, new: Binding | None) -> None:
        for kind, gauge in self._gauges.items():
            before, after = _hold(old, kind), _hold(new, kind)
            reasons = [condition.reason if condition is not None else "" for condition in (before, after)]
            for reason, more in zip(reasons, (-1, 1), strict=True) if reasons[0] != reasons[1] else ():
                if reason:
                    self._held[kind, reason] += more
                    gauge.labels(reason).set(self._held[kind, reason])
            since = before.last_transition_time if before is not None else None
            if kind == REPLACEMENT_HELD_CONDITION and since is not None and new is not None and after is None:
                self._seconds.observe(max(0.0, (self._clock.now() - since).total_seconds()))


def _hold(binding: Binding | None, kind: str) -> Condition | None:
    """The condition by which something of the binding is held; None where nothing is."""
    return find_condition(binding.status.conditions, kind, "True") if binding is not None else None
