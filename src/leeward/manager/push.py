"""Push clusters: for each one that is joined, a connection and its own group of controllers.

The groups share nothing but the control plane, so that a member that hangs, is slow or lies delays no other (Holds:
L4). A group is made anew when the Cluster's endpoint or credential changes.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from controller_runtime import Index
from kubeapi.core import SECRETS, Secret
from kubeapi.loop import Supervisor
from kubeclient import Client, Transport, WorldError
from leeward.api.cluster import Cluster, LocalSecretReference
from leeward.api.names import ALLOW_HTTP_ANNOTATION, CLUSTER_NAMESPACE
from leeward.api.resource import CLUSTERS
from leeward.controllers.removals.returned_copies import ReturnedCopies
from leeward.controllers.unified_auth import UnifiedAuthController
from leeward.core.cluster_health.cluster_identity import problem_of_reached
from leeward.core.registration import Joined
from leeward.manager.member_side import MemberSide
from leeward.runtime.controller_context import ControlPlane, Member
from leeward.runtime.hub_fence import HubFence
from leeward.runtime.member_identity import IdentifiedTransport

LOOK_AGAIN = timedelta(seconds=60)
"""Pause after which a credential that is not followed is read again."""
Connect = Callable[[Cluster, Secret | None], Client]
"""Makes the client of a member; a missing credential gives one whose every request raises NoCredential."""


@dataclass(slots=True)
class _Group:
    made_of: tuple[object, ...]
    client: Client
    supervisor: Supervisor


class PushClusters:
    """`speak` makes the controller that gives the impersonator of a member its rights."""

    def __init__(
        self,
        plane: ControlPlane,
        connect: Connect,
        member_side: MemberSide,
        returned: ReturnedCopies | None = None,
        speak: Callable[[Member], UnifiedAuthController] | None = None,
    ) -> None:
        self._plane = plane
        self._connect = connect
        self._member_side = member_side
        self._returned = returned
        self._speak = speak
        self._clusters = plane.informers.of(CLUSTERS)
        self._secrets = plane.informers.of(SECRETS, CLUSTER_NAMESPACE)
        self._by_secret = Index(self._clusters, _name_of_secret)
        self._groups: dict[str, _Group] = {}
        self._closed = False
        self._controller = plane.controller("push-clusters", self.reconcile)

    def start(self) -> None:
        self._clusters.on_change(self._cluster_changed)
        self._secrets.on_change(self._secret_changed)
        self._controller.start(self._plane.supervisor)

    async def close(self) -> None:
        """Ends all groups, and makes no more."""
        self._closed = True
        for name in list(self._groups):
            await self._end(name)

    async def reconcile(self, name: str) -> datetime | None:
        await self._clusters.wait_synced()
        await self._secrets.wait_synced()
        cluster = self._clusters.get(name)
        if cluster is None or cluster.spec.sync_mode != "Push" or not self._works_in(name):
            await self._end(name)
            return None
        secret = await self._secret_of(cluster)
        made_of = (connection_of(cluster), dict(secret.data) if secret else None)
        group = self._groups.get(name)
        if group is None or group.made_of != made_of:
            await self._end(name)
            if not self._closed:
                self._begin(cluster, secret, made_of)
        return self._plane.clock.now() + LOOK_AGAIN if _is_elsewhere(cluster.spec.secret_ref) else None

    def _works_in(self, name: str) -> bool:
        return self._plane.share.leads or self._plane.share.owns_cluster(name)

    async def _secret_of(self, cluster: Cluster) -> Secret | None:
        """Followed in `karmada-cluster`, where credentials belong; one elsewhere is read again now and then."""
        reference = cluster.spec.secret_ref
        if reference is None:
            return None
        if not _is_elsewhere(reference):
            return self._secrets.get(reference.name, reference.namespace)
        return await self._plane.client.find(SECRETS, reference.name, reference.namespace)

    def _begin(self, cluster: Cluster, secret: Secret | None, made_of: tuple[object, ...]) -> None:
        fence = HubFence(self._plane.server.identity)
        client = self._connect(cluster, secret).behind(partial(identified, self._plane, cluster.name, fence))
        supervisor = Supervisor(f"cluster {cluster.name}")
        self._groups[cluster.name] = _Group(made_of, client, supervisor)
        member = Member.of(cluster.name, client, self._plane.randomness, supervisor, self._plane.limits, fence)
        self._member_side.start(self._plane, member, returned=self._returned)
        if self._speak is not None:
            self._speak(member).start()

    async def _end(self, name: str) -> None:
        group = self._groups.pop(name, None)
        if group is not None:
            try:
                await group.supervisor.close()
            finally:
                await group.client.close()

    def _cluster_changed(self, old: Cluster | None, new: Cluster | None) -> None:
        if old is None or new is None or connection_of(old) != connection_of(new):
            cluster = new or old
            if cluster is not None:
                self._controller.queue.add(cluster.name)

    def _secret_changed(self, old: Secret | None, new: Secret | None) -> None:
        secret = new or old
        for cluster in () if secret is None else self._by_secret.get(secret.name):
            self._controller.queue.add(cluster.name)


def identified(plane: ControlPlane, name: str, fence: HubFence, transport: Transport) -> IdentifiedTransport:
    """The transport to the member `name`, that sends nothing to another cluster, nor to one that obeys another hub."""
    return IdentifiedTransport(transport, partial(problem_of_answer, plane, name), fence)


async def problem_of_answer(plane: ControlPlane, name: str, found: str) -> str:
    """The reason why nothing is done for the cluster `name` in the one with the id `found`; empty for none."""
    clusters = plane.informers.of(CLUSTERS)
    cluster = clusters.get(name)
    if cluster is None or cluster.spec.id in ("", found):
        return ""
    identity = plane.server.identity
    if not identity.cluster_id:
        with suppress(WorldError):
            await identity.read()
    joined = (Joined(other.name, other.spec.id, other.spec.sync_mode) for other in clusters.list())
    return problem_of_reached(name, found, joined, identity.cluster_id)


def _name_of_secret(cluster: Cluster) -> str | None:
    """Name of the Secret of its credential, where that is followed."""
    reference = cluster.spec.secret_ref
    return reference.name if reference is not None and not _is_elsewhere(reference) else None


def _is_elsewhere(reference: LocalSecretReference | None) -> bool:
    """Tells whether a credential lies where it is not followed."""
    return reference is not None and reference.namespace != CLUSTER_NAMESPACE


def connection_of(cluster: Cluster) -> tuple[object, ...]:
    """Parts that a connection is made of."""
    spec = cluster.spec
    return (
        cluster.metadata.uid,
        spec.sync_mode,
        spec.api_endpoint,
        spec.secret_ref,
        spec.insecure_skip_tls_verification,
        spec.proxy_url,
        tuple(sorted(spec.proxy_header.items())),
        cluster.metadata.annotations.get(ALLOW_HTTP_ANNOTATION),
    )
