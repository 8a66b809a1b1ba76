"""Targets of an autoscaler, as kubectl shows it: `cpu: 40%/80%, memory: <unknown>/1Gi`."""

from collections.abc import Callable, Mapping
from typing import Any

from kubeapi.meta import ReadOnlyManifest
from kubeserver.values import entries, section

_UNKNOWN = "<unknown>"
_SHOWN = 2
"""Metrics; the rest is counted."""


def targets(autoscaler: ReadOnlyManifest) -> str:
    """Present value and target of each metric. In `autoscaling/v1` the use of CPU is the only one."""
    spec, status = section(autoscaler, "spec"), section(autoscaler, "status")
    metrics, present = entries(spec, "metrics"), entries(status, "currentMetrics")
    shown = [_metric(metric, present[index] if index < len(present) else {}) for index, metric in enumerate(metrics)]
    if "targetCPUUtilizationPercentage" in spec:
        now = _percent(status.get("currentCPUUtilizationPercentage"), _UNKNOWN)
        shown.insert(0, f"cpu: {now}/{_percent(spec['targetCPUUtilizationPercentage'], '<auto>')}")
    more = f" + {len(shown) - _SHOWN} more..." if len(shown) > _SHOWN else ""
    return ", ".join(shown[:_SHOWN]) + more if shown else "<none>"


def _metric(metric: Mapping[str, Any], present: Mapping[str, Any]) -> str:
    kind = str(metric.get("type", ""))
    field = kind[:1].lower() + kind[1:]
    show = _BY_TYPE.get(kind)
    if show is None:
        return "<unknown type>"
    wanted = section(metric, field)
    return show(wanted, section(wanted, "target"), section(section(present, field), "current"))


def _resource(wanted: Mapping[str, Any], target: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    if "averageValue" in target:
        return f"{wanted.get('name', '')}: {now.get('averageValue', _UNKNOWN)}/{target['averageValue']}"
    used = _percent(now.get("averageUtilization"), _UNKNOWN)
    return f"{wanted.get('name', '')}: {used}/{_percent(target.get('averageUtilization'), '<auto>')}"


def _pods(wanted: Mapping[str, Any], target: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    del wanted
    return f"{now.get('averageValue', _UNKNOWN)}/{target.get('averageValue', '')}"


def _outside(wanted: Mapping[str, Any], target: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Target by a metric of another object, or of something outside of the cluster."""
    del wanted
    if "averageValue" in target:
        return f"{now.get('averageValue', _UNKNOWN)}/{target['averageValue']} (avg)"
    return f"{now.get('value', _UNKNOWN)}/{target.get('value', '')}"


_BY_TYPE: Mapping[str, Callable[[Mapping[str, Any], Mapping[str, Any], Mapping[str, Any]], str]] = {
    "ContainerResource": _resource,
    "External": _outside,
    "Object": _outside,
    "Pods": _pods,
    "Resource": _resource,
}


def _percent(value: int | None, missing: str) -> str:
    return missing if value is None else f"{value}%"
