"""Registration of a Pull member by its agent: makes the Cluster where there is none, and waits for the agent's rights.

Any replica of an agent may register: a Cluster that is there is left as it is.
"""

import asyncio
import logging
from dataclasses import dataclass

import msgspec

from controller_runtime import Backoff, Trouble
from kubeapi.core import NAMESPACES
from kubeapi.loop import Clock
from kubeapi.meta import ObjectMeta
from kubeclient import AlreadyExists, Client, Forbidden, WorldError
from leeward.api.cluster import Cluster, ClusterSpec
from leeward.api.names import execution_space
from leeward.api.resource import CLUSTERS, WORKS
from leeward.core.registration import IDENTIFYING_NAMESPACE, Joined, problem_of_identity

log = logging.getLogger(__name__)

FIRST_RETRY_SECONDS, LAST_RETRY_SECONDS = 1.0, 10.0
"""Pauses between attempts. The last one is shorter than the time for which a control plane that is back listens for an
agent (half of its grace period), before it takes the silence for an outage."""
ACCESS_SECONDS, LAST_ACCESS_SECONDS = 0.1, 10.0
ACCESS_TOLD_SECONDS = 5.0
"""Seconds until somebody wonders that the rights are not there yet."""
PULL = ClusterSpec(sync_mode="Pull")
_DESCRIBED = {
    "api_endpoint": "apiEndpoint",
    "proxy_url": "proxyURL",
    "provider": "provider",
    "region": "region",
    "zones": "zones",
}
"""Attributes that an agent can give of its cluster, and the names of the fields."""


@dataclass(frozen=True, slots=True)
class Registration:
    """`control_plane` is a client of it that needs no lease, `described` the agent's description of its cluster."""

    cluster: str
    control_plane: Client
    member: Client
    clock: Clock
    described: ClusterSpec = PULL

    async def join(self) -> None:
        """Returns when the cluster has joined, and its agent may work. Waits for the control plane to answer."""
        await self._register()
        await self._wait_for_access()

    async def _register(self) -> None:
        pauses = Backoff(FIRST_RETRY_SECONDS, LAST_RETRY_SECONDS)
        trouble = Trouble(log, f"cluster {self.cluster} cannot be registered yet")
        while True:
            try:
                await register(self.control_plane, self.cluster, self.member, self.described)
            except (WorldError, JoinedAlready) as error:
                trouble.tell(error)
                await asyncio.sleep(pauses.next_seconds())
            else:
                trouble.is_over()
                return

    async def _wait_for_access(self) -> None:
        """The control plane gives an agent its rights a moment after its cluster has joined."""
        pauses = Backoff(ACCESS_SECONDS, LAST_ACCESS_SECONDS)
        trouble = Trouble(log, f"cluster {self.cluster} has joined, but its agent cannot work yet")
        since = self.clock.monotonic()
        while True:
            try:
                await self.control_plane.list(WORKS, execution_space(self.cluster), limit=1)
                await self._tell_hub_apart(since)
            except WorldError as error:
                if not isinstance(error, Forbidden) or self.clock.monotonic() >= since + ACCESS_TOLD_SECONDS:
                    trouble.tell(error)
                await asyncio.sleep(pauses.next_seconds())
            else:
                trouble.is_over()
                return

    async def _tell_hub_apart(self, since: float) -> None:
        """Returns when the identity of the hub can be read; some control planes never give the right to it.

        Raises: WorldError.
        """
        try:
            await self.control_plane.get(NAMESPACES, IDENTIFYING_NAMESPACE)
        except Forbidden:
            if self.clock.monotonic() < since + ACCESS_TOLD_SECONDS:
                raise


def _keep(present: Cluster, described: ClusterSpec) -> Cluster:
    """Says in the log where a Cluster that is there says something else than its agent was told."""
    wished = {field: getattr(described, field) for field in _DESCRIBED if getattr(described, field)}
    others = [_DESCRIBED[field] for field, value in wished.items() if getattr(present.spec, field) != value]
    if others:
        log.warning("cluster %s has joined before, and this changes nothing of it: %s", present.name, ", ".join(others))
    return present


class JoinedAlready(Exception):
    """The cluster has joined under another name; the message names it, and the way out."""


async def register(client: Client, name: str, member: Client, described: ClusterSpec = PULL) -> Cluster:
    """The Cluster in Pull mode, made where it is missing; it is known by what the member says of itself.

    One that is there keeps what it says: an agent may not change it. An agent beside a member that has joined under
    another name would apply there what is for this one, and let go of what it cannot see (Holds: S5, S6).

    Raises: WorldError; JoinedAlready.
    """
    present = await _find(client, name)
    try:
        cluster_id = (await member.get(NAMESPACES, IDENTIFYING_NAMESPACE)).metadata.uid
    except WorldError as error:
        if present is None:
            raise
        log.warning("cluster %s cannot be asked whether it is the one that has joined: %s", name, error)
        return _keep(present, described)
    clusters = (await client.list(CLUSTERS)).items
    joined = (Joined(cluster.name, cluster.spec.id, cluster.spec.sync_mode) for cluster in clusters)
    if problem := problem_of_identity(name, cluster_id, joined):
        raise JoinedAlready(problem)
    if present is not None:
        return _keep(present, described)
    cluster = Cluster(metadata=ObjectMeta(name=name), spec=msgspec.structs.replace(described, id=cluster_id))
    try:
        return await client.create(CLUSTERS, cluster)
    except AlreadyExists:
        return await client.get(CLUSTERS, name)


async def _find(client: Client, name: str) -> Cluster | None:
    """Raises: WorldError."""
    return await client.find(CLUSTERS, name)
