"""Answers of the estimator of one member, from informers on its nodes, Pods and ReplicaSets.

An answer is of what the member says now: while it cannot be followed there is none, and whoever asks goes by what the
cluster has reported. Karmada: pkg/estimator/server; it goes on answering from its cache.
"""

from collections.abc import Iterable

from controller_runtime import Index
from kubeapi.core import NODES
from kubeapi.errors import Unreachable
from kubeapi.loop import Clock
from kubeapi.meta import OwnerReference, TypedObject
from leeward.api.work import BindingResource
from leeward.estimator.messages import RoomRequest, UnschedulableRequest
from leeward.estimator.node_room import NodeRoom
from leeward.estimator.objects import OWNED_REPLICA_SETS, PLACED_PODS, OwnedReplicaSet, PlacedPod
from leeward.runtime.controller_context import Member

SYNC_SECONDS = 2.0
STALE_SECONDS = 30.0
"""Seconds without a word from the member after which what is known of it is no answer."""
REVISION = "deployment.kubernetes.io/revision"

_Owner = tuple[str, str, str, str]
"""Namespace, API group, kind and name."""


class WrongCluster(ValueError):
    """The question is about another cluster."""


class NoSuchWorkload(ValueError):
    """The cluster has nothing that the workload controls."""


class MemberEstimates:
    def __init__(self, member: Member, clock: Clock) -> None:
        self._cluster = member.name
        self._clock = clock
        informers = member.server.informers
        self._nodes, self._pods = informers.of(NODES), informers.of(PLACED_PODS)
        self._replica_sets = informers.of(OWNED_REPLICA_SETS)
        self._pods_of = Index(self._pods, _owner_of)
        self._replica_sets_of = Index(self._replica_sets, _owner_of)
        self._room = NodeRoom()
        self._nodes.on_change(self._room.see_node)
        self._pods.on_change(self._room.see_pod)

    async def available(self, request: RoomRequest) -> int:
        """Number of replicas, or sets, that still fit onto the nodes.

        Raises: WrongCluster; ValueError, ArithmeticError for a quantity that cannot be read; Unreachable.
        """
        await self._look(request.cluster)
        question = request.question
        if question.components:
            return self._room.sets(question.components, request.assumed)
        return self._room.replicas(question.requirements, request.assumed)

    async def unschedulable(self, request: UnschedulableRequest) -> int:
        """Number of replicas of the workload's present revision that have found no node for as long as the threshold.

        Raises: WrongCluster, NoSuchWorkload, Unreachable.
        """
        await self._look(request.cluster)
        now = self._clock.now()
        instants = (pod.unschedulable_since for pod in self._pods_controlled_by(request.workload))
        return sum(
            instant is not None and (now - instant).total_seconds() >= request.threshold_seconds for instant in instants
        )

    async def wait_synced(self) -> None:
        """Raises: Unreachable."""
        await self._look(self._cluster)

    async def _look(self, cluster: str) -> None:
        if cluster != self._cluster:
            raise WrongCluster(f"cluster: {cluster!r} is asked about, and this is the estimator of {self._cluster!r}")
        for informer in (self._nodes, self._pods, self._replica_sets):
            await informer.wait_synced(SYNC_SECONDS)
            since = informer.health.failing_since
            if since is not None and self._clock.monotonic() - since > STALE_SECONDS:
                raise Unreachable(f"{informer.resource.plural} of {self._cluster} cannot be followed")

    def _pods_controlled_by(self, workload: BindingResource) -> Iterable[PlacedPod]:
        """Pods of a Deployment's newest ReplicaSet, and those that any other kind controls itself."""
        group = workload.api_version.rpartition("/")[0]
        owner = (workload.namespace, group, workload.kind, workload.name)
        if (group, workload.kind) == ("apps", "Deployment"):
            newest = max(self._replica_sets_of.get(owner), key=_revision, default=None)
            if newest is None:
                raise NoSuchWorkload(
                    f"resource: {self._cluster} has no Deployment {workload.namespace}/{workload.name}"
                )
            owner = (newest.namespace, "apps", "ReplicaSet", newest.name)
        return self._pods_of.get(owner)


def _owner_of(obj: TypedObject) -> _Owner | None:
    """The controller of a Pod, or of a ReplicaSet."""
    owner: OwnerReference | None = next((each for each in obj.metadata.owner_references if each.controller), None)
    if owner is None:
        return None
    return (obj.namespace, owner.api_version.rpartition("/")[0], owner.kind, owner.name)


def _revision(replica_set: OwnedReplicaSet) -> tuple[int, str]:
    revision = replica_set.metadata.annotations.get(REVISION, "")
    return (int(revision) if revision.isdecimal() else 0, replica_set.name)
