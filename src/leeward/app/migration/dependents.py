"""Dependents of a Cluster, which belong to it by an owner reference: its Secrets, Leases, roles, and whatever else.

The garbage collector deletes what belongs to a uid that is no more. A Cluster that moves from one server to another
gets a new uid, so that the references are taken away before it moves, and put back, with the new uid, after. Holds: S5.
"""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from controller_runtime import patch_seen
from kubeapi.codec import from_wire, to_wire
from kubeapi.diff import is_equal
from kubeapi.meta import Manifest, OwnerReference
from kubeapi.resource import Resource
from kubeclient import Client
from leeward.api.resource import CLUSTERS
from leeward.app.migration.inventory import Inventory, InventoryItem
from leeward.app.migration.record import Dependent


async def find_dependents(inventory: Inventory) -> Mapping[str, tuple[Dependent, ...]]:
    """Dependents by the uid of the Cluster. Raises: WorldError."""
    kinds = [resource for resource in await inventory.kinds() if resource.group != CLUSTERS.group]
    found = dict[str, list[Dependent]]()
    async for each in inventory.objects(kinds):
        for reference in each.metadata.owner_references:
            if _is_cluster(reference):
                found.setdefault(reference.uid, []).append(_dependent(each, reference))
    return {uid: tuple(dependents) for uid, dependents in found.items()}


async def detach(client: Client, dependents: Iterable[Dependent]) -> None:
    """Takes the references away. Raises: WorldError."""
    for dependent in dependents:
        await _refer(client, dependent, None)


async def attach(client: Client, dependents: Iterable[Dependent], uid: str) -> None:
    """Puts the references there, to the Cluster that has this uid now. Raises: WorldError."""
    for dependent in dependents:
        await _refer(client, dependent, msgspec.structs.replace(dependent.reference, uid=uid))


async def _refer(client: Client, dependent: Dependent, reference: OwnerReference | None) -> None:
    """Leaves the other references as they are. An object that is gone, or another by now, needs none."""
    resource = Resource.of_manifests(dependent.api_version, dependent.plural, dependent.kind, dependent.namespaced)
    found = await client.find(resource, dependent.name, dependent.namespace)
    if found is None:
        return
    if found["metadata"]["uid"] != dependent.uid:
        return

    def change(seen: Manifest) -> Manifest | None:
        before: Sequence[Manifest] = seen["metadata"].get("ownerReferences") or ()
        after = [each for each in before if not _is_same_cluster(each, dependent.reference)]
        after += [to_wire(reference)] if reference is not None else []
        return {"metadata": {"ownerReferences": after or None}} if not is_equal(after, list(before)) else None

    await patch_seen(client, resource, found, change, only_seen=True)


def _is_same_cluster(found: Manifest, reference: OwnerReference) -> bool:
    read = from_wire(found, OwnerReference)
    return _is_cluster(read) and read.name == reference.name


def _is_cluster(reference: OwnerReference) -> bool:
    return reference.kind == CLUSTERS.kind and reference.api_version.rpartition("/")[0] == CLUSTERS.group


def _dependent(found: InventoryItem, reference: OwnerReference) -> Dependent:
    resource, metadata = found
    return Dependent(
        api_version=resource.api_version,
        plural=resource.plural,
        kind=resource.kind,
        namespaced=resource.namespaced,
        namespace=metadata.namespace,
        name=metadata.name,
        uid=metadata.uid,
        reference=reference,
    )
