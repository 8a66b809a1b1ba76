"""The annotations under leeward.dev that the controllers write, and how they are taken away.

What users write themselves stays: on policies, and what lint is to ignore; so does the identity of the control plane on
the Namespace `kube-system`, without which the members' objects would be taken for another's when Leeward comes back.
One write takes all marks of an object, and none touches a spec.
"""

from collections.abc import Iterable

from leeward.api.names import LINT_IGNORE_ANNOTATION, SYSTEM_NAMESPACE
from leeward.app.migration.inventory import Inventory, InventoryItem
from leeward.client import Client, Conflict, NotFound

OUR_PREFIX = "leeward.dev/"
_USERS_GROUP = "policy.karmada.io"
_KEPT_KINDS = ("Namespace", "Cluster", "Lease", "APIService", "CustomResourceDefinition")
ATTEMPTS = 5


async def marked_objects(inventory: Inventory) -> list[InventoryItem]:
    """Raises: WorldError."""
    return [found async for found in inventory.objects(await inventory.kinds()) if _is_ours_to_clear(found)]


async def clear(client: Client, marked: Iterable[InventoryItem]) -> int:
    """Gives how many objects were written. Raises: WorldError."""
    written = 0
    for found in marked:
        metadata = found.metadata
        gone = dict.fromkeys(_marks_of(found))
        patch = {"metadata": {"annotations": gone}}
        for attempt in range(ATTEMPTS):
            try:
                await client.patch(found.resource, metadata.name, patch, metadata.namespace)
                written += 1
                break
            except NotFound:
                break
            except Conflict:
                if attempt == ATTEMPTS - 1:
                    raise
    return written


def _is_ours_to_clear(found: InventoryItem) -> bool:
    resource, metadata = found
    if resource.group == _USERS_GROUP or resource.kind in _KEPT_KINDS or metadata.namespace == SYSTEM_NAMESPACE:
        return False
    return bool(_marks_of(found))


def _marks_of(found: InventoryItem) -> list[str]:
    annotations = found.metadata.annotations
    return [key for key in annotations if key.startswith(OUR_PREFIX) and key != LINT_IGNORE_ANNOTATION]
