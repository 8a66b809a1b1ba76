"""Rules of autoscalers: whom they scale, between which numbers, by which metrics, and how fast.

Kubernetes: pkg/apis/autoscaling/validation; same, without the tolerance of scaling rules.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from kubeapi.diff import is_equal
from kubeapi.meta import Manifest
from kubeapi.quantity import parse_quantity
from kubeapi.status import Problem
from kubeserver.kinds.pod_rules.texts import named, one_of
from kubeserver.names import path_segment
from kubeserver.values import entries, grown, section

_MOST_STABLE_SECONDS, _LONGEST_PERIOD_SECONDS = 3600, 1800
_SOURCES = {
    "ContainerResource": "containerResource",
    "External": "external",
    "Object": "object",
    "Pods": "pods",
    "Resource": "resource",
}
_TARGET_TYPES = ("Utilization", "Value", "AverageValue")
_TWICE_AS_MANY = {"type": "Percent", "value": 100, "periodSeconds": 15}
_FOUR_MORE = {"type": "Pods", "value": 4, "periodSeconds": 15}


def default_first_autoscaler(manifest: Manifest) -> None:
    spec = grown(manifest, "spec")
    spec.setdefault("minReplicas", 1)
    if "metrics" not in spec:
        spec.setdefault("targetCPUUtilizationPercentage", 80)
    manifest.setdefault("status", {"currentReplicas": 0, "desiredReplicas": 0})


def default_autoscaler(manifest: Manifest) -> None:
    spec = grown(manifest, "spec")
    spec.setdefault("minReplicas", 1)
    target = {"type": "Utilization", "averageUtilization": 80}
    spec.setdefault("metrics", [{"type": "Resource", "resource": {"name": "cpu", "target": target}}])
    if "behavior" in spec:
        _default_behavior(grown(spec, "behavior"))
    manifest.setdefault("status", {"currentMetrics": None, "desiredReplicas": 0})


def _default_behavior(behavior: Manifest) -> None:
    """Writes the rest out where anything is said of it."""
    up, down = grown(behavior, "scaleUp"), grown(behavior, "scaleDown")
    up.setdefault("stabilizationWindowSeconds", 0)
    up.setdefault("policies", [dict(_FOUR_MORE), dict(_TWICE_AS_MANY)])
    down.setdefault("policies", [dict(_TWICE_AS_MANY)])
    for rules in (up, down):
        rules.setdefault("selectPolicy", "Max")


def validate_autoscaler(manifest: Manifest, old: Manifest | None) -> list[Problem]:
    spec = section(manifest, "spec")
    problems: list[Problem] = []
    least, most = spec.get("minReplicas", 1), spec.get("maxReplicas", 0)
    if least < 1:
        problems.append(Problem.invalid("spec.minReplicas", least, "must be greater than or equal to 1"))
    if most < 1:
        problems.append(Problem.invalid("spec.maxReplicas", most, "must be greater than 0"))
    if most < least:
        problems.append(Problem.invalid("spec.maxReplicas", most, "must be greater than or equal to `minReplicas`"))
    target = section(spec, "scaleTargetRef")
    if old is None or not is_equal(target, section(section(old, "spec"), "scaleTargetRef")):
        problems += _group_problems(target, "spec.scaleTargetRef.apiVersion")
    problems += _reference_problems(target, "spec.scaleTargetRef")
    for index, metric in enumerate(entries(spec, "metrics")):
        problems += _metric_problems(metric, f"spec.metrics[{index}]")
    for direction in ("scaleUp", "scaleDown"):
        if direction in section(spec, "behavior"):
            problems += _scaling_problems(spec["behavior"][direction], f"spec.behavior.{direction}")
    return problems


def _group_problems(target: Mapping[str, Any], path: str) -> Iterator[Problem]:
    """Problems of a target without an API group: of the core group only ReplicationControllers can be scaled."""
    version = target.get("apiVersion", "")
    if version.count("/") > 1:
        yield Problem.invalid(path, version, f"unexpected GroupVersion string: {version}")
    elif not version.rpartition("/")[0] and target.get("kind") != "ReplicationController":
        yield Problem.invalid(path, version, "apiVersion must specify API group")


def _reference_problems(reference: Mapping[str, Any], path: str) -> Iterator[Problem]:
    for field in ("kind", "name"):
        if reference.get(field):
            yield from named(path_segment, reference[field], f"{path}.{field}")
        else:
            yield Problem.required(f"{path}.{field}")


def _metric_problems(metric: Mapping[str, Any], path: str) -> Iterator[Problem]:
    kind = metric.get("type", "")
    if not kind:
        yield Problem.required(f"{path}.type", "must specify a metric source type")
    else:
        yield from one_of(kind, sorted(_SOURCES), f"{path}.type")
    present = [field for field in _SOURCES.values() if field in metric]
    expected = _SOURCES.get(kind)
    for field in present[:1]:
        yield from _source_problems(field, section(metric, field), f"{path}.{field}")
    if expected and expected not in present:
        said = "must populate information for the given metric source"
        yield Problem.required(f"{path}.{expected}", said)
    if len(present) > 1:
        said = "must populate the given metric source only"
        yield from (Problem.forbidden(f"{path}.{field}", said) for field in present if field != expected)


def _source_problems(field: str, source: Mapping[str, Any], path: str) -> Iterator[Problem]:
    if field == "object":
        yield from _reference_problems(section(source, "describedObject"), f"{path}.describedObject")
    if field in ("resource", "containerResource"):
        if not source.get("name"):
            yield Problem.required(f"{path}.name", "must specify a resource name")
        if field == "containerResource" and not source.get("container"):
            yield Problem.required(f"{path}.container", "must specify a container")
    else:
        yield from _identifier_problems(section(source, "metric"), f"{path}.metric")
    target = section(source, "target")
    yield from _target_problems(target, f"{path}.target")
    yield from _aim_problems(field, target, f"{path}.target")


def _identifier_problems(metric: Mapping[str, Any], path: str) -> Iterator[Problem]:
    if metric.get("name"):
        yield from named(path_segment, metric["name"], f"{path}.name")
    else:
        yield Problem.required(f"{path}.name", "must specify a metric name")


def _target_problems(target: Mapping[str, Any], path: str) -> Iterator[Problem]:
    kind = target.get("type", "")
    if not kind:
        yield Problem.required(f"{path}.type", "must specify a metric target type")
    elif kind not in _TARGET_TYPES:
        yield Problem.invalid(f"{path}.type", kind, "must be either Utilization, Value, or AverageValue")
    for field in ("value", "averageValue"):
        if field in target and parse_quantity(target[field]) <= 0:
            yield Problem.invalid(f"{path}.{field}", target[field], "must be positive")
    if target.get("averageUtilization", 1) < 1:
        yield Problem.invalid(f"{path}.averageUtilization", target["averageUtilization"], "must be greater than 0")


def _aim_problems(field: str, target: Mapping[str, Any], path: str) -> Iterator[Problem]:
    """Problems of the numbers that a target can have; each source knows its own."""
    match field:
        case "pods":
            if parse_quantity(target.get("averageValue", "0")) <= 0:
                yield Problem.required(f"{path}.averageValue", "must specify a positive target averageValue")
        case "resource" | "containerResource":
            if "averageUtilization" not in target and "averageValue" not in target:
                said = "must set either a target raw value or a target utilization"
                yield Problem.required(f"{path}.averageUtilization", said)
            elif "averageUtilization" in target and "averageValue" in target:
                said = "may not set both a target raw value and a target utilization"
                yield Problem.forbidden(f"{path}.averageValue", said)
        case _:
            if "value" not in target and "averageValue" not in target:
                said = "must set either a target value for metric or a per-pod target"
                yield Problem.required(f"{path}.averageValue", said)
            elif field == "external" and "value" in target and "averageValue" in target:
                said = "may not set both a target value for metric and a per-pod target"
                yield Problem.forbidden(f"{path}.value", said)


def _scaling_problems(rules: Mapping[str, Any], path: str) -> Iterator[Problem]:
    seconds = rules.get("stabilizationWindowSeconds", 0)
    if seconds < 0:
        yield Problem.invalid(f"{path}.stabilizationWindowSeconds", seconds, "must be greater than or equal to zero")
    if seconds > _MOST_STABLE_SECONDS:
        said = f"must be less than or equal to {_MOST_STABLE_SECONDS}"
        yield Problem.invalid(f"{path}.stabilizationWindowSeconds", seconds, said)
    yield from one_of(rules.get("selectPolicy", "Max"), ("Disabled", "Max", "Min"), f"{path}.selectPolicy")
    policies = entries(rules, "policies")
    if not policies:
        yield Problem.required(f"{path}.policies", "must specify at least one Policy")
    for index, policy in enumerate(policies):
        yield from _policy_problems(policy, f"{path}.policies[{index}]")


def _policy_problems(policy: Mapping[str, Any], path: str) -> Iterator[Problem]:
    yield from one_of(policy.get("type", ""), ("Percent", "Pods"), f"{path}.type")
    for field in ("value", "periodSeconds"):
        if policy.get(field, 0) <= 0:
            yield Problem.invalid(f"{path}.{field}", policy.get(field, 0), "must be greater than zero")
    if policy.get("periodSeconds", 0) > _LONGEST_PERIOD_SECONDS:
        said = f"must be less than or equal to {_LONGEST_PERIOD_SECONDS}"
        yield Problem.invalid(f"{path}.periodSeconds", policy["periodSeconds"], said)
