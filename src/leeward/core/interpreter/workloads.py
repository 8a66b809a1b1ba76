"""Deployment, ReplicaSet, StatefulSet and DaemonSet: controllers of pods that report by generation.

A member's status counts for the template's present generation only if the member has observed the object that was
made from it: `resourceTemplateGeneration` and `generation` are added to what is reflected for this.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kubeapi.meta import Manifest, ReadOnlyManifest
from kubeapi.unstructured import drop, int_at, list_at, mapping_at, pick, put, take, text_at, value_at
from leeward.api.names import RETAIN_REPLICAS_LABEL, TEMPLATE_GENERATION_ANNOTATION
from leeward.api.work import AggregatedStatusItem, ReplicaRequirements
from leeward.core.interpreter.dependencies import stateful_set_dependencies, template_dependencies
from leeward.core.interpreter.fields import total
from leeward.core.interpreter.pod_template import replica_requirements
from leeward.core.interpreter.resource_health import ResourceHealth
from leeward.core.interpreter.rules import Rules, Status

_DEPLOYMENT = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas", "unavailableReplicas")
_REPLICA_SET = ("replicas", "readyReplicas", "availableReplicas")
_STATEFUL_SET = ("replicas", "readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas")
_DAEMON_SET = (
    "currentNumberScheduled",
    "numberMisscheduled",
    "desiredNumberScheduled",
    "numberReady",
    "updatedNumberScheduled",
    "numberAvailable",
    "numberUnavailable",
)
_DAEMON_SET_REQUIRED = _DAEMON_SET[:4]
_INT64_DIGITS = 19
PROGRESS_DEADLINE_EXCEEDED = "ProgressDeadlineExceeded"
"""The reason of a member's condition Progressing when a rollout has stood still for its deadline."""


def _replicas(manifest: ReadOnlyManifest) -> tuple[int, ReplicaRequirements | None]:
    requirements = replica_requirements(mapping_at(manifest, "spec", "template", "spec"))
    return int_at(manifest, "spec", "replicas"), requirements


def _revise(manifest: Manifest, replicas: int) -> None:
    """Sets the replicas where the template says how many; else there is nothing to revise."""
    if value_at(manifest, "spec", "replicas") is not None:
        put(manifest, replicas, "spec", "replicas")


def _retain_replicas(desired: Manifest, observed: ReadOnlyManifest) -> None:
    """Retains replicas: with the label, an autoscaler in the member decides about replicas."""
    if text_at(desired, "metadata", "labels", RETAIN_REPLICAS_LABEL) == "true":
        take(desired, observed, "spec", "replicas")


def _reflect(manifest: ReadOnlyManifest, counts: Sequence[str]) -> Status:
    generations = {
        "generation": int_at(manifest, "metadata", "generation"),
        "resourceTemplateGeneration": template_generation(manifest),
    }
    return pick({**generations, **mapping_at(manifest, "status")}, (*generations, *counts))


def _reflect_deployment(manifest: ReadOnlyManifest) -> Status:
    """The counts, and that the rollout is late where the member's controller says so. Karmada: without the latter."""
    reasons = (text_at(condition, "reason") for condition in list_at(manifest, "status", "conditions"))
    late = {"type": "Progressing", "status": "False", "reason": PROGRESS_DEADLINE_EXCEEDED}
    is_late = PROGRESS_DEADLINE_EXCEEDED in reasons
    return {**_reflect(manifest, (*_DEPLOYMENT, "observedGeneration")), **({"conditions": [late]} if is_late else {})}


def template_generation(manifest: ReadOnlyManifest) -> int:
    """Generation of the template from the annotation; 0 when it is missing or no int64 (Karmada then reports no status
    at all). Holds: S10."""
    text = text_at(manifest, "metadata", "annotations", TEMPLATE_GENERATION_ANNOTATION)
    return int(text) if text.isdecimal() and len(text) <= _INT64_DIGITS else 0


def _aggregate(
    template: ReadOnlyManifest,
    items: Sequence[AggregatedStatusItem],
    counts: Sequence[str],
    required: Sequence[str],
    is_current: Callable[[AggregatedStatusItem, int], bool],
) -> Status:
    """The sums; what else the template's status says stays. It is observed when all members have observed it."""
    generation = int_at(template, "metadata", "generation")
    current = sum(is_current(item, generation) for item in items if item.status is not None)
    observed = generation if current == len(items) else int_at(template, "status", "observedGeneration")
    summed = (*counts, "observedGeneration")
    kept = {name: value for name, value in mapping_at(template, "status").items() if name not in summed}
    return {**kept, **total(items, counts, required), **({"observedGeneration": observed} if observed else {})}


def _is_current(item: AggregatedStatusItem, template_generation: int) -> bool:
    return _has_seen(_status_of(item), template_generation)


def _status_of(item: AggregatedStatusItem) -> Mapping[str, Any]:
    return mapping_at({"status": item.status}, "status")


def _has_seen(status: Mapping[str, Any], template_generation: int) -> bool:
    if int_at(status, "resourceTemplateGeneration") < template_generation:
        return False
    return int_at(status, "observedGeneration") >= int_at(status, "generation")


def _is_current_set(item: AggregatedStatusItem, template_generation: int) -> bool:
    """A set does not reflect what its member has observed; a healthy one has observed all that it was given.

    Karmada: differs. It compares with the member's own generation instead of the template's, and a set that does not
    say what it has observed has observed nothing: after its first change a template would never be rolled out.
    """
    status = _status_of(item)
    if _has_seen(status, int_at(status, "generation")):
        return True
    is_told = value_at(status, "observedGeneration") is not None
    is_well = item.health == ResourceHealth.HEALTHY
    return not is_told and is_well and int_at(status, "resourceTemplateGeneration") >= template_generation


def _has_observed(manifest: ReadOnlyManifest) -> bool:
    return int_at(manifest, "status", "observedGeneration") == int_at(manifest, "metadata", "generation")


def _is_rolled_out(manifest: ReadOnlyManifest) -> bool:
    updated = int_at(manifest, "status", "updatedReplicas")
    available = int_at(manifest, "status", "availableReplicas")
    return _has_observed(manifest) and updated >= int_at(manifest, "spec", "replicas") and available >= updated


def _is_replica_set_healthy(manifest: ReadOnlyManifest) -> bool:
    available = int_at(manifest, "status", "availableReplicas")
    return _has_observed(manifest) and available >= int_at(manifest, "spec", "replicas")


def _is_daemon_set_healthy(manifest: ReadOnlyManifest) -> bool:
    updated = int_at(manifest, "status", "updatedNumberScheduled")
    available = int_at(manifest, "status", "numberAvailable")
    return (
        _has_observed(manifest)
        and updated >= int_at(manifest, "status", "desiredNumberScheduled")
        and available >= updated
    )


DEPLOYMENT = Rules(
    replicas=_replicas,
    revise=_revise,
    reflect=_reflect_deployment,
    is_healthy=_is_rolled_out,
    aggregate=lambda template, items: _aggregate(template, items, _DEPLOYMENT, (), _is_current),
    retain=_retain_replicas,
    prune=lambda manifest: drop(manifest, "metadata", "annotations", "deployment.kubernetes.io/revision"),
    dependencies=template_dependencies,
)
REPLICA_SET = Rules(
    replicas=_replicas,
    revise=_revise,
    reflect=lambda manifest: _reflect(manifest, (*_REPLICA_SET, "observedGeneration")),
    is_healthy=_is_replica_set_healthy,
    aggregate=lambda template, items: _aggregate(template, items, _REPLICA_SET, ("replicas",), _is_current),
    dependencies=template_dependencies,
)
STATEFUL_SET = Rules(
    replicas=_replicas,
    revise=_revise,
    reflect=lambda manifest: _reflect(manifest, _STATEFUL_SET),
    is_healthy=_is_rolled_out,
    aggregate=lambda template, items: _aggregate(template, items, _STATEFUL_SET, ("replicas",), _is_current_set),
    dependencies=stateful_set_dependencies,
)
DAEMON_SET = Rules(
    reflect=lambda manifest: _reflect(manifest, (*_DAEMON_SET, "observedGeneration")),
    is_healthy=_is_daemon_set_healthy,
    aggregate=lambda template, items: _aggregate(template, items, _DAEMON_SET, _DAEMON_SET_REQUIRED, _is_current),
    dependencies=template_dependencies,
)
