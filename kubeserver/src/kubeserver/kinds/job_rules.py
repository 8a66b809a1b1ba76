"""The rules of Jobs and CronJobs: what they count, how they end, and that a Job finds its own Pods and no others.

Kubernetes: pkg/apis/batch/validation; the same findings in the same order.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from kubeapi.diff import is_equal
from kubeapi.meta import Manifest
from kubeapi.selectors import matches
from kubeapi.status import Problem
from kubeserver.kinds.cron_schedules import schedule_fault, zone_fault
from kubeserver.kinds.label_selectors import parsed, selector_problems
from kubeserver.kinds.pod_rules.texts import not_negative, one_of
from kubeserver.kinds.pod_templates import template_problems
from kubeserver.kinds.workloads import UID_LABELS, own_labels
from kubeserver.values import entries, section

MAX_CRON_NAME = 52
ORPHANS = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set "
    "propagationPolicy=Orphan to suppress this warning"
)
_COUNTS = (
    "parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished",
    "backoffLimitPerIndex", "maxFailedIndexes",
)  # fmt: skip
_IMMUTABLE = ("selector", "completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy")
_OF_SUSPENDED = ("affinity", "nodeSelector", "schedulingGates", "tolerations")
_ACTIONS = ("Count", "FailIndex", "FailJob", "Ignore")


def validate_job(manifest: Manifest, old: Manifest | None) -> list[Problem]:
    spec = section(manifest, "spec")
    problems = [*_generated_problems(manifest), *_job_problems(spec, "spec"), *_selector_problems(spec)]
    return problems if old is None else [*problems, *_changed(manifest, old)]


def validate_cron_job(manifest: Manifest, old: Manifest | None) -> list[Problem]:
    spec = section(manifest, "spec")
    template, where = section(section(spec, "jobTemplate"), "spec"), "spec.jobTemplate.spec"
    policies = ("Allow", "Forbid", "Replace")
    problems = [
        *_schedule_problems(spec, section(old, "spec") if old is not None else {}),
        *one_of(spec["concurrencyPolicy"], policies, "spec.concurrencyPolicy"),
        *_counts(spec, ("startingDeadlineSeconds", "successfulJobsHistoryLimit", "failedJobsHistoryLimit"), "spec"),
        *_job_problems(template, where),
    ]
    if template.get("selector") is not None:
        said = "`selector` will be auto-generated"
        problems.append(Problem.invalid(f"{where}.selector", template["selector"], said))
    if template.get("manualSelector"):
        problems.append(Problem.not_supported(f"{where}.manualSelector", True, ("false", "nil")))
    if old is None and len(manifest["metadata"].get("name", "")) > MAX_CRON_NAME:
        said = f"must be no more than {MAX_CRON_NAME} characters"
        problems.append(Problem.invalid("metadata.name", manifest["metadata"]["name"], said))
    return problems


def _schedule_problems(spec: Mapping[str, Any], before: Mapping[str, Any]) -> Iterator[Problem]:
    """A schedule that was taken once may stay."""
    schedule, zone = spec.get("schedule", ""), spec.get("timeZone")
    if not schedule:
        yield Problem.required("spec.schedule")
    elif schedule != before.get("schedule") and (fault := schedule_fault(schedule)):
        yield Problem.invalid("spec.schedule", schedule, fault)
    if zone is not None and zone != before.get("timeZone") and (fault := zone_fault(zone)):
        yield Problem.invalid("spec.timeZone", zone, fault)


def _generated_problems(manifest: Manifest) -> Iterator[Problem]:
    """Problems of a Job's selector and labels, which, unless it says that it selects by hand, are those that were made
    for it."""
    spec = section(manifest, "spec")
    if spec.get("manualSelector") or spec.get("selector") is None:
        return
    labels, own = section(section(section(spec, "template"), "metadata"), "labels"), own_labels(manifest)
    for key, value in own.items():
        where, said = f"spec.template.metadata.labels[{key}]", f"must be '{value}'"
        if key not in labels:
            yield Problem.required(where, said)
        elif labels[key] != value:
            yield Problem.invalid(where, labels, said)
    if not list(selector_problems(spec["selector"], "")) and not matches(parsed(spec["selector"]), own):
        yield Problem.invalid("spec.selector", spec["selector"], "`selector` not auto-generated")


def _job_problems(spec: Mapping[str, Any], path: str) -> Iterator[Problem]:
    yield from _counts(spec, _COUNTS, path)
    yield from _index_problems(spec, path)
    yield from _policy_problems(spec, path)
    template, where = section(spec, "template"), f"{path}.template"
    yield from template_problems(template, where)
    policy = section(template, "spec").get("restartPolicy")
    if policy == "Always":
        yield Problem.required(f"{where}.spec.restartPolicy", 'valid values: "OnFailure", "Never"')
    else:
        yield from one_of(policy, ("OnFailure", "Never"), f"{where}.spec.restartPolicy")
    if "podFailurePolicy" in spec and policy != "Never":
        said = 'only "Never" is supported when podFailurePolicy is specified'
        yield Problem.invalid(f"{where}.spec.restartPolicy", policy, said)


def _index_problems(spec: Mapping[str, Any], path: str) -> Iterator[Problem]:
    """Problems of what only Jobs have whose Pods are numbered."""
    mode, completions = spec.get("completionMode", "NonIndexed"), spec.get("completions")
    yield from one_of(mode, ("Indexed", "NonIndexed"), f"{path}.completionMode")
    if mode == "Indexed":
        if completions is None:
            yield Problem.required(f"{path}.completions", "when completion mode is Indexed")
    elif "backoffLimitPerIndex" in spec:
        said = "requires indexed completion mode"
        yield Problem.invalid(f"{path}.backoffLimitPerIndex", spec["backoffLimitPerIndex"], said)
    failed = spec.get("maxFailedIndexes")
    if failed is not None and "backoffLimitPerIndex" not in spec:
        yield Problem.required(f"{path}.backoffLimitPerIndex", "when maxFailedIndexes is specified")
    if failed is not None and completions is not None and failed > completions:
        yield Problem.invalid(f"{path}.maxFailedIndexes", failed, "must be less than or equal to completions")


def _policy_problems(spec: Mapping[str, Any], path: str) -> Iterator[Problem]:
    replaced = spec.get("podReplacementPolicy")
    known = ("Failed",) if "podFailurePolicy" in spec else ("Failed", "TerminatingOrFailed")
    if replaced is not None:
        yield from one_of(replaced, known, f"{path}.podReplacementPolicy")
    for index, rule in enumerate(entries(section(spec, "podFailurePolicy"), "rules")):
        where = f"{path}.podFailurePolicy.rules[{index}]"
        yield from one_of(rule.get("action", ""), _ACTIONS, f"{where}.action")
        if ("onExitCodes" in rule) == bool(rule.get("onPodConditions")):
            said = "specifying one of OnExitCodes and OnPodConditions is required"
            both = "specifying both OnExitCodes and OnPodConditions is not supported"
            yield Problem.invalid(where, None, both if "onExitCodes" in rule else said)


def _selector_problems(spec: Mapping[str, Any]) -> Iterator[Problem]:
    selector = spec.get("selector")
    if selector is None:
        yield Problem.required("spec.selector")
        return
    faults = list(selector_problems(selector, "spec.selector"))
    yield from faults
    labels = section(section(section(spec, "template"), "metadata"), "labels")
    if not faults and not matches(parsed(selector), labels):
        said = "`selector` does not match template `labels`"
        yield Problem.invalid("spec.template.metadata.labels", labels, said)


def _changed(new: Manifest, old: Manifest) -> Iterator[Problem]:
    spec, before = section(new, "spec"), section(old, "spec")
    if not is_equal(spec.get("completions"), before.get("completions")) and not _is_elastic(spec):
        yield Problem.invalid("spec.completions", spec.get("completions"), "field is immutable")
    for field in _IMMUTABLE:
        if not is_equal(spec.get(field), before.get(field)):
            yield Problem.invalid(f"spec.{field}", spec.get(field), "field is immutable")
    may_move = bool(before.get("suspend")) and not section(old, "status").get("startTime")
    if not is_equal(_frozen_template(spec, may_move), _frozen_template(before, may_move)):
        yield Problem.invalid("spec.template", spec.get("template"), "field is immutable")


def _is_elastic(spec: Mapping[str, Any]) -> bool:
    """An indexed Job grows by as many completions as it runs side by side."""
    return spec.get("completionMode") == "Indexed" and is_equal(spec.get("completions"), spec.get("parallelism"))


def _frozen_template(spec: Mapping[str, Any], may_move: bool) -> Mapping[str, Any]:
    """The template, without what may be changed before a suspended Job has ever run: where its Pods go, and, since
    Kubernetes 1.36, the resources of its containers."""
    template = section(spec, "template")
    if not may_move:
        return template
    metadata, pod = section(template, "metadata"), section(template, "spec")
    kept = {key: value for key, value in metadata.items() if key not in ("labels", "annotations")}
    own = {key: value for key, value in section(metadata, "labels").items() if key in UID_LABELS}
    frozen = {key: value for key, value in pod.items() if key not in _OF_SUSPENDED}
    for key in ("containers", "initContainers"):
        frozen[key] = [{k: v for k, v in one.items() if k != "resources"} for one in entries(pod, key)]
    return {**kept, "own": own, "spec": frozen}


def _counts(holder: Mapping[str, Any], fields: tuple[str, ...], path: str) -> Iterator[Problem]:
    for field in fields:
        yield from not_negative(holder.get(field, 0), f"{path}.{field}")
