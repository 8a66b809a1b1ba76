"""Take-over: this control plane becomes the hub, and members refuse every copy of it that was the hub before.

Its generation is raised above each that it can see, in its own store first. Then the members that answer are told.
A member that does not answer is told by whoever reaches it first: the controllers, or its agent, before they write.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from kubeapi.core import NAMESPACES, Namespace
from kubeclient import Client, WorldError
from leeward.api.cluster import Cluster
from leeward.api.names import KUBE_SYSTEM_NAMESPACE
from leeward.api.resource import CLUSTERS
from leeward.core.hub_generation import HUB_GENERATION_ANNOTATION, UnreadableGeneration, fences_of, generation_of
from leeward.operations.errors import OperationFailed
from leeward.runtime.hub_fence import HubFence
from leeward.runtime.member_identity import IdentifiedTransport, anyone
from leeward.runtime.server_identity import ServerIdentity, identity_of

Reach = Callable[[Cluster], Awaitable[Client]]
MEMBER_SECONDS = 10.0
"""Time for each question to a member."""
AT_ONCE = 20
MOST_AHEAD = 1_000_000
"""Generations by which a member may be ahead of a hub. One that says more is not believed: it would harm the others."""


class TakenOver(NamedTuple):
    """Result of a take-over. `fenced`: members that refuse older hubs now; `away`: the others, each with the reason."""

    generation: int
    fenced: tuple[str, ...]
    away: dict[str, str]


async def take_over(control_plane: Client, reach: Reach, *, force: bool = False) -> TakenOver:
    """`reach` makes the client of a member, whichever hub that obeys. `force`: also where members obey another hub,
    whose store is newer. Raises: WorldError, OperationFailed."""
    generation = await raise_generation(control_plane, reach, force=force)
    fenced, away = await fence_members(control_plane, reach)
    return TakenOver(generation, fenced, away)


async def raise_generation(control_plane: Client, reach: Reach, *, force: bool) -> int:
    """The generation of this hub, above its own and above each that members have met; nothing is written to these.

    Raises: WorldError, OperationFailed.
    """
    namespace = await control_plane.get(NAMESPACES, KUBE_SYSTEM_NAMESPACE)
    clusters = (await control_plane.list(CLUSTERS)).items
    own = _generation(namespace)
    told, _ = await _asked(clusters, lambda cluster: _met(cluster, reach, identity_of(namespace)))
    met = {name: generation for name, generation in told.items() if generation <= own + MOST_AHEAD}
    newest = max(met.values(), default=0)
    if newest > own and not force:
        ahead = ", ".join(sorted(name for name, generation in met.items() if generation > own))
        raise OperationFailed(
            f"members obey generation {newest} of this control plane ({ahead}), and this store is of generation {own}: "
            "what was changed at the other hub since is not in it. Take a copy from there (`leeward standby`), or give "
            "--force"
        )
    generation = max(own, newest) + 1
    patch = {"metadata": {"annotations": {HUB_GENERATION_ANNOTATION: str(generation)}}}
    version = namespace.metadata.resource_version
    await control_plane.patch(NAMESPACES, KUBE_SYSTEM_NAMESPACE, patch, resource_version=version)
    return generation


async def fence_members(control_plane: Client, reach: Reach) -> tuple[tuple[str, ...], dict[str, str]]:
    """Members that are told of this hub's generation, and the reason for each that could not be. Raises: WorldError."""
    server = ServerIdentity(control_plane)
    clusters = (await control_plane.list(CLUSTERS)).items
    fenced, away = await _asked(clusters, lambda cluster: _fence(cluster, reach, server))
    return tuple(sorted(fenced)), away


async def _asked(
    clusters: Sequence[Cluster], ask: Callable[[Cluster], Awaitable[int]]
) -> tuple[dict[str, int], dict[str, str]]:
    """Answers by cluster, and the reason for each that gives none."""
    answers, away, places = dict[str, int](), dict[str, str](), asyncio.Semaphore(AT_ONCE)

    async def one(cluster: Cluster) -> None:
        try:
            async with places, asyncio.timeout(MEMBER_SECONDS):
                answers[cluster.name] = await ask(cluster)
        except TimeoutError:
            away[cluster.name] = f"no answer within {MEMBER_SECONDS:g} s"
        except (WorldError, OperationFailed, ValueError) as error:
            away[cluster.name] = str(error)

    await asyncio.gather(*map(one, clusters))
    return answers, dict(sorted(away.items()))


async def _met(cluster: Cluster, reach: Reach, hub: str) -> int:
    """Newest generation of the hub that the member has met. Raises: WorldError, UnreadableGeneration."""
    client = await reach(cluster)
    try:
        return fences_of((await client.get(NAMESPACES, KUBE_SYSTEM_NAMESPACE)).metadata.annotations).get(hub, 0)
    finally:
        await client.close()


async def _fence(cluster: Cluster, reach: Reach, server: ServerIdentity) -> int:
    """Tells the member of this generation. Raises: WorldError, OperationFailed."""
    fence = HubFence(server)
    client = (await reach(cluster)).behind(lambda inner: IdentifiedTransport(inner, anyone, fence))
    try:
        await client.get(NAMESPACES, KUBE_SYSTEM_NAMESPACE)
        if fence.refused:
            raise OperationFailed(fence.refused)
        return 0
    finally:
        await client.close()


def _generation(namespace: Namespace) -> int:
    """Generation of this hub; 0 where it cannot be read, and is written anew."""
    try:
        return generation_of(namespace.metadata.annotations)
    except UnreadableGeneration:
        return 0
