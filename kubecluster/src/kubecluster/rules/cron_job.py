"""A CronJob: which Job is due, which ones give way to it or to the limits of the history, and its status.

Kubernetes: pkg/controller/cronjob. Same, but that a schedule with `@every` counts from the last run.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from kubeapi.codec import copy_manifest
from kubeapi.meta import Manifest, ReadOnlyManifest, format_time, parse_time
from kubeapi.unstructured import mapping_at, text_at, value_at
from kubecluster.rules.cron_schedule import last_due, next_due
from kubecluster.rules.job import is_ended
from kubecluster.rules.owners import owner_reference
from kubecluster.rules.pods import condition_of

SCHEDULED_AT = "batch.kubernetes.io/cronjob-scheduled-timestamp"
MAX_MISSED = 100
_SUCCESSFUL, _FAILED = 3, 1


@dataclass(frozen=True, slots=True)
class CronSteps:
    """`due` is the instant of the Job that is to be created now; `reason` and `message` are an event, if any."""

    due: datetime | None = None
    delete: tuple[Manifest, ...] = ()
    wake_at: datetime | None = None
    reason: str = ""
    message: str = ""


def decide_cron(cron_job: ReadOnlyManifest, jobs: Sequence[Manifest], now: datetime) -> CronSteps:
    """`jobs` are all that it controls."""
    expired = expired_jobs(cron_job, jobs)
    if value_at(cron_job, "spec", "suspend") is True:
        return CronSteps(delete=expired)
    schedule, zone = text_at(cron_job, "spec", "schedule"), text_at(cron_job, "spec", "timeZone")
    wake_at = next_due(schedule, zone, now)
    due, missed = last_due(schedule, zone, _since(cron_job, now), now)
    if due is None:
        return CronSteps(delete=expired, wake_at=wake_at)
    deadline = value_at(cron_job, "spec", "startingDeadlineSeconds")
    if isinstance(deadline, int) and due + timedelta(seconds=deadline) < now:
        message = f"Missed scheduled time to start a job: {format_time(due)}"
        return CronSteps(delete=expired, wake_at=wake_at, reason="MissSchedule", message=message)
    active = tuple(job for job in jobs if not is_ended(job))
    policy = text_at(cron_job, "spec", "concurrencyPolicy")
    if active and policy == "Forbid":
        message = "Not starting job because prior execution is running and concurrency policy is Forbid"
        return CronSteps(delete=expired, wake_at=wake_at, reason="JobAlreadyActive", message=message)
    replaced = active if policy == "Replace" else ()
    reason = "TooManyMissedTimes" if missed > MAX_MISSED else ""
    message = f"too many missed start times: more than {MAX_MISSED}" if reason else ""
    return CronSteps(due, (*expired, *replaced), wake_at, reason, message)


def render_job(cron_job: ReadOnlyManifest, due: datetime) -> Manifest:
    """The Job of one instant; its name follows from it, so that it is not made twice."""
    template = mapping_at(cron_job, "spec", "jobTemplate")
    metadata = cron_job["metadata"]
    zone_note = {SCHEDULED_AT: format_time(due)}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": f"{metadata['name']}-{int(due.timestamp()) // 60}",
            "namespace": metadata["namespace"],
            "labels": dict(mapping_at(template, "metadata", "labels")),
            "annotations": {**mapping_at(template, "metadata", "annotations"), **zone_note},
            "ownerReferences": [owner_reference(cron_job)],
        },
        "spec": copy_manifest(mapping_at(template, "spec")),
    }


def cron_job_status(cron_job: ReadOnlyManifest, jobs: Sequence[ReadOnlyManifest], due: datetime | None) -> Manifest:
    """`due`: the instant of the Job that was created just now."""
    active = [_reference(job) for job in jobs if not is_ended(job)]
    known = mapping_at(cron_job, "status")
    last = format_time(due) if due is not None else text_at(known, "lastScheduleTime")
    done = [text_at(job, "status", "completionTime") for job in jobs]
    successful = max((text_at(known, "lastSuccessfulTime"), *done))
    return {
        **({"active": active} if active else {}),
        **({"lastScheduleTime": last} if last else {}),
        **({"lastSuccessfulTime": successful} if successful else {}),
    }


def expired_jobs(cron_job: ReadOnlyManifest, jobs: Sequence[Manifest]) -> tuple[Manifest, ...]:
    """Ended Jobs beyond the limits of the history, the oldest first."""
    by_age = sorted(jobs, key=lambda job: (text_at(job, "status", "startTime"), job["metadata"]["name"]))
    expired: list[Manifest] = []
    limits = (("Complete", "successfulJobsHistoryLimit", _SUCCESSFUL), ("Failed", "failedJobsHistoryLimit", _FAILED))
    for condition_type, field, default in limits:
        ended = [job for job in by_age if condition_of(job, condition_type).get("status") == "True"]
        limit = value_at(cron_job, "spec", field)
        expired += ended[: max(0, len(ended) - (limit if isinstance(limit, int) else default))]
    return tuple(expired)


def _since(cron_job: ReadOnlyManifest, now: datetime) -> datetime:
    """Instant from which instants count that have not been served."""
    last = text_at(cron_job, "status", "lastScheduleTime") or cron_job["metadata"]["creationTimestamp"]
    deadline = value_at(cron_job, "spec", "startingDeadlineSeconds")
    earliest = parse_time(last)
    return max(earliest, now - timedelta(seconds=deadline)) if isinstance(deadline, int) else earliest


def _reference(job: ReadOnlyManifest) -> Mapping[str, Any]:
    metadata = job["metadata"]
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "name": metadata["name"],
        "namespace": metadata["namespace"],
        "uid": metadata["uid"],
        "resourceVersion": metadata["resourceVersion"],
    }
