"""Job and CronJob, and the end of other kinds that are done once: another copy would do their work again."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kubeapi.meta import Manifest, ReadOnlyManifest
from kubeapi.unstructured import drop, int_at, list_at, mapping_at, mappings_at, pick, put, take, text_at, value_at
from leeward.api.work import AggregatedStatusItem, ManifestStatus, ReplicaRequirements
from leeward.core.interpreter.dependencies import scheduled_job_dependencies, template_dependencies
from leeward.core.interpreter.fields import statuses, total
from leeward.core.interpreter.plausible import plausible_count
from leeward.core.interpreter.pod_template import replica_requirements
from leeward.core.interpreter.rules import Rules, Status

_COUNTS = ("active", "succeeded", "failed")
_POD_LABELS = ("spec", "template", "metadata", "labels")
_GENERATED_LABELS = ("controller-uid", "job-name", "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name")

_DONE = {
    ("", "Pod"): (("phase",), "Succeeded", "Running"),
    ("argoproj.io", "Workflow"): (("phase",), "Succeeded", "Running"),
    ("batch.volcano.sh", "Job"): (("state", "phase"), "Completed", "Running"),
    ("flink.apache.org", "FlinkDeployment"): (("jobStatus", "state"), "FINISHED", ""),
    ("ray.io", "RayJob"): (("jobStatus",), "SUCCEEDED", "RUNNING"),
    ("sparkoperator.k8s.io", "SparkApplication"): (("applicationState", "state"), "COMPLETED", "RUNNING"),
    ("trainer.kubeflow.org", "TrainJob"): ((), "Complete", ""),
    **{("kubeflow.org", f"{name}Job"): ((), "Succeeded", "Running") for name in ("MPI", "PyTorch", "TF")},
}
"""Field of the status, its word for work that is done, and for work that runs, where that ends by itself. Without a
field, the condition that is True. A TrainJob tells the active ones of its Jobs."""
DONE_ONCE = frozenset({("batch", "Job"), *_DONE})


def as_job(told: ManifestStatus) -> Any:
    """The status as a Job would tell it; a Job's own as it is. What is always restarted serves: it has no end. A RayJob
    past its deadline keeps the word for a run."""
    if (known := _DONE.get((told.identifier.group, told.identifier.kind))) is None:
        return told.status
    (path, done, running), status = known, mapping_at({"status": told.status}, "status")
    true = [text_at(c, "type") for c in mappings_at(status, "conditions") if text_at(c, "status") == "True"]
    words = [text_at(status, *path)] if path else true
    if done in words:
        return {"conditions": [{"type": "Complete", "status": "True"}]}
    policy = text_at(status, "restartPolicy")
    ends = policy in ("Never", "OnFailure") if told.identifier.kind == "Pod" else policy != "Always"
    is_running = running and running in words and text_at(status, "jobDeploymentStatus") != "Failed"
    active = any(int_at(each, "active") for each in mappings_at(status, "jobsStatus"))
    return {"active": int(active or bool(ends and is_running))}


def has_done(told: ManifestStatus) -> bool | None:
    """Tells whether what is done once is complete; None where it has neither begun nor failed."""
    job = as_job(told)
    return says_complete(job) if says_finished(job) or says_under_way(job) else None


def _replicas(manifest: ReadOnlyManifest) -> tuple[int, ReplicaRequirements | None]:
    """Number of pods that may run at once, and what each needs."""
    replicas = int_at(manifest, "spec", "parallelism")
    if value_at(manifest, "spec", "completions") is not None:
        replicas = min(replicas, int_at(manifest, "spec", "completions"))
    return replicas, replica_requirements(mapping_at(manifest, "spec", "template", "spec"))


def _revise(manifest: Manifest, replicas: int) -> None:
    if value_at(manifest, "spec", "parallelism") is not None:
        put(manifest, replicas, "spec", "parallelism")


def _aggregate(template: ReadOnlyManifest, items: Sequence[AggregatedStatusItem]) -> Status | None:
    """The sums; finished when one cluster failed or all succeeded. A finished Job stays as it is.

    It has begun, and is complete, when each cluster has said since when. What conditions say of anything else than its
    end is not about the Job as a whole, and goes.
    """
    old = mapping_at(template, "status")
    if _outcome(old):
        return None
    reported = statuses(items)
    starts, completions = _texts(reported, "startTime"), _texts(reported, "completionTime")
    start = text_at(old, "startTime") or (min(starts, default="") if len(starts) == len(items) else "")
    completion = max(completions, default="") if len(completions) == len(items) else ""
    return pick(
        {**total(items, _COUNTS), "startTime": start, "completionTime": completion, "conditions": _finished(items)},
        (*_COUNTS, "startTime", "completionTime", "conditions"),
    )


def _finished(items: Sequence[AggregatedStatusItem]) -> list[Mapping[str, str]]:
    """A kube-apiserver since 1.31 accepts the end of a Job only beside the condition that led to it: `FailureTarget`,
    or `SuccessCriteriaMet`. They are told where the members tell them."""
    reported = {item.cluster_name: mapping_at({"status": item.status}, "status") for item in items}
    outcomes = {name: _outcome(status) for name, status in reported.items()}
    failed = [name for name, outcome in outcomes.items() if outcome.get("type") == "Failed"]
    if failed:
        message = f"Job executed failed in member clusters {','.join(failed)}"
        causes = ["FailureTarget"] if any(_is_true(status, "FailureTarget") for status in reported.values()) else []
        return [_condition(kind, "JobFailed", message, outcomes.values()) for kind in (*causes, "Failed")]
    if not items or any(outcome.get("type") != "Complete" for outcome in outcomes.values()):
        return []
    complete = [_condition("Complete", "Completed", "Job completed", outcomes.values())]
    if all(_is_true(status, "SuccessCriteriaMet") for status in reported.values()):
        message = "All member clusters have met success criteria"
        complete.append(_condition("SuccessCriteriaMet", "CompletionsReached", message, outcomes.values()))
    return complete


def _condition(kind: str, reason: str, message: str, outcomes: Iterable[Mapping[str, Any]]) -> Mapping[str, str]:
    """Dated as the last of the clusters' own conditions."""
    since = max(_texts(outcomes, "lastTransitionTime"), default="")
    dated = {"lastProbeTime": since, "lastTransitionTime": since} if since else {}
    return {"type": kind, "status": "True", "reason": reason, "message": message, **dated}


def says_finished(status: Any) -> bool:
    """Tells whether this status of a Job says that it is finished."""
    return bool(_outcome(mapping_at({"status": status}, "status")))


def says_complete(status: Any) -> bool:
    """Tells whether this status of a Job says that it has done its work."""
    return _outcome(mapping_at({"status": status}, "status")).get("type") == "Complete"


def says_done(status: Any, jobs: Iterable[ReadOnlyManifest]) -> bool:
    """Tells whether it says so, and that as many have succeeded as `jobs` ask for, where it tells how many have."""
    told = mapping_at({"status": status}, "status").get("succeeded")
    return says_complete(status) and (told is None or plausible_count(told) >= _completions_of(jobs))


def says_over(status: Any, jobs: Iterable[ReadOnlyManifest]) -> bool:
    """Tells whether it says that nothing more comes of `jobs`: they have failed, or are done (`says_done`)."""
    return (says_finished(status) and not says_complete(status)) or says_done(status, jobs)


def _completions_of(jobs: Iterable[ReadOnlyManifest]) -> int:
    """Completions that each of these Jobs asks for; 0 where a policy of the Job decides when it has succeeded."""
    asked = (0 if mapping_at(each, "spec", "successPolicy") else int_at(each, "spec", "completions") for each in jobs)
    return min(asked, default=0)


def says_under_way(status: Any) -> bool:
    """Tells whether this status of a Job says that a part of its work is done or runs, and that it is not finished.

    One whose Pods all wait has begun nothing, whatever has failed before. A member that does not tell which Pods are
    ready counts those that are active."""
    known = mapping_at({"status": status}, "status")
    running = "ready" if "ready" in known else "active"
    return not _outcome(known) and any(plausible_count(known.get(name)) for name in (running, "succeeded"))


def _outcome(status: Mapping[str, Any]) -> Mapping[str, Any]:
    """The first condition that says that the Job is finished."""
    for condition in list_at(status, "conditions"):
        if text_at(condition, "type") in ("Complete", "Failed") and text_at(condition, "status") == "True":
            return condition
    return {}


def _is_true(status: Mapping[str, Any], kind: str) -> bool:
    """Tells whether the condition is there, and true."""
    conditions = ((text_at(c, "type"), text_at(c, "status")) for c in list_at(status, "conditions"))
    return (kind, "True") in conditions


def _texts(sources: Iterable[Mapping[str, Any]], name: str) -> list[str]:
    return [text for source in sources if (text := text_at(source, name))]


def _retain(desired: Manifest, observed: ReadOnlyManifest) -> None:
    """The selector and the pods' labels are generated by the member, and immutable."""
    take(desired, observed, "spec", "selector")
    take(desired, observed, *_POD_LABELS)


def _prune(manifest: Manifest) -> None:
    if value_at(manifest, "spec", "manualSelector") is not True:
        for label in _GENERATED_LABELS:
            drop(manifest, "spec", "selector", "matchLabels", label)
            drop(manifest, *_POD_LABELS, label)
    drop(manifest, "spec", "ttlSecondsAfterFinished")


def _reflect_cron_job(manifest: ReadOnlyManifest) -> Status:
    return pick(mapping_at(manifest, "status"), ("active", "lastScheduleTime", "lastSuccessfulTime"))


def _aggregate_cron_job(template: ReadOnlyManifest, items: Sequence[AggregatedStatusItem]) -> Status:
    reported = statuses(items)
    latest = {name: max(_texts(reported, name), default="") for name in ("lastScheduleTime", "lastSuccessfulTime")}
    active = [job for status in reported for job in list_at(status, "active")]
    return pick({"active": active, **latest}, ("active", *latest))


JOB = Rules(
    replicas=_replicas,
    revise=_revise,
    reflect=lambda manifest: pick(
        mapping_at(manifest, "status"), (*_COUNTS, "conditions", "startTime", "completionTime")
    ),
    aggregate=_aggregate,
    retain=_retain,
    prune=_prune,
    dependencies=template_dependencies,
)
CRON_JOB = Rules(reflect=_reflect_cron_job, aggregate=_aggregate_cron_job, dependencies=scheduled_job_dependencies)
