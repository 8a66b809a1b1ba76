"""Take-over: this control plane becomes the hub, and members refuse every copy of it that was the hub before.

Its generation is raised above each that it can see, in its own store first. Then the members that answer are told.
A member that does not answer is told by whoever reaches it first: the controllers, or its agent, before they write.

Most Push members have to answer first: where they are silent, this machine may be the one that is cut off, while the
hub before, or another copy of it, serves there. Pull members that nobody can ask count for nothing.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple, TypeVar

from kubeapi.core import NAMESPACES, Namespace
from kubeapi.loop import Clock, Randomness
from kubeclient import Client, WorldError
from leeward.api.cluster import Cluster
from leeward.api.meta import find_condition
from leeward.api.names import KUBE_SYSTEM_NAMESPACE
from leeward.api.resource import CLUSTERS
from leeward.core.hub_generation import (
    ANOTHER_HUB,
    HUB_FENCE_CONDITION,
    HUB_GENERATION_ANNOTATION,
    LARGEST_GENERATION,
    MOST_AHEAD,
    NEVER,
    Generation,
    UnreadableGeneration,
    fences_of,
    generation_of,
)
from leeward.operations.errors import OperationFailed
from leeward.operations.findings import NAMED_AT_MOST
from leeward.runtime.hub_fence import HubFence
from leeward.runtime.member_identity import AnotherCluster, obeying
from leeward.runtime.server_identity import ServerIdentity, identity_of

Answer = TypeVar("Answer")
Reach = Callable[[Cluster], Awaitable[Client]]
MEMBER_SECONDS = 10.0
"""Time for each question to a member."""
ALTOGETHER_SECONDS = 20.0
"""Time for all members. Who is not reached in it is told by the controllers, or its agent, before they write."""
AT_ONCE = 200


class TakenOver(NamedTuple):
    """Result of a take-over. `fenced`: members that refuse older hubs now; `refusing`: those that obey another one, as
    they say, or are silent and their Clusters say; `away`: the others. Each has the reason."""

    generation: Generation
    fenced: tuple[str, ...]
    refusing: dict[str, str]
    away: dict[str, str]


async def take_over(
    control_plane: Client, reach: Reach, clock: Clock, randomness: Randomness, *, force: bool = False
) -> TakenOver:
    """`reach` makes the client of a member, whichever hub that obeys. `force`: also where members obey another hub,
    whose store is newer, or most are silent. Raises: WorldError, OperationFailed."""
    generation = await raise_generation(control_plane, reach, clock, randomness, force=force)
    return await fence_members(control_plane, reach, generation)


async def raise_generation(
    control_plane: Client, reach: Reach, clock: Clock, randomness: Randomness, *, force: bool
) -> Generation:
    """The generation of this hub, above its own and above each that members have met; nothing is written to these.

    Raises: WorldError, OperationFailed.
    """
    namespace = await control_plane.get(NAMESPACES, KUBE_SYSTEM_NAMESPACE)
    clusters = (await control_plane.list(CLUSTERS)).items
    own = _generation(namespace)
    told, silent = await _asked(clusters, lambda cluster: _met(cluster, reach, identity_of(namespace)))
    met = {name: generation for name, generation in told.items() if generation.number <= own.number + MOST_AHEAD}
    newest = max(met.values(), default=NEVER)
    if newest > own and not force:
        ahead = ", ".join(sorted(name for name, generation in met.items() if generation > own))
        raise OperationFailed(
            f"members obey generation {newest} of this control plane ({ahead}), and this store is of generation {own}: "
            "what was changed at the other hub since is not in it. Take a copy from there (`leeward standby`), or give "
            "--force"
        )
    unasked = ", ".join(each.name for each in clusters if each.name not in told and _obeys_another(each))
    if unasked and not force:
        raise OperationFailed(
            f"members obey another hub, as their Clusters say, and do not tell its generation now: {unasked}. Take a "
            "copy from there (`leeward standby`), or give --force"
        )
    cut_off = [each.name for each in clusters if each.name in silent and each.spec.sync_mode == "Push"]
    if cut_off and len(cut_off) >= len(told) and not force:
        whys = "; ".join(f"{name}: {silent[name]}" for name in cut_off[:NAMED_AT_MOST])
        raise OperationFailed(
            f"{len(told)} of {len(told) + len(cut_off)} members answer: this machine may be cut off, and another hub "
            f"may serve the others ({whys}). Once no other hub runs, give --force"
        )
    generation = Generation.after(max(own, newest).number, len(told), clock.now(), randomness.suffix())
    patch = {"metadata": {"annotations": {HUB_GENERATION_ANNOTATION: str(generation)}}}
    version = namespace.metadata.resource_version
    await control_plane.patch(NAMESPACES, KUBE_SYSTEM_NAMESPACE, patch, resource_version=version)
    return generation


async def members_of_another(control_plane: Client, reach: Reach) -> list[str]:
    """Members that obey a newer hub: as they say, or where they are silent, as their Clusters say. Raises: WorldError,
    also where no Clusters are served."""
    namespace = await control_plane.get(NAMESPACES, KUBE_SYSTEM_NAMESPACE)
    clusters = (await control_plane.list(CLUSTERS)).items
    own = _generation(namespace)
    told, silent = await _asked(clusters, lambda cluster: _met(cluster, reach, identity_of(namespace)))
    newer = [name for name, met in told.items() if met > own and met.number <= own.number + MOST_AHEAD]
    return sorted([*newer, *(each.name for each in clusters if each.name in silent and _obeys_another(each))])


async def fence_members(control_plane: Client, reach: Reach, generation: Generation) -> TakenOver:
    """Tells members of this hub's generation, which is raised already. Raises: WorldError."""
    server = ServerIdentity(control_plane)
    clusters = (await control_plane.list(CLUSTERS)).items
    answers, away = await _asked(clusters, lambda cluster: _fence(cluster, reach, server))
    fenced = tuple(sorted(name for name, problem in answers.items() if not problem))
    refusing = {name: why for name, why in answers.items() if why}
    for name in (each.name for each in clusters if each.name in away and _obeys_another(each)):
        refusing[name] = f"its Cluster says so, and it is silent now: {away.pop(name)}. Take over again once it answers"
    return TakenOver(generation, fenced, dict(sorted(refusing.items())), away)


async def _asked(
    clusters: Sequence[Cluster], ask: Callable[[Cluster], Awaitable[Answer]]
) -> tuple[dict[str, Answer], dict[str, str]]:
    """Answers by cluster, and the reason for each that gives none. All of it takes `ALTOGETHER_SECONDS` at most."""
    answers, away, places = dict[str, Answer](), dict[str, str](), asyncio.Semaphore(AT_ONCE)
    end = asyncio.get_running_loop().time() + ALTOGETHER_SECONDS

    async def one(cluster: Cluster) -> None:
        try:
            async with asyncio.timeout_at(end), places, asyncio.timeout(MEMBER_SECONDS):
                answers[cluster.name] = await ask(cluster)
        except TimeoutError:
            away[cluster.name] = f"no answer within {MEMBER_SECONDS:g} s"
        except (WorldError, OperationFailed, ValueError) as error:
            away[cluster.name] = str(error)

    await asyncio.gather(*map(one, clusters))
    return answers, dict(sorted(away.items()))


async def _met(cluster: Cluster, reach: Reach, hub: str) -> Generation:
    """Newest generation of the hub that the member has met. Raises: WorldError, UnreadableGeneration."""
    client = await reach(cluster)
    try:
        return fences_of((await client.get(NAMESPACES, KUBE_SYSTEM_NAMESPACE)).metadata.annotations).get(hub, NEVER)
    finally:
        await client.close()


async def _fence(cluster: Cluster, reach: Reach, server: ServerIdentity) -> str:
    """Tells the member of this generation. The reason why it obeys another hub; empty where it does not. Raises:
    WorldError, OperationFailed."""
    fence = HubFence(server)
    client = obeying(await reach(cluster), fence)
    try:
        await client.get(NAMESPACES, KUBE_SYSTEM_NAMESPACE)
        if why := fence.untold or fence.unfenced:
            raise OperationFailed(why)
        return ""
    except AnotherCluster as error:
        return str(error)
    finally:
        await client.close()


def _obeys_another(cluster: Cluster) -> bool:
    told = find_condition(cluster.status.conditions, HUB_FENCE_CONDITION)
    return told is not None and told.reason == ANOTHER_HUB


def _generation(namespace: Namespace) -> Generation:
    """Generation of this hub; that of none where it cannot be read or raised, and is written anew."""
    try:
        found = generation_of(namespace.metadata.annotations)
    except UnreadableGeneration:
        return NEVER
    return found if found.number < LARGEST_GENERATION else NEVER
