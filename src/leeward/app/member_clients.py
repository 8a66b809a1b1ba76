"""Clients of members, for an operator's verb: with a Push member's credential, or else through the cluster proxy."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager

from msgspec import structs

from kubeapi.core import SECRETS
from kubeclient import Client, NotFound, Request, Response, Transport
from leeward.api.cluster import Cluster
from leeward.api.resource import CLUSTERS
from leeward.app.connect import transport_to
from leeward.runtime.hub_fence import HubFence
from leeward.runtime.member_identity import obeying
from leeward.runtime.server_identity import ServerIdentity


def members_of(control_plane: Client) -> Callable[[Cluster], Awaitable[Client]]:
    """Makes clients of members.

    A client raises WorldError when it is used and its member cannot be reached, or obeys another hub by now.
    """
    fence, reach = HubFence(ServerIdentity(control_plane)), whoever_obeys(control_plane)

    async def reach_obeying(cluster: Cluster) -> Client:
        return obeying(await reach(cluster), fence)

    return reach_obeying


def whoever_obeys(control_plane: Client) -> Callable[[Cluster], Awaitable[Client]]:
    """Makes clients of members, as `members_of`, whichever hub they obey."""

    async def reach(cluster: Cluster) -> Client:
        direct = await _direct(control_plane, cluster)
        return control_plane.behind(lambda transport: direct or ThroughProxy(transport, cluster.name))

    return reach


async def _direct(control_plane: Client, cluster: Cluster) -> Transport | None:
    """Transport with the credential that the Push controllers have; None where there is none."""
    reference = cluster.spec.secret_ref
    if cluster.spec.sync_mode != "Push" or reference is None:
        return None
    try:
        secret = await control_plane.get(SECRETS, reference.name, reference.namespace)
    except NotFound:
        secret = None
    return transport_to(cluster, secret)


class ThroughProxy:
    """A transport to a member by the subresource `proxy` of its Cluster, as the user of the control plane."""

    def __init__(self, control_plane: Transport, cluster: str) -> None:
        self._control_plane = control_plane
        self._prefix = f"{CLUSTERS.path(name=cluster)}/proxy"

    async def send(self, request: Request, *, timeout_seconds: float) -> Response:
        return await self._control_plane.send(self._through(request), timeout_seconds=timeout_seconds)

    def stream(self, request: Request) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        return self._control_plane.stream(self._through(request))

    async def close(self) -> None:
        """The connection is the control plane's."""

    def _through(self, request: Request) -> Request:
        return structs.replace(request, path=self._prefix + request.path)
