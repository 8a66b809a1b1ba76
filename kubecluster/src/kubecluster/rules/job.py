"""A Job: how many Pods it still needs, whether it has ended, and its status.

Kubernetes: pkg/controller/job. Same for counts, deadline, back-off limit and suspension; completion indexes, pod
failure policies and pauses between retries are left out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from kubeapi.meta import Manifest, ReadOnlyManifest, format_time, parse_time
from kubeapi.unstructured import int_at, list_at, pick, text_at, value_at
from kubecluster.rules.conditions import Condition, put_condition
from kubecluster.rules.pods import condition_of, deletion_rank, is_active, is_leaving, is_ready
from kubecluster.rules.templates import render_pod

_BACKOFF_LIMIT = 6
_COUNTS = ("active", "terminating", "succeeded", "failed")
_COMPLETED = ("CompletionsReached", "Reached expected number of succeeded pods")
_EXHAUSTED = ("BackoffLimitExceeded", "Job has reached the specified backoff limit")
_TOO_LONG = ("DeadlineExceeded", "Job was active longer than specified deadline")


@dataclass(frozen=True, slots=True)
class Steps:
    """Number of Pods to create, and the Pods to delete."""

    create: int = 0
    delete: tuple[Manifest, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """End of a Job: `condition_type` is Complete or Failed."""

    condition_type: str
    reason: str
    message: str


def is_ended(job: ReadOnlyManifest) -> bool:
    return any(condition_of(job, kind).get("status") == "True" for kind in ("Complete", "Failed"))


def decide_outcome(job: ReadOnlyManifest, pods: Sequence[ReadOnlyManifest], now: datetime) -> Outcome | None:
    """None while it goes on."""
    counts = _counts(job, pods)
    completions = value_at(job, "spec", "completions")
    if counts["failed"] > _backoff_limit(job):
        return Outcome("Failed", *_EXHAUSTED)
    deadline = active_deadline(job)
    if deadline is not None and deadline <= now:
        return Outcome("Failed", *_TOO_LONG)
    if isinstance(completions, int):
        is_done = counts["succeeded"] >= completions
    else:
        is_done = counts["succeeded"] > 0 and counts["active"] == 0
    return Outcome("Complete", *_COMPLETED) if is_done else None


def decide_steps(job: ReadOnlyManifest, pods: Sequence[Manifest], outcome: Outcome | None) -> Steps:
    """Decides for as many active Pods as parallelism and what is missing allow; none when it has ended or is
    suspended."""
    active = sorted((pod for pod in pods if is_active(pod)), key=deletion_rank)
    wanted = 0 if outcome or is_suspended(job) else _wanted(job, pods)
    return Steps(max(0, wanted - len(active)), tuple(active[: max(0, len(active) - wanted)]))


def is_suspended(job: ReadOnlyManifest) -> bool:
    return value_at(job, "spec", "suspend") is True


def active_deadline(job: ReadOnlyManifest) -> datetime | None:
    """Instant at which a Job that has started fails for its activeDeadlineSeconds."""
    seconds, started = value_at(job, "spec", "activeDeadlineSeconds"), text_at(job, "status", "startTime")
    if not isinstance(seconds, int) or not started or is_suspended(job):
        return None
    return parse_time(started) + timedelta(seconds=seconds)


def render_job_pod(job: ReadOnlyManifest) -> Manifest:
    name, uid = job["metadata"]["name"], job["metadata"]["uid"]
    labels = {
        "batch.kubernetes.io/controller-uid": uid,
        "batch.kubernetes.io/job-name": name,
        "controller-uid": uid,
        "job-name": name,
    }
    return render_pod(job, labels)


def job_status(
    job: ReadOnlyManifest, pods: Sequence[ReadOnlyManifest], outcome: Outcome | None, now: datetime
) -> Manifest:
    counts, stamp = dict(_counts(job, pods)), format_time(now)
    if outcome:
        counts |= {"active": 0, "terminating": 0}
    started = "" if is_suspended(job) else text_at(job, "status", "startTime") or stamp
    conditions = list_at(job, "status", "conditions")
    for condition in _conditions(job, outcome):
        conditions = put_condition(conditions, condition, now)
    completed = {"completionTime": stamp} if outcome and outcome.condition_type == "Complete" else {}
    return {
        **pick({**counts, "startTime": started}, (*_COUNTS, "startTime")),
        "ready": 0 if outcome else sum(is_ready(pod) for pod in pods if is_active(pod)),
        **completed,
        "uncountedTerminatedPods": {},
        **({"conditions": conditions} if conditions else {}),
    }


def _conditions(job: ReadOnlyManifest, outcome: Outcome | None) -> Sequence[Condition]:
    if outcome:
        verdict = "SuccessCriteriaMet" if outcome.condition_type == "Complete" else "FailureTarget"
        said = {"status": "True", "reason": outcome.reason, "message": outcome.message}
        return [{"type": verdict, **said}, {"type": outcome.condition_type, **said}]
    if is_suspended(job):
        return [{"type": "Suspended", "status": "True", "reason": "JobSuspended", "message": "Job suspended"}]
    if condition_of(job, "Suspended"):
        return [{"type": "Suspended", "status": "False", "reason": "JobResumed", "message": "Job resumed"}]
    return []


def _counts(job: ReadOnlyManifest, pods: Sequence[ReadOnlyManifest]) -> Mapping[str, int]:
    """Counts of a Job's Pods; a Pod that was counted stays counted when it is gone."""
    phases = [text_at(pod, "status", "phase") for pod in pods]
    return {
        "active": sum(is_active(pod) for pod in pods),
        "terminating": sum(is_leaving(pod) for pod in pods),
        "succeeded": max(phases.count("Succeeded"), int_at(job, "status", "succeeded")),
        "failed": max(phases.count("Failed"), int_at(job, "status", "failed")),
    }


def _wanted(job: ReadOnlyManifest, pods: Sequence[ReadOnlyManifest]) -> int:
    parallelism, completions = value_at(job, "spec", "parallelism"), value_at(job, "spec", "completions")
    parallelism = parallelism if isinstance(parallelism, int) else 1
    counts = _counts(job, pods)
    if isinstance(completions, int):
        return max(0, min(parallelism, completions - counts["succeeded"]))
    return counts["active"] if counts["succeeded"] else parallelism


def _backoff_limit(job: ReadOnlyManifest) -> int:
    limit = value_at(job, "spec", "backoffLimit")
    return limit if isinstance(limit, int) else _BACKOFF_LIMIT
