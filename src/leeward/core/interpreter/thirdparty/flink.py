"""FlinkDeployment: a job manager and task managers."""

from collections.abc import Sequence
from typing import Any

from kubeapi.codec import DecodeError, from_wire
from kubeapi.meta import ReadOnlyManifest
from kubeapi.quantity import canonical_quantity, parse_quantity
from kubeapi.unstructured import mapping_at, text_at, value_at
from leeward.api.work import (
    AggregatedStatusItem,
    Component,
    ComponentReplicaRequirements,
    NodeClaim,
    ReplicaRequirements,
)
from leeward.core.interpreter.rules import InterpretationError, Rules, Status
from leeward.core.interpreter.thirdparty.aggregation import Number, number, reported
from leeward.core.interpreter.thirdparty.kruise import count_at
from leeward.core.interpreter.thirdparty.pod_templates import node_claim
from leeward.core.interpreter.thirdparty.reflection import reflected

_RESOURCES = ("cpu", "memory")
_STARTING = ("CREATED", "INITIALIZING", "RECONCILING")
_GOES_ON_OR_ENDED = ("RUNNING", "FINISHED", "FAILED", "CANCELED", "SUSPENDED", "CANCELLING", "FAILING", "RESTARTING")
_OF_ITS_USER = ("ErrImagePull", "ImagePullBackOff", "CrashLoopBackOff")
_FIELDS = (
    "clusterInfo",
    "jobManagerDeploymentStatus",
    "jobStatus",
    "lifecycleState",
    "observedGeneration",
    "reconciliationStatus",
    "taskManager",
    "error",
)
_NOTHING: Status = {"jobManagerDeploymentStatus": "", "lifecycleState": "", "error": "", "observedGeneration": 0}


def _task_managers(manifest: ReadOnlyManifest) -> int:
    """Number of task managers: as many as are asked for, or as the job's parallelism takes slots."""
    if value_at(manifest, "spec", "taskManager", "replicas") is not None:
        return count_at(manifest, 1, "spec", "taskManager", "replicas")
    parallelism = count_at(manifest, 0, "spec", "job", "parallelism")
    slots = _number_or_none(value_at(manifest, "spec", "flinkConfiguration", "taskmanager.numberOfTaskSlots"))
    return int(-(-parallelism // slots)) if parallelism and slots > 0 else 1


def _number_or_none(value: Any) -> Number:
    """The number, or 0 where the value is none."""
    try:
        return number(value)
    except InterpretationError:
        return 0


def _job_managers(manifest: ReadOnlyManifest) -> int:
    return count_at(manifest, 1, "spec", "jobManager", "replicas")


def _resources(manifest: ReadOnlyManifest, part: str) -> dict[str, Any]:
    """Raises: InterpretationError for what is no quantity."""
    found = mapping_at(manifest, "spec", part, "resource")
    amounts = {name: value for name in _RESOURCES if (value := found.get(name)) is not None}
    for name, amount in amounts.items():
        try:
            if name == "memory" and not isinstance(amount, str):
                raise ValueError(f"{amount!r} is no text")
            amounts[name] = canonical_quantity(amount)
        except ValueError as error:
            raise InterpretationError(f"spec.{part}.resource.{name}: {error}") from error
    return amounts


def _claim(manifest: ReadOnlyManifest) -> tuple[NodeClaim | None, str]:
    spec = mapping_at(manifest, "spec", "podTemplate", "spec")
    return node_claim(spec), text_at(spec, "priorityClassName")


def _replicas(manifest: ReadOnlyManifest) -> tuple[int, ReplicaRequirements | None]:
    """All managers together; one replica is as large as the larger of the two kinds, resource by resource."""
    sizes = [_resources(manifest, part) for part in ("jobManager", "taskManager")]
    request: dict[str, Any] = {}
    for name in _RESOURCES:
        if amounts := [size[name] for size in sizes if name in size]:
            request[name] = max(amounts, key=parse_quantity)
    claim, priority_class = _claim(manifest)
    try:
        namespace = from_wire(value_at(manifest, "metadata", "namespace") or "", str)
    except DecodeError as error:
        raise InterpretationError(f"metadata.namespace: {error}") from error
    needs = ReplicaRequirements(
        node_claim=claim, resource_request=request, priority_class_name=priority_class, namespace=namespace
    )
    return _job_managers(manifest) + _task_managers(manifest), needs


def _components(manifest: ReadOnlyManifest) -> tuple[Component, ...]:
    claim, priority_class = _claim(manifest)
    counts = {"jobManager": _job_managers(manifest), "taskManager": _task_managers(manifest)}
    return tuple(
        Component(
            name=part.lower(),
            replicas=replicas,
            replica_requirements=ComponentReplicaRequirements(
                node_claim=claim, resource_request=_resources(manifest, part), priority_class_name=priority_class
            ),
        )
        for part, replicas in counts.items()
    )


def _is_healthy(manifest: ReadOnlyManifest) -> bool:
    """Tells whether it has started, or fails to by a fault of its user, which no other cluster mends."""
    status = mapping_at(manifest, "status")
    state = value_at(status, "jobStatus", "state")
    if state is None:
        manager, life = (text_at(status, name) for name in ("jobManagerDeploymentStatus", "lifecycleState"))
        return (manager, life) == ("READY", "STABLE")
    error = text_at(status, "error")
    return state in _GOES_ON_OR_ENDED or (state in _STARTING and any(each in error for each in _OF_ITS_USER))


def _aggregate(template: ReadOnlyManifest, items: Sequence[AggregatedStatusItem]) -> Status:
    """Status of the last cluster that says anything."""
    told = [status for status in reported(items) if status]
    last = {name: told[-1][name] for name in _FIELDS if name in told[-1]} if told else _NOTHING
    return {**{name: value for name, value in mapping_at(template, "status").items() if name not in _FIELDS}, **last}


KINDS = {
    ("flink.apache.org/v1beta1", "FlinkDeployment"): Rules(
        replicas=_replicas,
        components=_components,
        reflect=lambda manifest: reflected(manifest, _FIELDS),
        is_healthy=_is_healthy,
        aggregate=_aggregate,
    )
}
