"""Orphans: objects in members that carry this control plane's identity, and that no Work of it knows of.

They are what was placed after the backup that a control plane was restored from: they run on, and nobody sees them.

A member is asked for every kind that it offers. The Works are asked for before and after, so that what is being placed
or taken away meanwhile is no orphan. Of a member that cannot be read whole nothing is concluded but what was seen.

What names a Work that does not exist, but lacks the identity or has another name than such a Work gives, is listed
apart and never deleted: it may be another control plane's, or somebody's copy. So is what stayed on purpose. What a
controller in the member made of an object (ReplicaSets carry the annotations of their Deployment) goes with its owner.

Beside them stand Works whose binding is gone (`orphan_works.py`), which is asked of the control plane alone.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import cast

from controller_runtime import Key, key_of
from kubeapi.core import NAMESPACES
from kubeapi.errors import NoCredential
from kubeapi.meta import Manifest, annotations_of, labels_of
from kubeapi.resource import Resource
from kubeclient import ApiError, Client, Conflict, NotFound, NotServed, WorldError, every
from leeward.api.cluster import APIEnablement, Cluster
from leeward.api.names import (
    HUB_ANNOTATION,
    KUBE_SYSTEM_NAMESPACE,
    MANAGED_LABEL,
    PRESERVED_ANNOTATION,
    WORK_NAME_ANNOTATION,
    WORK_NAMESPACE_ANNOTATION,
    execution_space,
    work_name,
)
from leeward.api.resource import CLUSTERS, WORKS
from leeward.core.eviction.shared_resources import is_shared
from leeward.operations.orphan_replacements import why_relied_upon
from leeward.operations.orphan_works import OrphanWork, find_orphan_works
from leeward.runtime.discovery import Discovery
from leeward.runtime.server_identity import identity_of

Reach = Callable[[Cluster], Awaitable[Client]]
"""Makes the client of a member, which is closed afterwards. Raises: WorldError, ValueError that say what is missing."""

AT_ONCE = 8
"""Members that are read at the same time."""
METHOD_NOT_ALLOWED = 405
ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class Orphan:
    """One object of a member, as it was seen."""

    cluster: str
    resource: Resource[Manifest]
    key: Key
    uid: str
    resource_version: str
    work: Key
    """The Work that it names."""

    @property
    def is_shared(self) -> bool:
        """Tells whether others may live in it, who would lose their objects."""
        return is_shared(self.resource.api_version, self.resource.kind)

    def __str__(self) -> str:
        return f"{self.resource.kind} {self.key} in {self.cluster}"


class StillServes(WorldError):
    """Refusal to delete a copy of an application that does not serve elsewhere."""


class ReadingObstacle(Enum):
    """Known reason why a member is not read, which looking again does not change."""

    NO_CREDENTIAL = "NoCredential"
    """Member that is Ready, and of which no credential can be used."""
    NO_PROXY = "NoProxy"
    """Member in Pull mode, in a control plane without a cluster proxy."""
    NOT_READY = "NotReady"
    """Member that is not Ready: its Cluster tells why."""


@dataclass(frozen=True, slots=True)
class Findings:
    """`preserved` are those that stayed because their policy asked for that (`preserveResourcesOnDeletion`); `doubtful`
    are those that are not known to be this control plane's; `unreadable` says by cluster what is,
    and `obstacles` of some of these clusters, why. `works` are those whose binding is gone."""

    orphans: tuple[Orphan, ...]
    doubtful: tuple[Orphan, ...]
    unreadable: Mapping[str, str]
    works: tuple[OrphanWork, ...] = ()
    preserved: tuple[Orphan, ...] = ()
    obstacles: Mapping[str, ReadingObstacle] = field(default_factory=dict[str, ReadingObstacle])


class _Standing(Enum):
    """Standing of an object that names a Work: it is known to be made of that by this control plane, and is not to be
    there without it; it stays on purpose; or neither is known."""

    OURS = "ours"
    PRESERVED = "preserved"
    RELEASED = "released"
    """Object that stayed, and belongs to no Work any more, whatever Work has its name by now."""
    DOUBTFUL = "doubtful"


@dataclass(frozen=True, slots=True)
class _Seen:
    """Objects of one member that name a Work of its execution space."""

    objects: tuple[tuple[Orphan, "_Standing"], ...] = ()
    problem: str = ""
    obstacle: ReadingObstacle | None = None


async def find_orphans(control_plane: Client, reach: Reach, seconds: float | None = None) -> Findings:
    """Reads only. A member that was not read after `seconds` is unreadable.

    Raises: WorldError when the control plane cannot be read.
    """
    hub = identity_of(await control_plane.get(NAMESPACES, KUBE_SYSTEM_NAMESPACE))
    clusters = (await control_plane.list(CLUSTERS)).items
    before = await _works(control_plane)
    turns = asyncio.Semaphore(AT_ONCE)

    async def look(cluster: Cluster) -> _Seen:
        try:
            async with asyncio.timeout(seconds), turns:
                found = await _look_at_member(cluster, hub, reach)
        except TimeoutError:
            found = _Seen(problem=f"the cluster was not read within {seconds:g} s")
        is_told = bool(found.problem) and not cluster.is_ready
        return replace(found, obstacle=ReadingObstacle.NOT_READY) if is_told else found

    seen = await asyncio.gather(*map(look, clusters))
    known = before | await _works(control_plane)

    def orphans(standing: _Standing) -> tuple[Orphan, ...]:
        objects = (each for found in seen for each in found.objects)
        return tuple(
            orphan
            for orphan, its in objects
            if its is standing and (its is _Standing.RELEASED or orphan.work not in known)
        )

    problems = {cluster.name: found.problem for cluster, found in zip(clusters, seen, strict=True) if found.problem}
    return Findings(
        orphans(_Standing.OURS),
        orphans(_Standing.DOUBTFUL),
        problems,
        await find_orphan_works(control_plane),
        (*orphans(_Standing.PRESERVED), *orphans(_Standing.RELEASED)),
        {cluster.name: found.obstacle for cluster, found in zip(clusters, seen, strict=True) if found.obstacle},
    )


async def delete_orphan(control_plane: Client, reach: Reach, orphan: Orphan) -> bool:
    """Deletes one that was found, of the uid and the version that is there; whether it still was one. Holds: S5, S6.

    Raises: WorldError; StillServes of a copy that has nothing healthy in its stead.
    """
    hub = identity_of(await control_plane.get(NAMESPACES, KUBE_SYSTEM_NAMESPACE))
    cluster = await control_plane.get(CLUSTERS, orphan.cluster)
    client = await _reached(cluster, reach)
    try:
        for attempt in range(ATTEMPTS):
            found = await client.get(orphan.resource, orphan.key.name, orphan.key.namespace)
            ours, standing = _read(found, hub, orphan.cluster, orphan.resource)
            is_known = standing is _Standing.OURS
            if ours is None or not is_known or ours.uid != orphan.uid or await _has_work(control_plane, ours):
                return False
            if why := await why_relied_upon(control_plane, found, orphan.resource, ours.work.name):
                raise StillServes(why)
            try:
                await _delete(client, ours)
            except Conflict:
                if attempt == ATTEMPTS - 1:
                    raise
            else:
                return True
    except NotServed:
        raise
    except NotFound:
        return False
    finally:
        await client.close()
    return False


async def _delete(client: Client, seen: Orphan) -> None:
    key = seen.key
    await client.delete(seen.resource, key.name, key.namespace, uid=seen.uid, resource_version=seen.resource_version)


async def _reached(cluster: Cluster, reach: Reach) -> Client:
    """Raises: WorldError."""
    try:
        return await reach(cluster)
    except ValueError as error:
        raise WorldError(f"cluster {cluster.name}: {error}") from error


async def _look_at_member(cluster: Cluster, hub: str, reach: Reach) -> _Seen:
    try:
        client = await _reached(cluster, reach)
    except WorldError as error:
        return _Seen(problem=str(error))
    try:
        return await _look(client, cluster.name, hub)
    except WorldError as error:
        return _Seen(problem=str(error), obstacle=_obstacle_of(cluster, error))
    finally:
        await client.close()


def _obstacle_of(cluster: Cluster, error: WorldError) -> ReadingObstacle | None:
    if isinstance(error, NoCredential):
        return ReadingObstacle.NO_CREDENTIAL
    if isinstance(error, NotFound) and cluster.spec.sync_mode == "Pull":
        return ReadingObstacle.NO_PROXY
    return None


async def _look(client: Client, cluster: str, hub: str) -> _Seen:
    discovery = Discovery(client)
    offer = await discovery.offer()
    problems = [f"its kinds of {version} cannot be read" for version in offer.failed]
    found: dict[str, tuple[Orphan, _Standing]] = {}
    for api_version, kind in _kinds(offer.enablements):
        resource = await discovery.resource(api_version, kind)
        try:
            async for manifest in _managed(client, resource):
                orphan, standing = _read(manifest, hub, cluster, resource)
                if orphan is not None:
                    found.setdefault(orphan.uid, (orphan, standing))
        except ApiError as error:
            if not isinstance(error, NotFound) and error.code != METHOD_NOT_ALLOWED:
                problems.append(f"its {resource.plural} cannot be listed: {error}")
    return _Seen(tuple(found.values()), "; ".join(problems))


def _kinds(enablements: Collection[APIEnablement]) -> list[tuple[str, str]]:
    """One version of each kind: all show the same objects."""
    kinds: dict[tuple[str, str], str] = {}
    for enablement in enablements:
        group = enablement.group_version.rpartition("/")[0]
        for resource in enablement.resources:
            kinds.setdefault((group, resource.kind), enablement.group_version)
    return [(version, kind) for (_, kind), version in kinds.items()]


async def _managed(client: Client, resource: Resource[Manifest]) -> AsyncGenerator[Manifest, None]:
    """All objects of a kind that carry the label of what was propagated, or of what was released."""
    for label in (MANAGED_LABEL, PRESERVED_ANNOTATION):
        async for manifest in every(client, resource, label_selector=f"{label}=true"):
            yield manifest


def _read(manifest: Manifest, hub: str, cluster: str, resource: Resource[Manifest]) -> tuple[Orphan | None, _Standing]:
    """Orphan, of an object that names a Work of the cluster, and whose it is."""
    metadata, annotations = manifest["metadata"], annotations_of(manifest)
    owner = annotations.get(HUB_ANNOTATION, "")
    work = Key(annotations.get(WORK_NAMESPACE_ANNOTATION, ""), annotations.get(WORK_NAME_ANNOTATION, ""))
    owners = cast(list[Manifest], metadata.get("ownerReferences") or [])
    is_made_by_another = any(reference.get("controller") for reference in owners)
    if MANAGED_LABEL not in labels_of(manifest) and "deletionTimestamp" not in metadata and not is_made_by_another:
        key = key_of(manifest)
        work = Key(execution_space(cluster), work_name(resource.kind, key.name, key.namespace))
        version = metadata["resourceVersion"]
        return Orphan(cluster, resource, key, metadata["uid"], version, work), _Standing.RELEASED
    if work.namespace != execution_space(cluster) or not work.name or owner not in ("", hub) or is_made_by_another:
        return None, _Standing.DOUBTFUL
    if "deletionTimestamp" in metadata:
        return None, _Standing.DOUBTFUL
    key = key_of(manifest)
    orphan = Orphan(cluster, resource, key, metadata["uid"], metadata["resourceVersion"], work)
    if annotations.get(PRESERVED_ANNOTATION) == "true":
        return orphan, _Standing.PRESERVED
    is_known = owner == hub and work.name == work_name(resource.kind, key.name, key.namespace)
    return orphan, _Standing.OURS if is_known else _Standing.DOUBTFUL


async def _has_work(client: Client, orphan: Orphan) -> bool:
    """Tells whether its Work is there, asked of the API server itself. Raises: WorldError, also when it does not serve
    Works."""
    return await client.find(WORKS, orphan.work.name, orphan.work.namespace) is not None


async def _works(client: Client) -> frozenset[Key]:
    """Raises: WorldError."""
    return frozenset([key_of(work) async for work in every(client, WORKS)])
