"""The metric of held evictions: how many bindings say now that an eviction which is due does not happen, by reason."""

from collections import Counter

from leeward.api.meta import find_condition
from leeward.api.names import EVICTION_HELD_CONDITION
from leeward.api.resource import CLUSTER_RESOURCE_BINDINGS, RESOURCE_BINDINGS
from leeward.api.work import Binding
from leeward.runtime.controller_context import ControlPlane


class HeldEvictions:
    """Counts what bindings say, change by change; it reads nothing by itself."""

    def __init__(self, plane: ControlPlane) -> None:
        self._gauge = plane.metrics.resilience.held_evictions
        self._held = Counter[str]()
        self._bindings = plane.informers.of(RESOURCE_BINDINGS)
        self._cluster_bindings = plane.informers.of(CLUSTER_RESOURCE_BINDINGS)

    def start(self) -> None:
        """Starts from nothing: an earlier life of this process may have counted as well."""
        self._gauge.clear()
        self._bindings.on_change(self._changed)
        self._cluster_bindings.on_change(self._changed)

    def _changed(self, old: Binding | None, new: Binding | None) -> None:
        before, after = _held_reason(old), _held_reason(new)
        if before == after:
            return
        for reason, more in ((before, -1), (after, 1)):
            if reason:
                self._held[reason] += more
                self._gauge.labels(reason).set(self._held[reason])


def _held_reason(binding: Binding | None) -> str:
    """Reason for which an eviction is held; empty where none is."""
    if binding is None:
        return ""
    condition = find_condition(binding.status.conditions, EVICTION_HELD_CONDITION)
    return condition.reason if condition is not None and condition.status == "True" else ""
