"""A HorizontalPodAutoscaler: the replicas that it wants, and its status.

For each metric: as many as bring the mean of the ready Pods to the target, unless that is within a tenth of it; the
greatest of these counts, between minimum and maximum.

Kubernetes: pkg/controller/podautoscaler. Simplified: Pods that are not ready are left out; up to twice as many Pods (or
four) are wanted at once; of `behavior` the stabilisation windows and `selectPolicy: Disabled` are kept, the rates are
not; of metrics there are Resource and ContainerResource (for the whole Pod), the others have no source here.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from kubeapi.meta import Manifest, ReadOnlyManifest, format_time
from kubeapi.quantity import parse_quantity
from kubeapi.unstructured import int_at, list_at, mapping_at, text_at, value_at
from kubecluster.rules.conditions import put_condition
from kubecluster.rules.fitting import requests_of
from kubecluster.rules.usage import Usage, amount_text

TOLERANCE = Decimal("0.1")
SYNC_SECONDS = 15.0
DOWNSCALE_WINDOW_SECONDS = 300
_DEFAULT_METRIC = {"type": "Resource", "resource": {"name": "cpu", "target": {"averageUtilization": 80}}}


@dataclass(frozen=True, slots=True)
class PodLoad:
    """One ready Pod, and its use of resources."""

    pod: Manifest
    usage: Usage


@dataclass(frozen=True, slots=True)
class Recommendation:
    """Number of replicas that were wanted, and when."""

    at: datetime
    replicas: int


@dataclass(frozen=True, slots=True)
class Scaling:
    """`replicas` are for the target; `wanted` are those that the metrics ask for, whatever the bounds. With a `fault`
    nothing changes."""

    replicas: int
    wanted: int
    metrics: tuple[Manifest, ...] = ()
    fault: str = ""
    cause: str = ""


class _NoMetric(Exception):
    """A metric cannot be had."""


def decide_scaling(
    autoscaler: ReadOnlyManifest,
    current: int,
    loads: Sequence[PodLoad],
    history: Sequence[Recommendation],
    now: datetime,
) -> Scaling:
    """`history` are the earlier recommendations, as far back as the longest window."""
    least, most = bounds_of(autoscaler)
    wanted, metrics, cause = 0, list[Manifest](), ""
    try:
        for metric in list_at(autoscaler, "spec", "metrics") or (_DEFAULT_METRIC,):
            proposal, shown, name = _proposal(metric, current, loads)
            metrics.append(shown)
            if proposal > wanted:
                wanted, cause = proposal, name
    except _NoMetric as fault:
        return Scaling(min(most, max(least, current)), current, tuple(metrics), str(fault))
    upper = min(most, max(2 * current, 4))
    replicas = max(least, min(_stabilized(autoscaler, current, wanted, history, now), upper))
    return Scaling(replicas, wanted, tuple(metrics), cause=cause)


def bounds_of(autoscaler: ReadOnlyManifest) -> tuple[int, int]:
    least = value_at(autoscaler, "spec", "minReplicas")
    return least if isinstance(least, int) else 1, int_at(autoscaler, "spec", "maxReplicas")


def recent(autoscaler: ReadOnlyManifest, history: Sequence[Recommendation], now: datetime) -> list[Recommendation]:
    """Earlier recommendations that still count."""
    since = now - timedelta(seconds=max(_window(autoscaler, "scaleUp"), _window(autoscaler, "scaleDown")))
    return [one for one in history if one.at > since]


def autoscaler_status(autoscaler: ReadOnlyManifest, current: int, scaling: Scaling, now: datetime) -> Manifest:
    known, least, most = mapping_at(autoscaler, "status"), *bounds_of(autoscaler)
    said = [_condition("AbleToScale", True, "ReadyForNewScale", "recommended size matches current size")]
    if scaling.replicas != current:
        message = f"the HPA controller was able to update the target scale to {scaling.replicas}"
        said = [_condition("AbleToScale", True, "SucceededRescale", message)]
    if scaling.fault:
        said.append(_condition("ScalingActive", False, "FailedGetResourceMetric", scaling.fault))
    else:
        message = "the HPA was able to successfully calculate a replica count"
        said.append(_condition("ScalingActive", True, "ValidMetricFound", message))
        said.append(_limited(scaling, least, most))
    conditions = list_at(known, "conditions")
    for condition in said:
        conditions = put_condition(conditions, condition, now)
    scaled = format_time(now) if scaling.replicas != current else text_at(known, "lastScaleTime")
    return {
        "observedGeneration": autoscaler["metadata"].get("generation", 1),
        "currentReplicas": current,
        "desiredReplicas": scaling.replicas,
        "conditions": list(conditions),
        **({"currentMetrics": list(scaling.metrics)} if scaling.metrics else {}),
        **({"lastScaleTime": scaled} if scaled else {}),
    }


def _proposal(metric: Mapping[str, Any], current: int, loads: Sequence[PodLoad]) -> tuple[int, Manifest, str]:
    """Number of replicas that a metric asks for, the metric as shown, and its name in events. Raises: _NoMetric."""
    kind = text_at(metric, "type")
    field = {"Resource": "resource", "ContainerResource": "containerResource"}.get(kind)
    if field is None:
        raise _NoMetric(f"unable to get metrics of type {kind}: no metrics are served for it here")
    name, target = text_at(metric, field, "name"), mapping_at(metric, field, "target")
    if not loads:
        raise _NoMetric(f"failed to get {name} utilization: unable to get metrics for resource {name}: no ready pods")
    used = sum((load.usage.get(name, Decimal(0)) for load in loads), Decimal(0))
    mean = amount_text(name, used / len(loads))
    if "averageUtilization" in target:
        percent = 100 * used / _requested(loads, name)
        ratio = percent / target["averageUtilization"]
        present = {"averageUtilization": int(percent), "averageValue": mean}
        cause = f"{name} resource utilization (percentage of request) above target"
    else:
        ratio = used / len(loads) / parse_quantity(str(target.get("averageValue", "1")))
        present, cause = {"averageValue": mean}, f"{name} resource above target"
    replicas = current if abs(ratio - 1) <= TOLERANCE else math.ceil(ratio * len(loads))
    return replicas, {"type": kind, field: {**_named(metric, field), "current": present}}, cause


def _named(metric: Mapping[str, Any], field: str) -> Manifest:
    return {key: value for key, value in mapping_at(metric, field).items() if key in ("name", "container")}


def _requested(loads: Sequence[PodLoad], name: str) -> Decimal:
    """Raises: _NoMetric."""
    for load in loads:
        if not requests_of(load.pod).get(name):
            pod = load.pod["metadata"]["name"]
            raise _NoMetric(f"failed to get {name} utilization: missing request for {name} in pod {pod}")
    return sum((requests_of(load.pod)[name] for load in loads), Decimal(0))


def _stabilized(
    autoscaler: ReadOnlyManifest, current: int, wanted: int, history: Sequence[Recommendation], now: datetime
) -> int:
    """Down to the greatest, up to the least recommendation of the window."""
    direction = "scaleUp" if wanted > current else "scaleDown"
    if text_at(autoscaler, "spec", "behavior", direction, "selectPolicy") == "Disabled":
        return current
    since = now - timedelta(seconds=_window(autoscaler, direction))
    known = [one.replicas for one in history if one.at > since]
    if wanted > current:
        return max(current, min(wanted, *known)) if known else wanted
    return min(current, max(wanted, *known)) if known else wanted


def _window(autoscaler: ReadOnlyManifest, direction: str) -> int:
    seconds = value_at(autoscaler, "spec", "behavior", direction, "stabilizationWindowSeconds")
    default = 0 if direction == "scaleUp" else DOWNSCALE_WINDOW_SECONDS
    return seconds if isinstance(seconds, int) else default


def _limited(scaling: Scaling, least: int, most: int) -> Manifest:
    if scaling.wanted >= most:
        return _condition("ScalingLimited", True, "TooManyReplicas", "the desired replica count is at the maximum")
    if scaling.wanted <= least:
        return _condition("ScalingLimited", True, "TooFewReplicas", "the desired replica count is at the minimum")
    return _condition("ScalingLimited", False, "DesiredWithinRange", "the desired count is within the acceptable range")


def _condition(condition_type: str, status: bool, reason: str, message: str) -> Manifest:
    return {"type": condition_type, "status": str(status), "reason": reason, "message": message}
