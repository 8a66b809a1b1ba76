"""Predicates of a Pod: whether it counts, whether it is ready, and which one to give up first."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from kubeapi.meta import ReadOnlyManifest, parse_time
from kubeapi.unstructured import int_at, list_at, text_at

MOST_AT_ONCE = 500
"""Pods of one owner that are created by one look at it; the first that comes has it looked at again. Kubernetes:
`BurstReplicas` of a ReplicaSet."""
_PHASES = ("Pending", "Unknown", "Running")
_NONE: Mapping[str, Any] = {}


def is_leaving(manifest: ReadOnlyManifest) -> bool:
    """Tells whether its deletion has been asked for."""
    return "deletionTimestamp" in manifest["metadata"]


def is_gone(old: ReadOnlyManifest, new: ReadOnlyManifest | None) -> bool:
    """Tells whether nothing, or another object, has its name now."""
    return new is None or new["metadata"]["uid"] != old["metadata"]["uid"]


def is_finished(pod: ReadOnlyManifest) -> bool:
    return text_at(pod, "status", "phase") in ("Succeeded", "Failed")


def is_active(pod: ReadOnlyManifest) -> bool:
    """Tells whether it counts as a replica."""
    return not is_leaving(pod) and not is_finished(pod)


def node_of(pod: ReadOnlyManifest) -> str:
    return text_at(pod, "spec", "nodeName")


def condition_of(manifest: ReadOnlyManifest, condition_type: str) -> Mapping[str, Any]:
    """Condition of a type; empty when there is none of that type."""
    conditions = list_at(manifest, "status", "conditions")
    return next((condition for condition in conditions if condition.get("type") == condition_type), _NONE)


def is_ready(pod: ReadOnlyManifest) -> bool:
    return condition_of(pod, "Ready").get("status") == "True"


def available_at(pod: ReadOnlyManifest, min_ready_seconds: int) -> datetime | None:
    """Instant at which a Pod that stays ready becomes available, or became it; None when it is not ready."""
    ready = condition_of(pod, "Ready")
    if ready.get("status") != "True":
        return None
    return parse_time(ready["lastTransitionTime"]) + timedelta(seconds=min_ready_seconds)


def is_available(pod: ReadOnlyManifest, min_ready_seconds: int, now: datetime) -> bool:
    instant = available_at(pod, min_ready_seconds)
    return instant is not None and (not min_ready_seconds or instant <= now)


def next_available_at(pods: Iterable[ReadOnlyManifest], owner: ReadOnlyManifest, now: datetime) -> datetime | None:
    """Instant at which the next ready Pod becomes available by the owner's minReadySeconds."""
    seconds = int_at(owner, "spec", "minReadySeconds")
    instants = [available_at(pod, seconds) for pod in pods] if seconds else []
    return min((instant for instant in instants if instant is not None and instant > now), default=None)


def deletion_rank(pod: ReadOnlyManifest) -> tuple[object, ...]:
    """Sorts the Pods that are given up first to the front: those that are least far, and the young before the old.

    Kubernetes: pkg/controller, ActivePods; same, with the name in place of chance.
    """
    phase = text_at(pod, "status", "phase") or "Pending"
    return (
        bool(node_of(pod)),
        _PHASES.index(phase) if phase in _PHASES else len(_PHASES),
        is_ready(pod),
        _youngest_first(text_at(pod, "metadata", "creationTimestamp")),
        pod["metadata"]["name"],
    )


def _youngest_first(timestamp: str) -> float:
    return -parse_time(timestamp).timestamp() if timestamp else 0.0
