"""Marks that Leeward has left in a control plane that goes back to Karmada, and how they are taken away: annotations
under leeward.dev, and conditions of templates of workloads. Karmada would neither keep them true nor remove them.

What users write themselves stays: on policies, and what lint is to ignore; conditions of a user's script, of an
interpreter or of Kubernetes. So does the identity of the control plane on the Namespace `kube-system`, without which
the members' objects would be another's when Leeward comes back. One write takes all marks of an object, and none
touches a spec."""

from collections.abc import Iterable
from typing import Final

from controller_runtime import patch_seen
from kubeapi.codec import to_wire
from kubeapi.diff import is_equal
from kubeapi.meta import Manifest, annotations_of
from kubeapi.resource import Resource
from kubeapi.untrusted import mapping_in, mappings_in
from kubeclient import Client
from leeward.api.names import LINT_IGNORE_ANNOTATION, SYSTEM_NAMESPACE
from leeward.app.migration.inventory import Inventory, InventoryItem
from leeward.core.execution.deployment_conditions import is_worded_here
from leeward.operations.bindings import list_manifests

DEPLOYMENT_MANIFESTS: Final[Resource[Manifest]] = Resource.of_manifests("apps/v1", "deployments", "Deployment", True)

_TOLD_KINDS: Final = (
    DEPLOYMENT_MANIFESTS,
    Resource.of_manifests("apps/v1", "statefulsets", "StatefulSet", True),
    Resource.of_manifests("apps/v1", "daemonsets", "DaemonSet", True),
    Resource.of_manifests("apps/v1", "replicasets", "ReplicaSet", True),
    Resource.of_manifests("batch/v1", "jobs", "Job", True),
)


async def clear_template_conditions(client: Client) -> int:
    """Gives how many templates were written. Raises: WorldError."""
    written = 0
    for resource in _TOLD_KINDS:
        for template in await told_templates(client, resource):
            written += await patch_seen(client, resource, template, _clearing, subresource="status")
    return written


async def told_templates(client: Client, resource: Resource[Manifest] = DEPLOYMENT_MANIFESTS) -> list[Manifest]:
    """Templates of a kind that have such conditions. Raises: WorldError."""
    return [each for each in await list_manifests(client, resource) if _clearing(each) is not None]


def _clearing(template: Manifest) -> Manifest | None:
    """Patch that leaves the conditions of others; None where none is to go."""
    conditions = list(mappings_in(mapping_in(template, "status"), "conditions"))
    kept = [each for each in conditions if not is_worded_here(each)]
    return {"status": {"conditions": kept or None}} if not is_equal(kept, conditions) else None


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
    return await patch_seen(client, resource, seen, _without_marks)


def _without_marks(manifest: Manifest) -> Manifest | None:
    marks = _marks_in(annotations_of(manifest))
    return {"metadata": {"annotations": dict.fromkeys(marks)}} if marks else None


def _is_ours_to_clear(found: InventoryItem) -> bool:
    resource, metadata = found
    if resource.group == _USERS_GROUP or resource.kind in _KEPT_KINDS or metadata.namespace == SYSTEM_NAMESPACE:
        return False
    return bool(_marks_in(metadata.annotations))


def _marks_in(annotations: Iterable[str]) -> list[str]:
    return [key for key in annotations if key.startswith(OUR_PREFIX) and key != LINT_IGNORE_ANNOTATION]
