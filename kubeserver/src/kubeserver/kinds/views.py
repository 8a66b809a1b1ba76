"""Kinds that are a second form of others: Events of events.k8s.io, and the first version of autoscalers."""

from typing import Any

from kubeapi.meta import Manifest
from kubeserver.values import entries, section

_EVENT_FIELDS = (
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
)
_ALWAYS = ("reportingComponent", "reportingInstance")
"""Fields that are on the wire of the core group also when they are empty."""
_LEFT_OUT = ("reportingController", "reportingInstance")


class NewEvent:
    """An `events.k8s.io/v1` Event; stored as one of the core group."""

    def show(self, stored: Manifest) -> None:
        for old, new in _EVENT_FIELDS:
            if old in stored:
                stored[new] = stored.pop(old)
        for field in _LEFT_OUT:
            if stored.get(field) == "":
                del stored[field]

    def store(self, shown: Manifest) -> None:
        for old, new in _EVENT_FIELDS:
            if new in shown:
                shown[old] = shown.pop(new)
        for field in _ALWAYS:
            shown.setdefault(field, "")


class FirstAutoscaler:
    """An `autoscaling/v1` autoscaler: its only metric is the use of CPU. Other metrics stay as they are stored."""

    def show(self, stored: Manifest) -> None:
        spec = section(stored, "spec")
        metrics = entries(spec, "metrics")
        target = next((_cpu_target(metric) for metric in metrics if _cpu_target(metric) is not None), None)
        if target is not None:
            spec["targetCPUUtilizationPercentage"] = target
            others = [metric for metric in metrics if _cpu_target(metric) is None]
            spec.pop("metrics")
            if others:
                spec["metrics"] = others

    def store(self, shown: Manifest) -> None:
        spec = section(shown, "spec")
        target = spec.pop("targetCPUUtilizationPercentage", None)
        if target is not None:
            utilization = {"type": "Utilization", "averageUtilization": target}
            metric = {"type": "Resource", "resource": {"name": "cpu", "target": utilization}}
            spec["metrics"] = [metric, *entries(spec, "metrics")]


def _cpu_target(metric: dict[str, Any]) -> int | None:
    resource = section(metric, "resource")
    return section(resource, "target").get("averageUtilization") if resource.get("name") == "cpu" else None
