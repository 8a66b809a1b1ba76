"""A Cluster that is being deleted: its Works are taken back, then its execution space; its finalizer goes last.

What others may live in (Namespaces, CustomResourceDefinitions, volumes and their claims) stays in the member. What a
policy preserves stays, too, without marks of ownership.

The Works go first, while an agent has its rights in the execution space. Of a dead agent nobody waits for anything.
"""

from collections.abc import Sequence

from kubeapi.core import NAMESPACES
from kubeclient import Client, Conflict, NotFound, NotServed
from leeward.api.cluster import Cluster
from leeward.api.names import EXECUTION_CONTROLLER_FINALIZER
from leeward.api.resource import WORKS
from leeward.api.work import Work
from leeward.core.eviction.shared_resources import has_shared


async def give_back(client: Client, cluster: Cluster, space: str) -> Sequence[Work] | None:
    """One step; the Works that are left, or None when nothing is left of its execution space. Raises: WorldError."""
    works = (await client.list(WORKS, space)).items
    if works:
        await _take_back(client, cluster, works)
        return works
    return [] if await _remove_space(client, space) else None


def why_it_stays(cluster: Cluster, left: Sequence[Work]) -> str:
    """Reason for people why it stays; empty where it only takes its time."""
    if not left or cluster.is_ready or cluster.spec.sync_mode == "Pull":
        return ""
    first = min(work.name for work in left)
    return (
        f"It is leaving, but what runs there cannot be removed while it is not ready ({len(left)} Works are left, as "
        f"{first}). It leaves when it is back, or with `leeward unjoin {cluster.name} --force`."
    )


async def _take_back(client: Client, cluster: Cluster, works: Sequence[Work]) -> None:
    """Asks for the deletion of the Works. A dead agent will never clean up: their finalizers are taken off.

    What has changed meanwhile is looked at again with the next step. Holds: S5.
    """
    for work in works:
        try:
            if work.metadata.deletion_timestamp is None:
                metadata = (await _with_shared_kept(client, work)).metadata
                await client.delete(
                    WORKS, work.name, work.namespace, uid=metadata.uid, resource_version=metadata.resource_version
                )
            elif cluster.spec.sync_mode == "Pull" and not cluster.is_ready:
                await _strip(client, work)
        except (NotFound, Conflict):
            continue


async def _with_shared_kept(client: Client, work: Work) -> Work:
    """The Work, told to leave what others may live in; agents of any version honour that. Raises: WorldError."""
    if work.spec.preserve_resources_on_deletion or not has_shared(work):
        return work
    patch, version = {"spec": {"preserveResourcesOnDeletion": True}}, work.metadata.resource_version
    return await client.patch(WORKS, work.name, patch, work.namespace, resource_version=version)


async def _strip(client: Client, work: Work) -> None:
    finalizers = [f for f in work.metadata.finalizers if f != EXECUTION_CONTROLLER_FINALIZER]
    if len(finalizers) < len(work.metadata.finalizers):
        patch = {"metadata": {"finalizers": finalizers or None}}
        await client.patch(WORKS, work.name, patch, work.namespace, resource_version=work.metadata.resource_version)


async def _remove_space(client: Client, name: str) -> bool:
    """Tells whether there still is one."""
    try:
        namespace = await client.get(NAMESPACES, name)
        if namespace.metadata.deletion_timestamp is None:
            metadata = namespace.metadata
            await client.delete(NAMESPACES, name, uid=metadata.uid, resource_version=metadata.resource_version)
    except NotServed:
        raise
    except NotFound:
        return False
    return True
