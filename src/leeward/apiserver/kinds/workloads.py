"""Deployments and their like: defaults and rules of everything with a selector and a pod template."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from leeward.api.meta import LabelSelector, LabelSelectorRequirement, Manifest
from leeward.api.selectors import matches, selector_of
from leeward.api.status import Problem
from leeward.apiserver.kinds.kind import Validate
from leeward.apiserver.kinds.names import label_value, qualified_name
from leeward.apiserver.kinds.pods import default_pod_spec, validate_pod_spec
from leeward.apiserver.values import grown, section

_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")


def _spec(manifest: Manifest) -> dict[str, Any]:
    return grown(manifest, "spec")


def _default_template(spec: dict[str, Any]) -> None:
    template = grown(spec, "template")
    template.setdefault("metadata", {})
    default_pod_spec(grown(template, "spec"))


def default_deployment(manifest: Manifest) -> None:
    spec = _spec(manifest)
    _default_template(spec)
    spec.setdefault("replicas", 1)
    spec.setdefault("revisionHistoryLimit", 10)
    spec.setdefault("progressDeadlineSeconds", 600)
    strategy = grown(spec, "strategy")
    if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
        rolling = grown(strategy, "rollingUpdate")
        rolling.setdefault("maxUnavailable", "25%")
        rolling.setdefault("maxSurge", "25%")
    manifest.setdefault("status", {})


def default_replica_set(manifest: Manifest) -> None:
    spec = _spec(manifest)
    _default_template(spec)
    spec.setdefault("replicas", 1)
    manifest.setdefault("status", {"replicas": 0})


def default_replication_controller(manifest: Manifest) -> None:
    spec = _spec(manifest)
    _default_template(spec)
    spec.setdefault("replicas", 1)
    labels = spec["template"]["metadata"].get("labels")
    if labels and not spec.get("selector"):
        spec["selector"] = dict(labels)
    manifest.setdefault("status", {"replicas": 0})


def default_stateful_set(manifest: Manifest) -> None:
    spec = _spec(manifest)
    _default_template(spec)
    spec.setdefault("replicas", 1)
    spec.setdefault("revisionHistoryLimit", 10)
    spec.setdefault("podManagementPolicy", "OrderedReady")
    retention = {"whenDeleted": "Retain", "whenScaled": "Retain"}
    spec.setdefault("persistentVolumeClaimRetentionPolicy", retention)
    strategy = grown(spec, "updateStrategy")
    if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
        strategy.setdefault("rollingUpdate", {}).setdefault("partition", 0)
    manifest.setdefault("status", {"replicas": 0, "availableReplicas": 0})


def default_daemon_set(manifest: Manifest) -> None:
    spec = _spec(manifest)
    _default_template(spec)
    spec.setdefault("revisionHistoryLimit", 10)
    strategy = grown(spec, "updateStrategy")
    if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
        rolling = grown(strategy, "rollingUpdate")
        rolling.setdefault("maxUnavailable", 1)
        rolling.setdefault("maxSurge", 0)
    counts = ("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady")
    manifest.setdefault("status", dict.fromkeys(counts, 0))


def default_job(manifest: Manifest) -> None:
    spec = _spec(manifest)
    _default_job_spec(spec)
    manifest.setdefault("status", {})


def complete_job(manifest: Manifest) -> None:
    """A Job selects its own Pods."""
    spec = _spec(manifest)
    uid, name = manifest["metadata"].get("uid", ""), manifest["metadata"].get("name", "")
    if not spec.get("manualSelector") and not spec.get("selector"):
        own = {"batch.kubernetes.io/controller-uid": uid}
        spec["selector"] = {"matchLabels": own}
        labels = {"controller-uid": uid, "job-name": name, "batch.kubernetes.io/job-name": name, **own}
        template = spec["template"]["metadata"]
        template["labels"] = {**section(template, "labels"), **labels}


def _default_job_spec(spec: dict[str, Any]) -> None:
    _default_template(spec)
    if "completions" not in spec and "parallelism" not in spec:
        spec["completions"] = 1
    spec.setdefault("parallelism", 1)
    spec.setdefault("backoffLimit", 6)
    spec.setdefault("completionMode", "NonIndexed")
    spec.setdefault("suspend", False)
    spec.setdefault("manualSelector", False)
    spec.setdefault("podReplacementPolicy", "TerminatingOrFailed")
    if not spec["manualSelector"]:
        del spec["manualSelector"]


def default_cron_job(manifest: Manifest) -> None:
    spec = _spec(manifest)
    template = grown(spec, "jobTemplate")
    template.setdefault("metadata", {})
    job = grown(template, "spec")
    _default_template(job)
    spec.setdefault("concurrencyPolicy", "Allow")
    spec.setdefault("suspend", False)
    spec.setdefault("successfulJobsHistoryLimit", 3)
    spec.setdefault("failedJobsHistoryLimit", 1)
    manifest.setdefault("status", {})


def validator(kind: str, restart: Sequence[str] = ("Always",)) -> Validate:
    """The rules of a workload with a required, immutable selector."""

    def validate(manifest: Manifest, old: Manifest | None) -> list[Problem]:
        spec = _spec(manifest)
        problems = [*_count_problems(spec), *_selector_problems(spec, kind), *_template_problems(spec, restart)]
        if old is not None and spec.get("selector") != old["spec"].get("selector"):
            problems.append(Problem.invalid("spec.selector", spec.get("selector"), "field is immutable"))
        return problems

    return validate


def validate_deployment_status(manifest: Manifest, old: Manifest | None) -> list[Problem]:
    del old
    status = section(manifest, "status")
    counts = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas", "unavailableReplicas")
    problems = list(_not_negative(status, counts, "status"))
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
    spec = _spec(manifest)
    problems = [*_count_problems(spec), *_template_problems(spec, ("Always",))]
    labels: Mapping[str, str] = spec["template"]["metadata"].get("labels") or {}
    selector: Mapping[str, str] = spec.get("selector") or {}
    if not selector:
        problems.append(Problem.required("spec.selector"))
    elif not selector.items() <= labels.items():
        problems.append(_mismatch(labels))
    return problems


def validate_job(manifest: Manifest, old: Manifest | None) -> list[Problem]:
    spec = _spec(manifest)
    counts = ("parallelism", "completions", "backoffLimit", "activeDeadlineSeconds", "ttlSecondsAfterFinished")
    problems = [
        *_not_negative(spec, counts, "spec"),
        *_selector_problems(spec, "Job"),
        *_template_problems(spec, ("OnFailure", "Never")),
    ]
    if old is not None:
        for field in ("selector", "template", "completionMode"):
            if spec.get(field) != old["spec"].get(field):
                problems.append(Problem.invalid(f"spec.{field}", spec.get(field), "field is immutable"))
    return problems


def validate_cron_job(manifest: Manifest, old: Manifest | None) -> list[Problem]:
    del old
    spec = _spec(manifest)
    problems: list[Problem] = []
    if not spec.get("schedule"):
        problems.append(Problem.required("spec.schedule"))
    elif len(spec["schedule"].split()) != 5 and not spec["schedule"].startswith("@"):
        said = "must have five fields (minute, hour, day of month, month, day of week), or be a macro such as @daily"
        problems.append(Problem.invalid("spec.schedule", spec["schedule"], said))
    policies = ("Allow", "Forbid", "Replace")
    if spec["concurrencyPolicy"] not in policies:
        problems.append(Problem.not_supported("spec.concurrencyPolicy", spec["concurrencyPolicy"], policies))
    job: Mapping[str, Any] = spec["jobTemplate"]["spec"]
    return [*problems, *_template_problems(job, ("OnFailure", "Never"), "spec.jobTemplate.spec.template")]


def _count_problems(spec: Mapping[str, Any]) -> Iterator[Problem]:
    fields = ("replicas", "minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds")
    yield from _not_negative(spec, fields, "spec")


def _not_negative(spec: Mapping[str, Any], fields: Sequence[str], path: str) -> Iterator[Problem]:
    for field in fields:
        if spec.get(field, 0) < 0:
            yield Problem.invalid(f"{path}.{field}", spec[field], "must be greater than or equal to 0")


def _selector_problems(spec: Mapping[str, Any], kind: str) -> Iterator[Problem]:
    labels: dict[str, str] = spec["template"]["metadata"].get("labels") or {}
    selector: dict[str, Any] | None = spec.get("selector")
    if selector is None:
        yield Problem.required("spec.selector")
        yield _mismatch(labels)
        return
    faults = list(_expression_problems(selector, "spec.selector"))
    yield from faults
    if not selector.get("matchLabels") and not selector.get("matchExpressions"):
        yield Problem.invalid("spec.selector", selector, f"empty selector is invalid for {kind.lower()}")
    elif faults:
        yield Problem.invalid("spec.selector", selector, "invalid label selector")
    elif not matches(selector_of(_label_selector(selector)), labels):
        yield _mismatch(labels)


def _mismatch(labels: Mapping[str, str]) -> Problem:
    said = "`selector` does not match template `labels`"
    return Problem.invalid("spec.template.metadata.labels", dict(labels), said)


def _expression_problems(selector: Mapping[str, Any], path: str) -> Iterator[Problem]:
    for index, expression in enumerate(selector.get("matchExpressions") or ()):
        where, operator = f"{path}.matchExpressions[{index}]", expression.get("operator", "")
        if operator not in _OPERATORS:
            yield Problem.invalid(f"{where}.operator", operator, "not a valid selector operator")
        elif operator in ("In", "NotIn") and not expression.get("values"):
            said = "must be specified when `operator` is 'In' or 'NotIn'"
            yield Problem.required(f"{where}.values", said)
        elif operator in ("Exists", "DoesNotExist") and expression.get("values"):
            said = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            yield Problem.forbidden(f"{where}.values", said)


def _label_selector(selector: Mapping[str, Any]) -> LabelSelector:
    expressions = tuple(
        LabelSelectorRequirement(
            key=e.get("key", ""), operator=e.get("operator", ""), values=tuple(e.get("values") or ())
        )
        for e in selector.get("matchExpressions") or ()
    )
    return LabelSelector(match_labels=selector.get("matchLabels") or {}, match_expressions=expressions)


def _template_problems(
    spec: Mapping[str, Any], restart: Sequence[str], path: str = "spec.template"
) -> Iterator[Problem]:
    labels: Mapping[str, str] = spec["template"]["metadata"].get("labels") or {}
    for key, value in labels.items():
        yield from _label_faults(qualified_name, key, path)
        yield from _label_faults(label_value, value, path)
    yield from validate_pod_spec(spec["template"]["spec"], f"{path}.spec", restart)


def _label_faults(rule: Callable[[str], list[str]], text: str, path: str) -> Iterator[Problem]:
    yield from (Problem.invalid(f"{path}.labels", text, said) for said in rule(text))
