"""The parts of a member's Pods and ReplicaSets that the estimator reads, and nothing else of them."""

from datetime import datetime

from kubeapi.core import PodSpec
from kubeapi.meta import Object, TypedObject
from kubeapi.resource import Resource

_FINISHED = ("Succeeded", "Failed")


class PodCondition(Object, frozen=True):
    type: str
    status: str
    reason: str = ""
    last_transition_time: datetime | None = None


class PlacedPodStatus(Object, frozen=True):
    phase: str = ""
    conditions: tuple[PodCondition, ...] = ()


class PlacedPod(TypedObject, frozen=True):
    """A Pod as far as it takes room, or waits for some."""

    spec: PodSpec = PodSpec()
    status: PlacedPodStatus = PlacedPodStatus()

    @property
    def takes_room(self) -> bool:
        return bool(self.spec.node_name) and self.status.phase not in _FINISHED

    @property
    def unschedulable_since(self) -> datetime | None:
        """Instant since which the member's scheduler says that no node has room for it; None where it does not say so.

        Karmada: pkg/estimator/server/replica; the same condition.
        """
        if self.spec.node_name or self.status.phase in _FINISHED or self.metadata.deletion_timestamp is not None:
            return None
        for condition in self.status.conditions:
            if condition.type == "PodScheduled" and condition.status == "False" and condition.reason == "Unschedulable":
                return condition.last_transition_time
        return None


class OwnedReplicaSet(TypedObject, frozen=True):
    """A ReplicaSet, for its owner and its revision of that."""


PLACED_PODS = Resource("", "v1", "pods", "Pod", True, PlacedPod)
OWNED_REPLICA_SETS = Resource("apps", "v1", "replicasets", "ReplicaSet", True, OwnedReplicaSet)
