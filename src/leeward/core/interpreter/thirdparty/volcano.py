"""Volcano Job: its tasks are components, and its state is what its phase says."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from kubeapi.meta import ReadOnlyManifest
from kubeapi.unstructured import mapping_at, mappings_at, text_at
from leeward.api.work import AggregatedStatusItem, Component
from leeward.core.interpreter.rules import InterpretationError, Rules, Status
from leeward.core.interpreter.thirdparty import aggregation
from leeward.core.interpreter.thirdparty.aggregation import Fold, Number, fold_statuses, number, reported
from leeward.core.interpreter.thirdparty.kruise import whole_count_at
from leeward.core.interpreter.thirdparty.pod_templates import component_requirements, pod_template
from leeward.core.interpreter.thirdparty.reflection import reflected

_GOOD_PHASES = ("Running", "Completed", "Pending", "Completing", "Restarting")
_COUNTS = ("pending", "running", "succeeded", "failed", "terminating", "unknown", "minAvailable")
_FIELDS = (
    *_COUNTS,
    "state",
    "taskStatusCount",
    "version",
    "retryCount",
    "runningDuration",
    "controlledResources",
    "conditions",
)
_UNITS = {"h": 3600, "m": 60, "s": 1, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
_DURATION_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|us|µs|ns|h|m|s)")


def _components(manifest: ReadOnlyManifest) -> tuple[Component, ...]:
    """Components of a job, one for each task, as many as must run together; a task without a name has its place's."""
    found: list[Component] = []
    for place, task in enumerate(mappings_at(manifest, "spec", "tasks")):
        name = task.get("name") or f"task-{place}"
        if not isinstance(name, str):
            raise InterpretationError(f"spec.tasks[{place}].name must be a text")
        template = pod_template(task, "template")
        needs = component_requirements(template)
        found.append(Component(name=name, replicas=whole_count_at(task, 1, "minAvailable"), replica_requirements=needs))
    return tuple(found)


def _seconds(duration: Any) -> float:
    """Seconds of a duration as Go prints it; 0 for what is none."""
    return sum(float(amount) * _UNITS[unit] for amount, unit in _DURATION_PART.findall(str(duration)))


def _longest(values: Sequence[Any], before: Any) -> Any:
    return max(values, key=_seconds) if values else None


def _pods(values: Sequence[Any], before: Any) -> Number | None:
    """Total of pods; nothing is said of what there is none of."""
    return aggregation.total_of(values) or None


def _phases(values: Sequence[Any], before: Any) -> Mapping[str, Any] | None:
    """The pods of each task, counted by phase."""
    tasks: dict[str, dict[str, dict[str, Number]]] = {}
    for value in values:
        for task, counts in mapping_at({"it": value}, "it").items():
            phases = tasks.setdefault(task, {"phase": {}})["phase"]
            for phase, amount in mapping_at(counts, "phase").items():
                phases[phase] = phases.get(phase, 0) + number(amount)
    return tasks or None


def _aggregate(template: ReadOnlyManifest, items: Sequence[AggregatedStatusItem]) -> Status | None:
    """One copy's status is the job's; those of several are added up."""
    if len(items) == 1:
        return dict(reported(items)[0])
    folds: dict[str, Fold] = {
        **dict.fromkeys(_COUNTS, _pods),
        "state": aggregation.latest,
        "taskStatusCount": _phases,
        "version": aggregation.greatest,
        "retryCount": aggregation.greatest,
        "runningDuration": _longest,
        "controlledResources": aggregation.merged,
        "conditions": aggregation.joined,
    }
    return fold_statuses(template, items, folds) if items else None


KINDS = {
    ("batch.volcano.sh/v1alpha1", "Job"): Rules(
        components=_components,
        reflect=lambda manifest: reflected(manifest, _FIELDS),
        is_healthy=lambda manifest: text_at(manifest, "status", "state", "phase") in _GOOD_PHASES,
        aggregate=_aggregate,
    )
}
