"""Pods, and what makes them or looks after them."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, cast

from kubeapi.meta import ReadOnlyManifest, exact_time
from kubeserver.kinds.autoscaler_targets import targets
from kubeserver.kinds.columns import (
    AGE,
    NONE,
    age,
    at,
    condition_status,
    containers,
    count,
    described,
    duration,
    field,
    label_selector,
    labels,
    since,
    text,
)
from kubeserver.kinds.kind import Column


def _pod_ready(pod: ReadOnlyManifest) -> str:
    statuses = cast(Sequence[Mapping[str, Any]], at(pod, "status.containerStatuses", ()))
    total = len(at(pod, "spec.containers", ()))
    return f"{sum(1 for status in statuses if status.get('ready'))}/{total}"


def _pod_status(pod: ReadOnlyManifest) -> str:
    """The phase, or the reason of the first container that says one."""
    if at(pod, "metadata.deletionTimestamp"):
        return "Unknown" if at(pod, "status.reason") == "NodeLost" else "Terminating"
    for status in reversed(cast(Sequence[Mapping[str, Any]], at(pod, "status.containerStatuses", ()))):
        reason = at(status, "state.waiting.reason") or at(status, "state.terminated.reason")
        if reason:
            return reason
    return at(pod, "status.reason") or at(pod, "status.phase", "")


def _pod_restarts(pod: ReadOnlyManifest, now: datetime) -> str:
    statuses = cast(Sequence[Mapping[str, Any]], at(pod, "status.containerStatuses", ()))
    restarts = sum(status.get("restartCount", 0) for status in statuses)
    last = max((at(status, "lastState.terminated.finishedAt") or "" for status in statuses), default="")
    return f"{restarts} ({age(last, now)} ago)" if restarts and last else str(restarts)


def _readiness_gates(pod: ReadOnlyManifest) -> str:
    gates = at(pod, "spec.readinessGates") or ()
    passed = sum(condition_status(pod, gate.get("conditionType", "")) == "True" for gate in gates)
    return f"{passed}/{len(gates)}" if gates else NONE


def pod_conclusion(pod: ReadOnlyManifest) -> tuple[str, str] | None:
    """Reason for which a Pod has come to its end, and what is to be said about it."""
    phase = at(pod, "status.phase", "")
    said = {"Succeeded": "The pod has completed successfully.", "Failed": "The pod failed."}.get(phase)
    return (phase, said) if said else None


def _ready_of(ready: str, total: str) -> Any:
    return text(lambda m: f"{at(m, ready, 0)}/{at(m, total, 0)}")


def _job_status(job: ReadOnlyManifest) -> str:
    for condition, shown in (("Complete", "Complete"), ("Failed", "Failed"), ("Suspended", "Suspended")):
        if condition_status(job, condition) == "True":
            return shown
    return "Terminating" if at(job, "metadata.deletionTimestamp") else "Running"


def _job_completions(job: ReadOnlyManifest) -> str:
    done, wanted = at(job, "status.succeeded", 0), at(job, "spec.completions")
    if wanted is not None:
        return f"{done}/{wanted}"
    parallel = at(job, "spec.parallelism", 1)
    return f"{done}/1 of {parallel}" if parallel > 1 else f"{done}/1"


def _job_duration(job: ReadOnlyManifest, now: datetime) -> str:
    started, ended = at(job, "status.startTime"), at(job, "status.completionTime")
    if not started:
        return ""
    end = exact_time(ended) if ended else now
    return duration(int((end - exact_time(started)).total_seconds()))


_TEMPLATE = (
    Column("Containers", containers("spec.template.spec.containers", "name"), priority=1,
           description="Names of each container in the template."),
    Column("Images", containers("spec.template.spec.containers", "image"), priority=1,
           description="Images referenced by each container in the template."),
)  # fmt: skip
_SELECTOR = Column("Selector", text(lambda m: label_selector(at(m, "spec.selector"))), priority=1)
PODS = described(
    "PODS",
    Column("Ready", text(_pod_ready), description="The aggregate readiness state of this pod for accepting traffic."),
    Column("Status", text(_pod_status), description="The aggregate status of the containers in this pod."),
    Column("Restarts", _pod_restarts, description="The number of times the containers in this pod were restarted."),
    AGE,
    Column("IP", field("status.podIP"), priority=1),
    Column("Node", field("spec.nodeName"), priority=1),
    Column("Nominated Node", field("status.nominatedNodeName"), priority=1),
    Column("Readiness Gates", text(_readiness_gates), priority=1),
)
DEPLOYMENTS = described(
    "DEPLOYMENTS",
    Column("Ready", _ready_of("status.readyReplicas", "spec.replicas"),
           description="Number of the pod with ready state"),
    Column("Up-to-date", field("status.updatedReplicas", 0)),
    Column("Available", field("status.availableReplicas", 0)),
    AGE,
    *_TEMPLATE,
    _SELECTOR,
)  # fmt: skip
REPLICA_SETS = described(
    "REPLICA_SETS",
    Column("Desired", field("spec.replicas", 0), "integer"),
    Column("Current", field("status.replicas", 0), "integer"),
    Column("Ready", field("status.readyReplicas", 0), "integer"),
    AGE,
    *_TEMPLATE,
    _SELECTOR,
)
STATEFUL_SETS = described(
    "STATEFUL_SETS", Column("Ready", _ready_of("status.readyReplicas", "spec.replicas")), AGE, *_TEMPLATE
)
DAEMON_SETS = described(
    "DAEMON_SETS",
    Column("Desired", field("status.desiredNumberScheduled", 0), "integer"),
    Column("Current", field("status.currentNumberScheduled", 0), "integer"),
    Column("Ready", field("status.numberReady", 0), "integer"),
    Column("Up-to-date", field("status.updatedNumberScheduled", 0), "integer"),
    Column("Available", field("status.numberAvailable", 0), "integer"),
    Column("Node Selector", text(lambda m: labels(at(m, "spec.template.spec.nodeSelector")))),
    AGE,
    *_TEMPLATE,
    _SELECTOR,
)
JOBS = described(
    "JOBS",
    Column("Status", text(_job_status)),
    Column("Completions", text(_job_completions)),
    Column("Duration", _job_duration),
    AGE,
    *_TEMPLATE,
    _SELECTOR,
)
CRON_JOBS = described(
    "CRON_JOBS",
    Column("Schedule", field("spec.schedule")),
    Column("Timezone", field("spec.timeZone")),
    Column("Suspend", text(lambda m: str(at(m, "spec.suspend", False)))),
    Column("Active", count("status.active"), "integer"),
    Column("Last Schedule", since("status.lastScheduleTime", NONE)),
    AGE,
)
_TARGETS_DESCRIPTION = "The present value and the target of each metric."
AUTOSCALERS = described(
    "AUTOSCALERS",
    Column("Reference", text(lambda m: "/".join(at(m, f"spec.scaleTargetRef.{k}", "") for k in ("kind", "name")))),
    Column("Targets", text(targets), description=_TARGETS_DESCRIPTION),
    Column("MinPods", text(lambda m: str(at(m, "spec.minReplicas", "<unset>")))),
    Column("MaxPods", field("spec.maxReplicas", 0)),
    Column("Replicas", field("status.currentReplicas", 0)),
    AGE,
)
BUDGETS = described(
    "BUDGETS",
    Column("Min Available", text(lambda m: str(at(m, "spec.minAvailable", "N/A")))),
    Column("Max Unavailable", text(lambda m: str(at(m, "spec.maxUnavailable", "N/A")))),
    Column("Allowed Disruptions", field("status.disruptionsAllowed", 0), "integer"),
    AGE,
)
