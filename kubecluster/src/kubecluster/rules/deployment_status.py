"""Status of a Deployment: counts summed over its ReplicaSets, and the conditions Available and Progressing.

Kubernetes: pkg/controller/deployment (sync, progress); same.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from kubeapi.meta import Manifest, ReadOnlyManifest, parse_time
from kubeapi.unstructured import int_at, list_at, pick, value_at
from kubecluster.rules.conditions import Condition, put_condition
from kubecluster.rules.deployment import Revisions, is_paused, replicas_of, rollout_bounds
from kubecluster.rules.pods import condition_of
from kubecluster.rules.replica_set import REPLICA_FAILURE

_COUNTS = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas", "unavailableReplicas")
_DONE, _MOVING, _LATE = "NewReplicaSetAvailable", "ReplicaSetUpdated", "ProgressDeadlineExceeded"


def deployment_status(deployment: ReadOnlyManifest, revisions: Revisions, now: datetime) -> Manifest:
    counts = _counts(revisions)
    conditions = list_at(deployment, "status", "conditions")
    conditions = put_condition(conditions, _available(deployment, counts), now, updated=False)
    progressing, moved = _progressing(deployment, revisions, counts, now)
    if progressing:
        conditions = put_condition(conditions, progressing, now, updated=moved)
    conditions = _with_failure(conditions, revisions, now)
    return {
        "observedGeneration": deployment["metadata"]["generation"],
        **pick(counts, _COUNTS),
        "conditions": conditions,
    }


def _with_failure(conditions: Sequence[Condition], revisions: Revisions, now: datetime) -> Sequence[Condition]:
    """Conditions with those of ReplicaSets about Pods that could not be created, the newest first."""
    failures = (condition_of(s, REPLICA_FAILURE) for s in reversed(revisions.all))
    failure = next((condition for condition in failures if condition), None)
    if failure is not None:
        return put_condition(conditions, _as_known(failure), now, updated=False)
    return [condition for condition in conditions if condition["type"] != REPLICA_FAILURE]


def is_complete(deployment: ReadOnlyManifest, counts: Mapping[str, int]) -> bool:
    """Tells whether all replicas are there, new and available, and no other is left."""
    wanted = replicas_of(deployment)
    return all(counts.get(name, 0) == wanted for name in ("replicas", "updatedReplicas", "availableReplicas"))


def progress_deadline(deployment: ReadOnlyManifest, status: ReadOnlyManifest) -> datetime | None:
    """Instant at which a rollout that makes no more progress is late; None when there is nothing to wait for."""
    progressing = condition_of({"status": status}, "Progressing")
    if progressing.get("reason") != _MOVING:
        return None
    return _deadline(deployment, progressing)


def _counts(revisions: Revisions) -> dict[str, int]:
    total = {name: sum(int_at(s, "status", name) for s in revisions.all) for name in _COUNTS}
    wanted = sum(replicas_of(s) for s in revisions.all)
    return {
        **total,
        "updatedReplicas": int_at(revisions.new, "status", "replicas"),
        "unavailableReplicas": max(0, wanted - total["availableReplicas"]),
    }


def _available(deployment: ReadOnlyManifest, counts: Mapping[str, int]) -> Condition:
    _, unavailable = rollout_bounds(deployment)
    if counts["availableReplicas"] >= replicas_of(deployment) - unavailable:
        return _condition("Available", "True", "MinimumReplicasAvailable", "Deployment has minimum availability.")
    message = "Deployment does not have minimum availability."
    return _condition("Available", "False", "MinimumReplicasUnavailable", message)


def _progressing(
    deployment: ReadOnlyManifest, revisions: Revisions, counts: Mapping[str, int], now: datetime
) -> tuple[Condition, bool]:
    """The condition, empty where there is none to give, and whether there was progress just now."""
    known = condition_of(deployment, "Progressing")
    if is_paused(deployment):
        return _condition("Progressing", "Unknown", "DeploymentPaused", "Deployment is paused"), False
    if value_at(deployment, "spec", "progressDeadlineSeconds") is None or revisions.new is None:
        return _as_known(known), False
    subject = f'ReplicaSet "{revisions.new["metadata"]["name"]}"'
    if is_complete(deployment, counts):
        return _condition("Progressing", "True", _DONE, f"{subject} has successfully progressed."), False
    if known.get("reason") == _DONE and counts["replicas"] == counts["updatedReplicas"]:
        return _as_known(known), False
    if not known or known["reason"] in (_DONE, "DeploymentPaused") or _has_moved(deployment, counts):
        return _condition("Progressing", "True", _MOVING, f"{subject} is progressing."), True
    deadline = _deadline(deployment, known)
    if deadline is not None and deadline <= now:
        return _condition("Progressing", "False", _LATE, f"{subject} has timed out progressing."), False
    return _as_known(known), False


def _as_known(known: Mapping[str, Any]) -> Condition:
    return {name: value for name, value in known.items() if not name.startswith("last")}


def _has_moved(deployment: ReadOnlyManifest, counts: Mapping[str, int]) -> bool:
    """Tells whether more is new, ready or available than was reported, or less that is old."""
    before = {name: int_at(deployment, "status", name) for name in _COUNTS}
    grown = any(counts[name] > before[name] for name in ("updatedReplicas", "readyReplicas", "availableReplicas"))
    return grown or counts["replicas"] - counts["updatedReplicas"] < before["replicas"] - before["updatedReplicas"]


def _deadline(deployment: ReadOnlyManifest, progressing: Mapping[str, Any]) -> datetime | None:
    seconds = value_at(deployment, "spec", "progressDeadlineSeconds")
    if not isinstance(seconds, int) or "lastUpdateTime" not in progressing:
        return None
    return parse_time(progressing["lastUpdateTime"]) + timedelta(seconds=seconds)


def _condition(condition_type: str, status: str, reason: str, message: str) -> Condition:
    return {"type": condition_type, "status": status, "reason": reason, "message": message}
