"""Kubeflow: training jobs (PyTorchJob, TFJob, MPIJob), whose roles are components, and Notebook."""

from collections.abc import Mapping, Sequence
from typing import Any

from kubeapi.meta import ReadOnlyManifest
from kubeapi.unstructured import list_at, mapping_at, mappings_at, text_at, value_at
from leeward.api.work import AggregatedStatusItem, Component, ComponentReplicaRequirements
from leeward.core.interpreter.rules import Rules, Status
from leeward.core.interpreter.thirdparty import aggregation
from leeward.core.interpreter.thirdparty.aggregation import Fold, Number, fold_statuses, number, reported
from leeward.core.interpreter.thirdparty.kruise import whole_count_at
from leeward.core.interpreter.thirdparty.merged_conditions import has_condition
from leeward.core.interpreter.thirdparty.pod_templates import component_requirements, pod_template, requirements
from leeward.core.interpreter.thirdparty.references import role_dependencies
from leeward.core.interpreter.thirdparty.reflection import reflected

_MPI_FIELDS = ("conditions", "replicaStatuses", "startTime", "completionTime", "lastReconcileTime")
_POD_COUNTS = ("active", "succeeded", "failed")
_UNSCHEDULABLE = {"waiting": {"reason": "Unschedulable"}}
_BEING_MADE = "ContainerCreating"
_BAD_ENDS = ("Error", "OOMKilled", "ContainerCannotRun")


def _role_components(manifest: ReadOnlyManifest, field: str, roles: Sequence[str]) -> tuple[Component, ...]:
    """Components of the job, one for each role that it has."""
    found: list[Component] = []
    specs = mapping_at(manifest, "spec", field)
    for role in roles:
        if role in specs and isinstance(specs[role], dict):
            needs = _needs(specs[role])
            replicas = 1 if specs[role].get("replicas") == "" else whole_count_at(specs[role], 1, "replicas")
            found.append(Component(name=role.lower(), replicas=replicas, replica_requirements=needs))
    return tuple(found)


def _needs(role: ReadOnlyManifest) -> ComponentReplicaRequirements | None:
    return component_requirements(pod_template(role, "template")) if "template" in role else None


def _mpi_components(manifest: ReadOnlyManifest) -> tuple[Component, ...]:
    """Components of an MPIJob, one for each role, called as the job calls it."""
    found: list[Component] = []
    for role, spec in sorted(mapping_at(manifest, "spec", "mpiReplicaSpecs").items()):
        if value_at(spec, "template") is None:
            continue
        default = 0 if role.lower() == "worker" else 1
        replicas = default if value_at(spec, "replicas") == "" else whole_count_at(spec, default, "replicas")
        found.append(Component(name=role, replicas=replicas, replica_requirements=_needs(spec)))
    return tuple(found)


def _has_not_failed(manifest: ReadOnlyManifest) -> bool:
    return isinstance(value_at(manifest, "status", "conditions"), list) and not has_condition(
        manifest.get("status"), "Failed"
    )


def _pods_by_role(items: Sequence[AggregatedStatusItem]) -> dict[str, dict[str, Number]]:
    roles: dict[str, dict[str, Number]] = {}
    for status in reported(items):
        for role, counts in mapping_at(status, "replicaStatuses").items():
            sums = roles.setdefault(role, {})
            for name, value in mapping_at({"it": counts}, "it").items():
                if name in _POD_COUNTS:
                    sums[name] = sums.get(name, 0) + number(value)
    return roles


def _latest_condition_time(items: Sequence[AggregatedStatusItem]) -> str:
    conditions = [each for status in reported(items) for each in mappings_at(status, "conditions")]
    return max((text_at(each, "lastTransitionTime") for each in conditions), default="")


def _clusters_with(items: Sequence[AggregatedStatusItem], kind: str) -> list[str]:
    return [item.cluster_name for item in items if has_condition(item.status, kind)]


def _ended(items: Sequence[AggregatedStatusItem], kind: str, done: Mapping[str, str]) -> Mapping[str, str]:
    """The condition of a job that failed in some cluster or succeeded in all; dated as the last of their own."""
    since = _latest_condition_time(items)
    dated = {"lastProbeTime": since, "lastTransitionTime": since} if since else {}
    if failed := _clusters_with(items, "Failed"):
        message = f"{kind} executed failed in member clusters: {', '.join(failed)}"
        return {"type": "Failed", "status": "True", "reason": f"{kind}Failed", "message": message, **dated}
    if items and len(_clusters_with(items, "Succeeded")) == len(items):
        return {"type": "Succeeded", "status": "True", **done, **dated}
    return {}


def _training_status(template: ReadOnlyManifest, items: Sequence[AggregatedStatusItem]) -> Status:
    """The pods of each role added up; completed when all clusters have."""
    folds: dict[str, Fold] = {"startTime": _first_time, "replicaStatuses": aggregation.latest}
    if _has_succeeded(items):
        folds["completionTime"] = aggregation.greatest
    status = fold_statuses(template, items, folds)
    roles = {role: {name: sum for name, sum in sums.items() if sum} for role, sums in _pods_by_role(items).items()}
    return {**status, "replicaStatuses": roles} if roles else status


def _first_time(values: Sequence[Any], before: Any) -> Any:
    """Unknown when one is empty."""
    return aggregation.least(values, before) or None


def _has_succeeded(items: Sequence[AggregatedStatusItem]) -> bool:
    return bool(items) and len(_clusters_with(items, "Succeeded")) == len(items)


def _with_conditions(status: Status, conditions: Sequence[Mapping[str, Any]]) -> Status:
    """The status with these conditions in place of its own."""
    rest = {name: value for name, value in status.items() if name != "conditions"}
    return {**rest, "conditions": list(conditions)} if conditions else rest


def _aggregate_tf(template: ReadOnlyManifest, items: Sequence[AggregatedStatusItem]) -> Status:
    done = {"reason": "Completed", "message": "TFJob completed successfully"}
    ended = _ended(items, "TFJob", done)
    return _with_conditions(_training_status(template, items), [ended] if ended else [])


def _aggregate_pytorch(template: ReadOnlyManifest, items: Sequence[AggregatedStatusItem]) -> Status:
    """Sums up as each cluster goes on: created, running while one does, then succeeded or failed."""
    status = _training_status(template, items)
    ended = "Failed" if _clusters_with(items, "Failed") else "Succeeded" if _has_succeeded(items) else ""
    running = "True" if _clusters_with(items, "Running") and not ended else "False"
    failed = ", ".join(_clusters_with(items, "Failed"))
    said = {
        "Created": ("True", "PyTorchJob is created."),
        "Running": (running, "PyTorchJob is running."),
        "Succeeded": ("True", "PyTorchJob is successfully completed."),
        "Failed": ("True", f"PyTorchJob executed failed in member clusters: {failed}"),
    }
    conditions: list[Mapping[str, Any]] = []
    for kind, (state, message) in said.items():
        told = _last_told(items, kind)
        if told and kind in ("Created", ended):
            told = _dated(status.get("startTime") if kind == "Created" else _ended_at(items))
        if _last_told(items, kind) and (kind in ("Created", "Running") or kind == ended):
            reason = f"PyTorchJob{kind}"
            conditions.append({"type": kind, "status": state, "reason": reason, "message": message, **told})
    return _with_conditions(status, conditions)


def _ended_at(items: Sequence[AggregatedStatusItem]) -> str:
    last = max((text_at(status, "completionTime") for status in reported(items)), default="")
    return last or _latest_condition_time(items)


def _dated(since: str | None) -> Mapping[str, Any]:
    return {"lastTransitionTime": since, "lastUpdateTime": since} if since else {}


def _last_told(items: Sequence[AggregatedStatusItem], kind: str) -> Mapping[str, Any]:
    """Times at which the condition changed, as the last cluster that has it says."""
    for status in reversed(reported(items)):
        for condition in reversed(mappings_at(status, "conditions")):
            if condition.get("type") == kind:
                return {name: condition[name] for name in ("lastTransitionTime", "lastUpdateTime") if name in condition}
    return {}


def _aggregate_mpi(template: ReadOnlyManifest, items: Sequence[AggregatedStatusItem]) -> Status | None:
    """One copy's status is the job's; of several, the latest condition of each type and the sums."""
    if len(items) <= 1:
        return dict(reported(items)[0]) if items else None
    folds = {
        "startTime": aggregation.least,
        "completionTime": aggregation.greatest,
        "lastReconcileTime": aggregation.greatest,
    }
    status = fold_statuses(template, items, folds)
    conditions: dict[str, Mapping[str, Any]] = {}
    for condition in (each for found in reported(items) for each in mappings_at(found, "conditions")):
        kind = text_at(condition, "type")
        known = conditions.get(kind)
        if known is None or _changed(condition) > _changed(known):
            conditions[kind] = condition
    roles = {role: {**dict.fromkeys(_POD_COUNTS, 0), **sums} for role, sums in _pods_by_role(items).items()}
    status = {**status, **({"replicaStatuses": roles} if roles else {})}
    return _with_conditions(status, list(conditions.values()))


def _changed(condition: ReadOnlyManifest) -> str:
    return text_at(condition, "lastUpdateTime") or text_at(condition, "lastTransitionTime")


def _is_notebook_healthy(manifest: ReadOnlyManifest) -> bool:
    """Tells whether its container runs, is being made, or has ended well."""
    state = mapping_at(manifest, "status", "containerState")
    if "running" in state:
        return True
    if "waiting" in state:
        return text_at(state, "waiting", "reason") == _BEING_MADE
    if "terminated" in state:
        ended = mapping_at(state, "terminated")
        return text_at(ended, "reason") not in _BAD_ENDS and number(ended.get("exitCode") or 0) == 0
    return False


def _has_stopped(state: Mapping[str, Any]) -> bool:
    """Tells whether a notebook of several does not run: it waits, has ended, or says nothing."""
    return not state or "terminated" in state or "waiting" in state


def _aggregate_notebook(template: ReadOnlyManifest, items: Sequence[AggregatedStatusItem]) -> Status:
    """One copy's status is the notebook's; of several, the last state that is bad, or the latest that is not."""
    if len(items) == 1:
        return dict(reported(items)[0])
    status = fold_statuses(template, items, {"readyReplicas": aggregation.summed})
    states = [mapping_at(each, "containerState") or _UNSCHEDULABLE for each in reported(items)]
    failing = [item.cluster_name for item, state in zip(items, states, strict=True) if _has_stopped(state)]
    if not states:
        return status
    bad = [state for state in states if _has_stopped(state)]
    state = bad[-1] if bad else max(states, key=lambda each: text_at(each, "running", "startedAt"))
    condition = {"type": "Ready", "status": "True", "reason": "Ready", "message": "All notebooks are ready"}
    if failing:
        message = f"Notebook executed failed in member clusters: {', '.join(failing)}"
        condition = {"type": "Failed", "status": "True", "reason": "NotebookFailed", "message": message}
    return {**status, "containerState": state, "conditions": [condition]}


KINDS = {
    ("kubeflow.org/v1", "Notebook"): Rules(
        replicas=lambda manifest: (1, requirements(pod_template(manifest, "spec", "template"))),
        reflect=lambda manifest: reflected(
            manifest, ("conditions", "containerState", "readyReplicas"), {"readyReplicas": 0}
        ),
        is_healthy=_is_notebook_healthy,
        aggregate=_aggregate_notebook,
    ),
    ("kubeflow.org/v1", "PyTorchJob"): Rules(
        dependencies=lambda manifest: role_dependencies(manifest, "spec", "pytorchReplicaSpecs"),
        components=lambda manifest: _role_components(manifest, "pytorchReplicaSpecs", ("Master", "Worker")),
        is_healthy=_has_not_failed,
        aggregate=_aggregate_pytorch,
    ),
    ("kubeflow.org/v1", "TFJob"): Rules(
        dependencies=lambda manifest: role_dependencies(manifest, "spec", "tfReplicaSpecs"),
        components=lambda manifest: _role_components(
            manifest, "tfReplicaSpecs", ("PS", "Worker", "Chief", "Master", "Evaluator")
        ),
        is_healthy=_has_not_failed,
        aggregate=_aggregate_tf,
    ),
    ("kubeflow.org/v2beta1", "MPIJob"): Rules(
        components=_mpi_components,
        reflect=lambda manifest: reflected(manifest, _MPI_FIELDS),
        is_healthy=lambda manifest: bool(list_at(manifest, "status", "conditions")) and _has_not_failed(manifest),
        aggregate=_aggregate_mpi,
    ),
}
