"""The metrics of holds. They count bindings that say now that an eviction, or a replacement, is held, by reason. They
tell how long gates have held replacements."""

from collections import Counter

from leeward.api.meta import Condition, find_condition
from leeward.api.names import EVICTION_HELD_CONDITION, REPLACEMENT_HELD_CONDITION
from leeward.api.resource import CLUSTER_RESOURCE_BINDINGS, RESOURCE_BINDINGS
from leeward.api.work import Binding
from leeward.runtime.controller_context import ControlPlane


class HeldEvictions:
    """Counts the holds that bindings tell, change by change; it reads nothing by itself."""

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
