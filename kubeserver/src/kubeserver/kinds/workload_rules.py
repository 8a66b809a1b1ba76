"""The rules of Deployments and their like: a selector that fits the template, a strategy that can be carried out.

Kubernetes: pkg/apis/apps/validation; the same findings in the same order. Jobs are in `job_rules.py`.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kubeapi.diff import is_equal
from kubeapi.meta import Manifest
from kubeapi.selectors import matches
from kubeapi.status import Problem
from kubeserver.kinds.label_selectors import parsed, selector_problems
from kubeserver.kinds.pod_rules.texts import not_negative, one_of
from kubeserver.kinds.pod_templates import template_problems
from kubeserver.kinds.strategies import (
    daemon_strategy_problems,
    deployment_strategy_problems,
    stateful_strategy_problems,
)
from kubeserver.values import entries, section

_ALWAYS = ("Always",)
_FREE_OF_STATEFUL_SET = (
    "replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy", "minReadySeconds",
)  # fmt: skip


def validate_deployment(manifest: Manifest, old: Manifest | None) -> list[Problem]:
    spec = section(manifest, "spec")
    return [
        *_counts(spec, ("replicas",)),
        *_selected_template(spec, "deployment"),
        *deployment_strategy_problems(section(spec, "strategy"), "spec.strategy"),
        *_counts(spec, ("minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds")),
        *_deadline_problems(spec),
        *_selector_changed(spec, old),
    ]


def validate_replica_set(manifest: Manifest, old: Manifest | None) -> list[Problem]:
    spec = section(manifest, "spec")
    counts = _counts(spec, ("replicas", "minReadySeconds"))
    return [*counts, *_selected_template(spec, "replicaset"), *_selector_changed(spec, old)]


def validate_stateful_set(manifest: Manifest, old: Manifest | None) -> list[Problem]:
    spec = section(manifest, "spec")
    problems = [
        *_management_problems(spec),
        *stateful_strategy_problems(section(spec, "updateStrategy"), "spec.updateStrategy"),
        *_counts(spec, ("replicas", "minReadySeconds", "revisionHistoryLimit")),
        *_selected_template(spec, "statefulset"),
    ]
    if old is not None and not is_equal(_frozen_part(spec), _frozen_part(section(old, "spec"))):
        *most, last = (f"'{field}'" for field in _FREE_OF_STATEFUL_SET)
        said = f"updates to statefulset spec for fields other than {', '.join(most)} and {last} are forbidden"
        problems.append(Problem.forbidden("spec", said))
    return problems


def validate_daemon_set(manifest: Manifest, old: Manifest | None) -> list[Problem]:
    spec = section(manifest, "spec")
    return [
        *_selected_template(spec, "daemonset"),
        *_counts(spec, ("minReadySeconds",)),
        *daemon_strategy_problems(section(spec, "updateStrategy"), "spec.updateStrategy"),
        *_counts(spec, ("revisionHistoryLimit",)),
        *_selector_changed(spec, old),
    ]


def validate_deployment_status(manifest: Manifest, old: Manifest | None) -> list[Problem]:
    del old
    status = section(manifest, "status")
    counts = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas", "unavailableReplicas")
    problems = list(_counts(status, counts, "status"))
    replicas = status.get("replicas", 0)
    for field in ("updatedReplicas", "readyReplicas", "availableReplicas"):
        if status.get(field, 0) > replicas:
            said = "cannot be greater than status.replicas"
            problems.append(Problem.invalid(f"status.{field}", status.get(field, 0), said))
    if status.get("availableReplicas", 0) > status.get("readyReplicas", 0):
        said = "cannot be greater than readyReplicas"
        problems.append(Problem.invalid("status.availableReplicas", status["availableReplicas"], said))
    return problems


def validate_replication_controller(manifest: Manifest, old: Manifest | None) -> list[Problem]:
    del old
    spec = section(manifest, "spec")
    template, selector = spec.get("template"), section(spec, "selector")
    problems = list(_counts(spec, ("replicas", "minReadySeconds")))
    if not selector:
        problems.append(Problem.required("spec.selector"))
    if template is None:
        return [*problems, Problem.required("spec.template")]
    labels = section(section(template, "metadata"), "labels")
    if selector and not selector.items() <= labels.items():
        problems.append(_mismatch(labels))
    return [*problems, *template_problems(template, "spec.template"), *_restart_problems(template, "spec.template")]


def validate_controller_revision(manifest: Manifest, old: Manifest | None) -> list[Problem]:
    data = manifest.get("data")
    missing = [Problem.required("data", "data is mandatory")] if data is None else []
    problems = [*missing, *not_negative(manifest.get("revision", 0), "revision")]
    if old is not None and not is_equal(data, old.get("data")):
        problems.append(Problem.invalid("data", data, "field is immutable"))
    return problems


def _selected_template(spec: Mapping[str, Any], kind: str) -> Iterator[Problem]:
    """The selector, and the template where the selector can be read."""
    template, selector = section(spec, "template"), spec.get("selector")
    labels = section(section(template, "metadata"), "labels")
    if selector is None:
        if kind != "daemonset":
            yield Problem.required("spec.selector")
        yield _mismatch(labels)
    else:
        faults = list(selector_problems(selector, "spec.selector"))
        yield from faults
        if not selector.get("matchLabels") and not selector.get("matchExpressions"):
            yield Problem.invalid("spec.selector", selector, f"empty selector is invalid for {kind}")
        elif faults:
            yield Problem.invalid("spec.selector", selector, "invalid label selector")
            return
        elif not matches(parsed(selector), labels):
            yield _mismatch(labels)
    yield from template_problems(template, "spec.template", entries(spec, "volumeClaimTemplates"))
    yield from _restart_problems(template, "spec.template")


def _mismatch(labels: Mapping[str, str]) -> Problem:
    said = "`selector` does not match template `labels`"
    return Problem.invalid("spec.template.metadata.labels", dict(labels) or None, said)


def _restart_problems(template: Mapping[str, Any], path: str) -> Iterator[Problem]:
    """Problems with restarts: what runs on and on starts again whenever it ends, and has no deadline."""
    spec = section(template, "spec")
    yield from one_of(spec.get("restartPolicy"), _ALWAYS, f"{path}.spec.restartPolicy")
    if spec.get("activeDeadlineSeconds") is not None:
        said = "activeDeadlineSeconds in ReplicaSet is not Supported"
        yield Problem.forbidden(f"{path}.spec.activeDeadlineSeconds", said)


def _selector_changed(spec: Mapping[str, Any], old: Manifest | None) -> Iterator[Problem]:
    if old is not None and not is_equal(spec.get("selector"), old["spec"].get("selector")):
        yield Problem.invalid("spec.selector", spec.get("selector"), "field is immutable")


def _frozen_part(spec: Mapping[str, Any]) -> dict[str, Any]:
    return {field: value for field, value in spec.items() if field not in _FREE_OF_STATEFUL_SET}


def _deadline_problems(spec: Mapping[str, Any]) -> Iterator[Problem]:
    deadline = spec.get("progressDeadlineSeconds")
    if deadline is not None and deadline <= spec.get("minReadySeconds", 0):
        yield Problem.invalid("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds")


def _management_problems(spec: Mapping[str, Any]) -> Iterator[Problem]:
    policy = spec.get("podManagementPolicy")
    if policy not in ("OrderedReady", "Parallel"):
        yield Problem.invalid("spec.podManagementPolicy", policy, "must be 'OrderedReady' or 'Parallel'")


def _counts(holder: Mapping[str, Any], fields: Sequence[str], path: str = "spec") -> Iterator[Problem]:
    for field in fields:
        yield from not_negative(holder.get(field, 0), f"{path}.{field}")
