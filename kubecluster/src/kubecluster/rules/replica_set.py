"""A ReplicaSet: how many Pods it lacks, which it has too many, and its status."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from kubeapi.meta import Manifest, ReadOnlyManifest
from kubeapi.unstructured import int_at, list_at, mapping_at, pick
from kubecluster.rules.conditions import Condition, put_condition
from kubecluster.rules.deployment import replicas_of
from kubecluster.rules.pods import condition_of, deletion_rank, is_active, is_available, is_ready

REPLICA_FAILURE = "ReplicaFailure"


@dataclass(frozen=True, slots=True)
class Steps:
    """Number of Pods to create, and the Pods to delete."""

    create: int
    delete: tuple[Manifest, ...] = ()


def decide_pods(replica_set: ReadOnlyManifest, pods: Sequence[Manifest]) -> Steps:
    active = [pod for pod in pods if is_active(pod)]
    surplus = len(active) - replicas_of(replica_set)
    if surplus <= 0:
        return Steps(create=-surplus)
    return Steps(create=0, delete=tuple(sorted(active, key=deletion_rank)[:surplus]))


def replica_set_status(
    replica_set: ReadOnlyManifest, pods: Sequence[Manifest], now: datetime, failure: str = ""
) -> Manifest:
    """`failure`: why a Pod could not be created just now; the condition ReplicaFailure says so."""
    active = [pod for pod in pods if is_active(pod)]
    wanted = mapping_at(replica_set, "spec", "template", "metadata", "labels").items()
    seconds = int_at(replica_set, "spec", "minReadySeconds")
    counts = {
        "fullyLabeledReplicas": sum(wanted <= mapping_at(pod, "metadata", "labels").items() for pod in active),
        "readyReplicas": sum(is_ready(pod) for pod in active),
        "availableReplicas": sum(is_available(pod, seconds, now) for pod in active),
    }
    conditions = _conditions(replica_set, failure, now)
    return {
        "replicas": len(active),
        **pick(counts, counts),
        "observedGeneration": replica_set["metadata"]["generation"],
        **({"conditions": list(conditions)} if conditions else {}),
    }


def _conditions(replica_set: ReadOnlyManifest, failure: str, now: datetime) -> Sequence[Condition]:
    """Conditions; as long as it fails, one says how it failed first."""
    known = list_at(replica_set, "status", "conditions")
    if not failure:
        return [condition for condition in known if condition.get("type") != REPLICA_FAILURE]
    if condition_of(replica_set, REPLICA_FAILURE):
        return known
    said = {"type": REPLICA_FAILURE, "status": "True", "reason": "FailedCreate", "message": failure}
    return put_condition(known, said, now)
