"""The annotations under leeward.dev that the controllers write, and how they are taken away.

What users write themselves stays: on policies, and what lint is to ignore; so does the identity of the control plane on
the Namespace `kube-system`, without which the members' objects would be taken for another's when Leeward comes back.
One write takes all marks of an object, and none touches a spec.
"""

from collections.abc import Iterable

from kubeapi.codec import to_wire
from kubeapi.meta import Manifest, annotations_of
from kubeapi.resource import Resource
from leeward.api.names import LINT_IGNORE_ANNOTATION, SYSTEM_NAMESPACE
from leeward.app.migration.inventory import Inventory, InventoryItem
from leeward.client import Client
from leeward.runtime.seen_patches import patch_seen

OUR_PREFIX = "leeward.dev/"
_USERS_GROUP = "policy.karmada.io"
_KEPT_KINDS = ("Namespace", "Cluster", "Lease", "APIService", "CustomResourceDefinition")


async def marked_objects(inventory: Inventory) -> list[InventoryItem]:
    """Raises: WorldError."""
    return [found async for found in inventory.objects(await inventory.kinds()) if _is_ours_to_clear(found)]


async def clear(client: Client, marked: Iterable[InventoryItem]) -> int:
    """Gives how many objects were written. Raises: WorldError."""
    written = 0
    for found in marked:
        written += await clear_one(client, found.resource, {"metadata": to_wire(found.metadata)})
    return written


async def clear_one(client: Client, resource: Resource[Manifest], seen: Manifest) -> bool:
    """Tells whether the object was written. Raises: WorldError."""
    return await patch_seen(client, resource, seen, _clearing)


def _clearing(manifest: Manifest) -> Manifest | None:
    marks = _marks_in(annotations_of(manifest))
    return {"metadata": {"annotations": dict.fromkeys(marks)}} if marks else None


def _is_ours_to_clear(found: InventoryItem) -> bool:
    resource, metadata = found
    if resource.group == _USERS_GROUP or resource.kind in _KEPT_KINDS or metadata.namespace == SYSTEM_NAMESPACE:
        return False
    return bool(_marks_in(metadata.annotations))


def _marks_in(annotations: Iterable[str]) -> list[str]:
    return [key for key in annotations if key.startswith(OUR_PREFIX) and key != LINT_IGNORE_ANNOTATION]
