"""Ray: RayCluster, RayJob and RayService, each with a head and groups of workers."""

from collections.abc import Mapping, Sequence
from typing import Any

from kubeapi.meta import Manifest, ReadOnlyManifest
from kubeapi.quantity import format_quantity, is_binary, parse_quantity
from kubeapi.unstructured import mapping_at, mappings_at, text_at, value_at
from leeward.api.interpreter_config import DependentObjectReference
from leeward.api.work import AggregatedStatusItem, Component, ReplicaRequirements
from leeward.core.interpreter.rules import InterpretationError, Rules, Status
from leeward.core.interpreter.thirdparty import aggregation
from leeward.core.interpreter.thirdparty.aggregation import Fold, fold_statuses, reported
from leeward.core.interpreter.thirdparty.kruise import whole_count_at
from leeward.core.interpreter.thirdparty.merged_conditions import has_condition
from leeward.core.interpreter.thirdparty.pod_templates import component_requirements, pod_template, requirements
from leeward.core.interpreter.thirdparty.references import template_dependencies

_NOTHING: Mapping[str, Any] = {}
_CLUSTER, _OF_JOB, _OF_SERVICE = ("spec",), ("spec", "rayClusterSpec"), ("spec", "rayClusterConfig")
_WORKER_COUNTS = (
    "availableWorkerReplicas",
    "desiredWorkerReplicas",
    "minWorkerReplicas",
    "maxWorkerReplicas",
    "readyWorkerReplicas",
)
_JOB_STATUSES = ("FAILED", "STOPPED", "SUCCEEDED", "RUNNING", "PENDING")
_DEPLOYMENT_STATUSES = (
    "Failed",
    "ValidationFailed",
    "Complete",
    "Running",
    "Retrying",
    "Suspended",
    "Suspending",
    "Waiting",
    "Initializing",
)
_APPLICATION_STATUSES = ("DEPLOY_FAILED", "UNHEALTHY", "DELETING", "DEPLOYING", "NOT_STARTED", "RUNNING")


def _groups(manifest: ReadOnlyManifest, path: Sequence[str]) -> list[Manifest]:
    return mappings_at(manifest, *path, "workerGroupSpecs")


def _components(manifest: ReadOnlyManifest, path: Sequence[str]) -> tuple[Component, ...]:
    """The head, and each group of workers; a group without a name is called by its place."""
    found: list[Component] = []
    head = mapping_at(manifest, *path, "headGroupSpec")
    if isinstance(head.get("template"), dict):
        needs = component_requirements(pod_template(head, "template"))
        found.append(Component(name="ray-head", replicas=1, replica_requirements=needs))
    for place, group in enumerate(_groups(manifest, path), start=1):
        name = group.get("groupName") or f"worker-{place}"
        if not isinstance(name, str):
            raise InterpretationError(f"workerGroupSpecs[{place - 1}].groupName must be a text")
        needs = component_requirements(pod_template(group, "template")) if "template" in group else None
        found.append(Component(name=name, replicas=whole_count_at(group, 0, "replicas"), replica_requirements=needs))
    return tuple(found)


def _service_replicas(manifest: ReadOnlyManifest) -> tuple[int, ReplicaRequirements | None]:
    """All pods; one is as large as the largest of them, resource by resource, and goes where the head may.

    A service whose head has no template has none yet."""
    if value_at(manifest, *_OF_SERVICE, "headGroupSpec", "template") is None:
        return 0, None
    head = requirements(pod_template(manifest, *_OF_SERVICE, "headGroupSpec", "template"))
    groups = _groups(manifest, _OF_SERVICE)
    sizes = [head, *(requirements(pod_template(group, "template")) for group in groups if "template" in group)]
    request: dict[str, Any] = {}
    for size in sizes:
        if size is None:
            continue
        for name, amount in size.resource_request.items():
            if name not in request or parse_quantity(amount) > parse_quantity(request[name]):
                request[name] = amount
    replicas = 1 + sum(whole_count_at(group, 0, "replicas") for group in groups)
    claim = head.node_claim if head else None
    return replicas, ReplicaRequirements(node_claim=claim, resource_request=request) if request or claim else None


def _revise_service(manifest: Manifest, replicas: int) -> None:
    """Divides all replicas but the head among the groups as they are now; evenly where they have none."""
    groups = _groups(manifest, _OF_SERVICE)
    weights = [max(0, whole_count_at(group, 0, "replicas")) for group in groups]
    shares = _divided(max(0, replicas - 1), weights if any(weights) else [1] * len(groups))
    for group, share in zip(groups, shares, strict=True):
        group["replicas"] = share


def _divided(whole: int, weights: Sequence[int]) -> list[int]:
    """Divides by largest remainder; of equal ones the first gets more."""
    if not weights:
        return []
    total = sum(weights)
    shares = [whole * weight // total for weight in weights]
    by_remainder = sorted(range(len(weights)), key=lambda place: -(whole * weights[place] % total))
    for place in by_remainder[: whole - sum(shares)]:
        shares[place] += 1
    return shares


def _is_cluster_healthy(manifest: ReadOnlyManifest) -> bool:
    status = manifest.get("status")
    is_up = has_condition(status, "HeadPodReady") and has_condition(status, "RayClusterProvisioned")
    return is_up and not has_condition(status, "RayClusterReplicaFailure")


def _is_job_healthy(manifest: ReadOnlyManifest) -> bool:
    status = mapping_at(manifest, "status")
    deployment, job = text_at(status, "jobDeploymentStatus"), text_at(status, "jobStatus")
    return deployment == "Running" or (deployment, job) == ("Complete", "SUCCEEDED")


def _amounts(values: Sequence[Any], before: Any) -> str:
    """The sum of quantities, written as the first that is not 0. Raises: InterpretationError."""
    try:
        amounts = [(parse_quantity(value), is_binary(value)) for value in values if value != ""]
    except ValueError as error:
        raise InterpretationError(str(error)) from error
    total = sum((amount for amount, _ in amounts), start=parse_quantity("0"))
    return format_quantity(total, binary=next((binary for amount, binary in amounts if amount), False))


def _devices(values: Sequence[Any], before: Any) -> str:
    """The sum of numbers that are written as texts. Raises: InterpretationError."""
    return str(aggregation.total_of(value for value in values if value != ""))


def _aggregate_cluster(template: ReadOnlyManifest, items: Sequence[AggregatedStatusItem]) -> Status | None:
    """One copy's status is the cluster's; those of several are added up."""
    if len(items) <= 1:
        return dict(reported(items)[0]) if items else None
    folds: dict[str, Fold] = {
        **dict.fromkeys(_WORKER_COUNTS, aggregation.summed),
        **dict.fromkeys(("desiredCPU", "desiredMemory"), _amounts),
        **dict.fromkeys(("desiredGPU", "desiredTPU"), _devices),
        **dict.fromkeys(("state", "stateTransitionTimes", "head", "endpoints"), aggregation.first),
        "lastUpdateTime": aggregation.greatest,
        "conditions": aggregation.joined,
    }
    return fold_statuses(template, items, folds)


def _worst(items: Sequence[AggregatedStatusItem], field: str, worst_first: Sequence[str]) -> Mapping[str, Any]:
    """The status of the first cluster whose field ranks worst; empty when none says anything."""
    told = [status for status in reported(items) if text_at(status, field)]
    ranks = {value: rank for rank, value in enumerate(worst_first)}
    return min(told, key=lambda status: ranks.get(text_at(status, field), len(ranks)), default=_NOTHING)


def _aggregate_job(template: ReadOnlyManifest, items: Sequence[AggregatedStatusItem]) -> Status | None:
    """One copy's status is the job's; of several, what is furthest from going on, and why."""
    if len(items) <= 1:
        return dict(reported(items)[0]) if items else None
    kept = {k: v for k, v in mapping_at(template, "status").items() if k not in ("message", "reason")}
    deployment = _worst(items, "jobDeploymentStatus", _DEPLOYMENT_STATUSES)
    job = _worst(items, "jobStatus", _JOB_STATUSES)
    told = {name: deployment[name] for name in ("jobDeploymentStatus", "message", "reason") if name in deployment}
    return {**kept, **told, **({"jobStatus": job["jobStatus"]} if job else {})}


def _applications(values: Sequence[Any], before: Any) -> Mapping[str, Any] | None:
    """The first active service, with the worst that any cluster says of each application."""
    services = [mapping_at({"it": value}, "it") for value in values]
    if not services:
        return None
    ranks = {status: rank for rank, status in enumerate(_APPLICATION_STATUSES)}
    good = ranks["RUNNING"]
    worst: dict[str, Any] = {}
    for service in services:
        for name, application in mapping_at(service, "applicationStatuses").items():
            rank = ranks.get(text_at(application, "status"), good)
            if name not in worst or rank < ranks.get(text_at(worst[name], "status"), good):
                worst[name] = application
    return {**services[0], **({"applicationStatuses": worst} if worst else {})}


def _aggregate_service(template: ReadOnlyManifest, items: Sequence[AggregatedStatusItem]) -> Status | None:
    """One copy's status is the service's; those of several are added up."""
    if len(items) <= 1:
        return dict(reported(items)[0]) if items else None
    folds: dict[str, Fold] = {
        "activeServiceStatus": _applications,
        "pendingServiceStatus": aggregation.first,
        "conditions": aggregation.joined,
        "numServeEndpoints": aggregation.summed,
        "lastUpdateTime": aggregation.greatest,
        "observedGeneration": lambda values, before: aggregation.greatest([0, *values], before),
        "serviceStatus": lambda values, before: "" if "" in values else "Running",
    }
    return fold_statuses(template, items, folds)


def _dependencies(manifest: ReadOnlyManifest, path: Sequence[str]) -> list[DependentObjectReference]:
    """Dependencies of the pods of the head and of all groups, those without a spec of a pod aside.
    Raises: InterpretationError."""
    parts = [mapping_at(manifest, *path, "headGroupSpec"), *_groups(manifest, path)]
    metadata = manifest.get("metadata")
    templated = [{"metadata": metadata, **part} for part in parts if mapping_at(part, "template", "spec")]
    return [each for part in templated for each in template_dependencies(part, [("template",)])]


def _job_dependencies(manifest: ReadOnlyManifest) -> list[DependentObjectReference]:
    """Dependencies, also of the pod that submits the job, where there is a template for it.
    Raises: InterpretationError."""
    submitter = ("spec", "submitterPodTemplate")
    own = template_dependencies(manifest, [submitter], without_spec=True) if mapping_at(manifest, *submitter) else []
    return [*own, *_dependencies(manifest, _OF_JOB)]


KINDS = {
    ("ray.io/v1", "RayCluster"): Rules(
        components=lambda manifest: _components(manifest, _CLUSTER),
        is_healthy=_is_cluster_healthy,
        aggregate=_aggregate_cluster,
    ),
    ("ray.io/v1", "RayJob"): Rules(
        dependencies=_job_dependencies,
        components=lambda manifest: _components(manifest, _OF_JOB),
        is_healthy=_is_job_healthy,
        aggregate=_aggregate_job,
    ),
    ("ray.io/v1", "RayService"): Rules(
        dependencies=lambda manifest: _dependencies(manifest, _OF_SERVICE),
        replicas=_service_replicas,
        revise=_revise_service,
        is_healthy=lambda manifest: has_condition(manifest.get("status"), "Ready"),
        aggregate=_aggregate_service,
    ),
}
