"""The conditions that Leeward has given Deployment templates, and how they are taken away: Karmada would neither keep
them true nor remove them, and whoever waits for one would be told what was.

A condition is ours by its words: those of a user's script, of an interpreter or of Kubernetes stay.
"""

from typing import Final

from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeapi.untrusted import mapping_in, mappings_in
from leeward.client import Client
from leeward.core.execution.deployment_conditions import is_worded_here
from leeward.operations.bindings import list_manifests
from leeward.runtime.seen_patches import patch_seen

DEPLOYMENT_MANIFESTS: Final[Resource[Manifest]] = Resource.of_manifests("apps/v1", "deployments", "Deployment", True)


async def clear_template_conditions(client: Client) -> int:
    """Gives how many templates were written. Raises: WorldError."""
    written = 0
    for template in await told_templates(client):
        written += await patch_seen(client, DEPLOYMENT_MANIFESTS, template, _clearing, subresource="status")
    return written


async def told_templates(client: Client) -> list[Manifest]:
    """Templates that have such conditions. Raises: WorldError."""
    return [each for each in await list_manifests(client, DEPLOYMENT_MANIFESTS) if _clearing(each) is not None]


def _clearing(template: Manifest) -> Manifest | None:
    """Patch that leaves the conditions of others; None where none is to go."""
    conditions = list(mappings_in(mapping_in(template, "status"), "conditions"))
    kept = [each for each in conditions if not is_worded_here(each)]
    return {"status": {"conditions": kept or None}} if kept != conditions else None
