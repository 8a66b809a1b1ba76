"""SparkApplication: a driver and its executors."""

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from kubeapi.meta import ReadOnlyManifest
from kubeapi.quantity import canonical_quantity, format_quantity
from kubeapi.unstructured import mapping_at, text_at, value_at
from leeward.api.work import AggregatedStatusItem, Component, ComponentReplicaRequirements
from leeward.core.interpreter.rules import InterpretationError, Rules, Status
from leeward.core.interpreter.thirdparty import aggregation
from leeward.core.interpreter.thirdparty.aggregation import Fold, fold_statuses, number, reported
from leeward.core.interpreter.thirdparty.kruise import required_spec, whole_count_at
from leeward.core.interpreter.thirdparty.pod_templates import node_claim
from leeward.core.interpreter.thirdparty.reflection import reflected

_FIELDS = (
    "applicationState",
    "driverInfo",
    "executionAttempts",
    "executorState",
    "lastSubmissionAttemptTime",
    "sparkApplicationId",
    "submissionAttempts",
    "submissionID",
    "terminationTime",
)
_WORST_FIRST = ("FAILED", "SUBMISSION_FAILED", "FAILING", "RUNNING", "SUBMITTED", "COMPLETED")
_UNITS = {"": 0, "b": 0, "k": 10, "kb": 10, "m": 20, "mb": 20, "g": 30, "gb": 30, "t": 40, "tb": 40, "p": 50, "pb": 50}
_MEMORY = re.compile(r"^(\d+(?:\.\d+)?)([a-z]*)$")
_LEAST_OVERHEAD = Decimal(384 * 1024**2)
_JVM = ("Java", "Scala")
_DEFAULT_MEMORY = "1g"


def _bytes(text: object, field: str) -> Decimal:
    """The amount that Spark means by `512m` or `1g`. Raises: InterpretationError."""
    match = _MEMORY.match(text.lower()) if isinstance(text, str) else None
    if match is None or match[2] not in _UNITS:
        raise InterpretationError(f"{field}: {text!r} is no amount of memory, such as 512m or 1g")
    return Decimal(match[1]) * 2 ** _UNITS[match[2]]


def _memory(manifest: ReadOnlyManifest, part: str) -> str:
    """Memory that a pod gets: its own, and on top of it what Spark keeps for everything outside of the heap."""
    field = f"spec.{part}.memory"
    memory = _bytes(_or_default(value_at(manifest, "spec", part, "memory"), _DEFAULT_MEMORY), field)
    told = value_at(manifest, "spec", part, "memoryOverhead")
    if told is not None:
        return format_quantity(memory + _bytes(told, f"{field}Overhead"), binary=True)
    default = "0.1" if text_at(manifest, "spec", "type") in _JVM else "0.4"
    factor = Decimal(str(number(_or_default(value_at(manifest, "spec", "memoryOverheadFactor"), default))))
    return format_quantity(memory + max(memory * factor, _LEAST_OVERHEAD), binary=True)


def _or_default(value: Any, default: Any) -> Any:
    return default if value is None else value


def _needs(manifest: ReadOnlyManifest, part: str) -> ComponentReplicaRequirements:
    spec = mapping_at(manifest, "spec", part)
    cores = spec.get("cores")
    request: dict[str, Any] = {
        "cpu": canonical_quantity(number(1 if cores is None else cores)),
        "memory": _memory(manifest, part),
    }
    gpu, quantity = text_at(spec, "gpu", "name"), value_at(spec, "gpu", "quantity")
    if gpu and quantity is not None:
        request[gpu] = canonical_quantity(number(quantity))
    return ComponentReplicaRequirements(
        node_claim=node_claim(spec), resource_request=request, priority_class_name=text_at(spec, "priorityClassName")
    )


def _executors(manifest: ReadOnlyManifest) -> int:
    """Number of executors; with dynamic allocation, the most that it begins with."""
    instances = whole_count_at(manifest, 1, "spec", "executor", "instances")
    allocation = mapping_at(manifest, "spec", "dynamicAllocation")
    if allocation.get("enabled") is not True:
        return instances
    return max(instances, *(whole_count_at(allocation, 0, name) for name in ("initialExecutors", "minExecutors")))


def _components(manifest: ReadOnlyManifest) -> tuple[Component, ...]:
    required_spec(manifest)
    counts = {"driver": 1, "executor": _executors(manifest)}
    return tuple(
        Component(name=part, replicas=replicas, replica_requirements=_needs(manifest, part))
        for part, replicas in counts.items()
    )


def _is_healthy(manifest: ReadOnlyManifest) -> bool:
    state = value_at(manifest, "status", "applicationState", "state")
    return state is not None and state != "FAILED"


def _state(values: Sequence[Any], before: Any) -> Mapping[str, Any] | None:
    """The worst of all states, as its first cluster tells it."""
    states = [mapping_at({"it": value}, "it") for value in values]
    ranks = {state: rank for rank, state in enumerate(_WORST_FIRST)}
    told = [state for state in states if state]
    return min(told, key=lambda state: ranks.get(text_at(state, "state"), len(ranks))) if told else None


def _latest_time(values: Sequence[Any], before: Any) -> Any:
    return aggregation.greatest(values, before) or ""


_FOLDS: Mapping[str, Fold] = {
    "applicationState": _state,
    "executorState": aggregation.merged,
    "executionAttempts": aggregation.summed,
    "submissionAttempts": aggregation.summed,
    "lastSubmissionAttemptTime": _latest_time,
    "terminationTime": _latest_time,
}


def _aggregate(template: ReadOnlyManifest, items: Sequence[AggregatedStatusItem]) -> Status:
    """One copy's status is the application's; of several, the worst state and the sums."""
    if len(items) == 1:
        return dict(reported(items)[0])
    return fold_statuses(template, items, _FOLDS)


KINDS = {
    ("sparkoperator.k8s.io/v1beta2", "SparkApplication"): Rules(
        components=_components,
        reflect=lambda manifest: reflected(manifest, _FIELDS),
        is_healthy=_is_healthy,
        aggregate=_aggregate,
    )
}
