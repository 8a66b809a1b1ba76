"""The conditions that Leeward has given templates of workloads, and how they are taken away: Karmada would neither keep
them true nor remove them, and whoever waits for one would be told what was.

A condition is ours by its words: those of a user's script, of an interpreter or of Kubernetes stay.
"""

from typing import Final

from kubeapi.diff import is_equal
from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeapi.untrusted import mapping_in, mappings_in
from leeward.client import Client
from leeward.core.execution.deployment_conditions import is_worded_here
from leeward.operations.bindings import list_manifests
from leeward.runtime.seen_patches import patch_seen

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
