"""OpenKruise: CloneSet, StatefulSet, DaemonSet, UnitedDeployment, SidecarSet, BroadcastJob and AdvancedCronJob."""

from collections.abc import Mapping, Sequence
from typing import Any

from kubeapi.diff import is_equal
from kubeapi.meta import Manifest, ReadOnlyManifest
from kubeapi.unstructured import list_at, mapping_at, put, text_at, value_at
from leeward.api.interpreter_config import DependentObjectReference
from leeward.api.work import AggregatedStatusItem, ReplicaRequirements
from leeward.core.interpreter.rules import InterpretationError, Rules, Status
from leeward.core.interpreter.thirdparty import aggregation
from leeward.core.interpreter.thirdparty.aggregation import Fold, Number, fold_statuses, number, reported
from leeward.core.interpreter.thirdparty.pod_templates import pod_template, requirements
from leeward.core.interpreter.thirdparty.references import template_dependencies
from leeward.core.interpreter.thirdparty.reflection import reflected, reflected_with_generations

TEMPLATE = ("spec", "template")
_REPLICAS = ("replicas", "readyReplicas", "updatedReplicas", "availableReplicas")
_CLONE_SET_COUNTS = (*_REPLICAS, "updatedReadyReplicas", "expectedUpdatedReplicas")
_STATEFUL_SET_COUNTS = (*_REPLICAS, "updatedReadyReplicas", "currentReplicas")
_DAEMON_SET_COUNTS = (
    "currentNumberScheduled",
    "desiredNumberScheduled",
    "numberAvailable",
    "numberMisscheduled",
    "numberReady",
    "numberUnavailable",
    "updatedNumberScheduled",
)
_REVISIONS = ("updateRevision", "currentRevision")
_SIDECAR_PODS = ("matchedPods", "updatedPods", "readyPods")
_JOB_COUNTS = ("active", "succeeded", "failed", "desired")
_JOB_FIELDS = (*_JOB_COUNTS, "phase", "conditions", "startTime", "completionTime")


def required_spec(manifest: ReadOnlyManifest) -> Mapping[str, Any]:
    """The spec. Raises: InterpretationError when there is none."""
    if not isinstance(manifest.get("spec"), dict):
        raise InterpretationError("spec is missing")
    return mapping_at(manifest, "spec")


def count_at(manifest: ReadOnlyManifest, default: int, *path: str) -> int:
    """The number of replicas at the path. Raises: InterpretationError."""
    value = value_at(manifest, *path)
    return default if value is None else aggregation.count(value)


def whole_count_at(manifest: ReadOnlyManifest, default: int, *path: str) -> int:
    """Reads as `count_at`, of what is not cut off but refused. Raises: InterpretationError."""
    value = value_at(manifest, *path)
    if value is not None and number(value) % 1:
        raise InterpretationError(f"{'.'.join(path)}: {value!r} is no whole number")
    return count_at(manifest, default, *path)


def _replicas(manifest: ReadOnlyManifest) -> tuple[int, ReplicaRequirements | None]:
    replicas = count_at(manifest, 0, "spec", "replicas")
    return replicas, requirements(pod_template(manifest, *TEMPLATE))


def _revise(manifest: Manifest, replicas: int) -> None:
    required_spec(manifest)
    put(manifest, replicas, "spec", "replicas")


def _dependencies(manifest: ReadOnlyManifest) -> list[DependentObjectReference]:
    return template_dependencies(manifest, [TEMPLATE])


def _sidecar_dependencies(manifest: ReadOnlyManifest) -> list[DependentObjectReference]:
    """The spec is that of a pod, of which each pod gets a part."""
    if not isinstance(manifest.get("spec"), dict):
        return []
    whole = {"metadata": manifest.get("metadata"), "template": manifest}
    return template_dependencies(whole, [("template",)], without_spec=True)


def _cron_job_dependencies(manifest: ReadOnlyManifest) -> list[DependentObjectReference]:
    """Dependencies of its jobs, which are of one of two kinds."""
    kinds = ("jobTemplate", "broadcastJobTemplate")
    template = mapping_at(required_spec(manifest), "template")
    paths = [("spec", "template", kind, *TEMPLATE) for kind in kinds if kind in template]
    if not paths:
        raise InterpretationError(f"spec.template must have one of {' and '.join(kinds)}")
    return template_dependencies(manifest, paths)


def _sums(names: Sequence[str]) -> dict[str, Fold]:
    return dict.fromkeys(names, aggregation.summed)


def _aggregated(template: ReadOnlyManifest, items: Sequence[AggregatedStatusItem], folds: Mapping[str, Fold]) -> Status:
    generation = {"observedGeneration": aggregation.observed_generation(template, items)}
    return {**fold_statuses(template, items, folds), **generation}


def _has_observed(manifest: ReadOnlyManifest) -> bool:
    return is_equal(value_at(manifest, "status", "observedGeneration"), value_at(manifest, "metadata", "generation"))


def _is_updated(manifest: ReadOnlyManifest) -> bool:
    """The newest generation is rolled out, as far as the spec names a number."""
    if not isinstance(manifest.get("status"), dict):
        raise InterpretationError("status is missing")
    return _has_observed(manifest) and _has_all_updated(manifest)


def _has_all_updated(manifest: ReadOnlyManifest) -> bool:
    """Raises: InterpretationError when the status lacks a count: its health is unknown, as in Karmada's scripts."""
    wanted, updated = (value_at(manifest, *path) for path in (("spec", "replicas"), ("status", "updatedReplicas")))
    if updated is None:
        raise InterpretationError("status.updatedReplicas is missing")
    if wanted is not None and number(updated) < number(wanted):
        return False
    available = value_at(manifest, "status", "availableReplicas")
    if available is None:
        raise InterpretationError("status.availableReplicas is missing")
    return number(available) >= number(updated)


def _status_number(manifest: ReadOnlyManifest, name: str) -> Number:
    value = value_at(manifest, "status", name)
    return 0 if value is None else number(value)


def _is_daemon_set_healthy(manifest: ReadOnlyManifest) -> bool:
    if not isinstance(manifest.get("status"), dict):
        raise InterpretationError("status is missing")
    names = ("desiredNumberScheduled", "updatedNumberScheduled", "numberAvailable")
    desired, updated, available = (_status_number(manifest, name) for name in names)
    return _has_observed(manifest) and updated >= desired and available >= updated


def _are_sidecars_healthy(manifest: ReadOnlyManifest) -> bool:
    """Tells whether every matched pod is updated; that is so when none is matched."""
    if not isinstance(manifest.get("status"), dict):
        return False
    matched, updated = (_status_number(manifest, name) for name in ("matchedPods", "updatedPods"))
    return matched in (0, updated)


def _retain_sidecar_set(desired: Manifest, observed: ReadOnlyManifest) -> None:
    """Retains nothing: nothing in the member is of its own."""


def _job_replicas(manifest: ReadOnlyManifest) -> tuple[int, ReplicaRequirements | None]:
    required_spec(manifest)
    replicas = count_at(manifest, 1, "spec", "parallelism")
    return replicas, requirements(pod_template(manifest, *TEMPLATE))


def revise_parallelism(manifest: Manifest, replicas: int) -> None:
    """Raises: InterpretationError when there is no spec."""
    required_spec(manifest)
    put(manifest, replicas, "spec", "parallelism")


def _is_job_healthy(manifest: ReadOnlyManifest) -> bool:
    """Tells whether nothing failed, something is desired, and a pod is active or has succeeded, or is not told."""
    if not isinstance(manifest.get("status"), dict):
        raise InterpretationError("status is missing")
    status = mapping_at(manifest, "status")
    none = {name for name in _JOB_COUNTS if status.get(name) is not None and number(status[name]) == 0}
    return "failed" in none and "desired" not in none and not {"active", "succeeded"} <= none


def _retain_job(desired: Manifest, observed: ReadOnlyManifest) -> None:
    """The labels of its pods are completed by the member."""
    for side in (desired, observed):
        required_spec(side)
    labels = value_at(observed, "spec", "template", "metadata", "labels")
    if labels is not None:
        put(desired, labels, "spec", "template", "metadata", "labels")


def _aggregate_job(template: ReadOnlyManifest, items: Sequence[AggregatedStatusItem]) -> Status:
    """The sums; failed when one cluster failed, completed when all have."""
    status = fold_statuses(template, items, {**_sums(_JOB_COUNTS), "phase": aggregation.latest_or_empty})
    condition = _job_condition(items)
    return {**status, "conditions": [condition]} if condition else status


def _job_condition(items: Sequence[AggregatedStatusItem]) -> Mapping[str, str]:
    outcomes = [(item.cluster_name, _outcome(status)) for item, status in zip(items, reported(items), strict=True)]
    failed = [name for name, outcome in outcomes if outcome == "Failed"]
    if failed:
        message = f"Job executed failed in member clusters: {', '.join(failed)}"
        return {"type": "Failed", "status": "True", "reason": "JobFailed", "message": message}
    if outcomes and all(outcome == "Complete" for _, outcome in outcomes):
        return {"type": "Completed", "status": "True", "reason": "Completed", "message": "Job completed"}
    return {}


def _outcome(status: Mapping[str, Any]) -> str:
    """The type of the first condition that says that the job has ended."""
    for condition in list_at(status, "conditions"):
        if text_at(condition, "status") == "True" and text_at(condition, "type") in ("Complete", "Failed"):
            return text_at(condition, "type")
    return ""


KINDS = {
    ("apps.kruise.io/v1alpha1", "AdvancedCronJob"): Rules(
        dependencies=_cron_job_dependencies,
        aggregate=lambda template, items: fold_statuses(
            template,
            items,
            {"active": aggregation.joined, "lastScheduleTime": aggregation.latest, "type": aggregation.latest_text},
        ),
    ),
    ("apps.kruise.io/v1alpha1", "BroadcastJob"): Rules(
        dependencies=_dependencies,
        replicas=_job_replicas,
        revise=revise_parallelism,
        reflect=lambda manifest: reflected(manifest, _JOB_FIELDS),
        is_healthy=_is_job_healthy,
        aggregate=_aggregate_job,
        retain=_retain_job,
    ),
    ("apps.kruise.io/v1alpha1", "CloneSet"): Rules(
        dependencies=_dependencies,
        replicas=_replicas,
        revise=_revise,
        reflect=lambda manifest: reflected_with_generations(
            manifest, (*_CLONE_SET_COUNTS, *_REVISIONS, "labelSelector", "observedGeneration")
        ),
        is_healthy=_is_updated,
        aggregate=lambda template, items: _aggregated(
            template,
            items,
            {**_sums(_CLONE_SET_COUNTS), **dict.fromkeys((*_REVISIONS, "labelSelector"), aggregation.latest_text)},
        ),
    ),
    ("apps.kruise.io/v1alpha1", "DaemonSet"): Rules(
        dependencies=lambda manifest: template_dependencies(manifest, [TEMPLATE], without_spec=True),
        reflect=lambda manifest: reflected_with_generations(
            manifest, (*_DAEMON_SET_COUNTS, "daemonSetHash", "observedGeneration")
        ),
        is_healthy=_is_daemon_set_healthy,
        aggregate=lambda template, items: _aggregated(
            template, items, {**_sums(_DAEMON_SET_COUNTS), "daemonSetHash": aggregation.latest}
        ),
    ),
    ("apps.kruise.io/v1alpha1", "SidecarSet"): Rules(
        dependencies=_sidecar_dependencies,
        replicas=lambda manifest: (0, None),
        reflect=lambda manifest: reflected(manifest, _SIDECAR_PODS, dict.fromkeys(_SIDECAR_PODS, 0)),
        is_healthy=_are_sidecars_healthy,
        aggregate=lambda template, items: fold_statuses(template, items, _sums(_SIDECAR_PODS)),
        retain=_retain_sidecar_set,
    ),
    ("apps.kruise.io/v1alpha1", "UnitedDeployment"): Rules(
        dependencies=_dependencies,
        replicas=_replicas,
        revise=_revise,
        reflect=lambda manifest: reflected_with_generations(manifest, (*_REPLICAS, "conditions", "observedGeneration")),
        is_healthy=lambda manifest: isinstance(manifest.get("status"), dict) and _is_updated(manifest),
        aggregate=lambda template, items: _aggregated(
            template, items, {**_sums((*_REPLICAS, "unavailableReplicas")), "conditions": aggregation.latest_or_kept}
        ),
    ),
    ("apps.kruise.io/v1beta1", "StatefulSet"): Rules(
        dependencies=_dependencies,
        replicas=_replicas,
        revise=_revise,
        reflect=lambda manifest: reflected_with_generations(
            manifest, (*_STATEFUL_SET_COUNTS, *_REVISIONS, "observedGeneration")
        ),
        is_healthy=_is_updated,
        aggregate=lambda template, items: _aggregated(
            template, items, {**_sums(_STATEFUL_SET_COUNTS), **dict.fromkeys(_REVISIONS, aggregation.latest_text)}
        ),
    ),
}
