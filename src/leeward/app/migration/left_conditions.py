"""The conditions that Leeward has given Deployment templates, and how they are taken away: Karmada would neither keep
them true nor remove them, and whoever waits for one would be told what was."""

from contextlib import suppress
from typing import Final

from kubeapi.meta import Manifest, labels_of
from kubeapi.resource import Resource
from kubeapi.untrusted import mapping_in, mappings_in, text_in
from leeward.api.names import CLUSTER_POLICY_ID_LABEL, POLICY_ID_LABEL
from leeward.client import Client, Conflict, NotFound
from leeward.core.execution.deployment_conditions import CONDITION_TYPES
from leeward.operations.bindings import list_manifests

DEPLOYMENT_MANIFESTS: Final[Resource[Manifest]] = Resource.of_manifests("apps/v1", "deployments", "Deployment", True)
ATTEMPTS: Final = 5


async def clear_template_conditions(client: Client) -> int:
    """Gives how many templates were written. Raises: WorldError."""
    written = 0
    for template in await told_templates(client):
        with suppress(NotFound):
            written += await _clear(client, template)
    return written


async def told_templates(client: Client) -> list[Manifest]:
    """Templates that have such conditions. Raises: WorldError."""
    return [each for each in await list_manifests(client, DEPLOYMENT_MANIFESTS) if _kept(each) is not None]


async def _clear(client: Client, template: Manifest) -> bool:
    """Tells whether it was written; what has changed meanwhile is looked at again."""
    metadata = template["metadata"]
    name, namespace = metadata["name"], metadata.get("namespace", "")
    for attempt in range(ATTEMPTS):
        kept = _kept(template)
        if kept is None:
            return False
        version = template["metadata"]["resourceVersion"]
        patch = {"status": {"conditions": kept or None}}
        try:
            await client.patch(
                DEPLOYMENT_MANIFESTS, name, patch, namespace, subresource="status", resource_version=version
            )
        except Conflict:
            if attempt == ATTEMPTS - 1:
                raise
            template = await client.get(DEPLOYMENT_MANIFESTS, name, namespace)
        else:
            return True
    return False


def _kept(template: Manifest) -> list[Manifest] | None:
    """Conditions that stay; None where none is to go."""
    conditions = list(mappings_in(mapping_in(template, "status"), "conditions"))
    kept = [each for each in conditions if text_in(each, "type") not in CONDITION_TYPES]
    return kept if _is_claimed(template) and kept != conditions else None


def _is_claimed(template: Manifest) -> bool:
    """Tells whether a policy has claimed it: it is a template, and no workload of the control plane's own."""
    return not {POLICY_ID_LABEL, CLUSTER_POLICY_ID_LABEL}.isdisjoint(labels_of(template))
