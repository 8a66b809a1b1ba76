"""Installs into a control plane, and takes the installation out again. Both can be repeated, and go on where they were.

Namespaces and definitions first; then it waits until every definition is served; then the rights. The webhook writes
its own configurations when it starts (`leeward.webhook.serving`).
"""

import asyncio
from typing import Any

from leeward.api.meta import Manifest
from leeward.api.names import CLUSTER_NAMESPACE, SYSTEM_NAMESPACE
from leeward.api.resource import CLUSTERS, NAMESPACES, Resource
from leeward.api.schema import CUSTOM_KINDS
from leeward.app.install.manifests import (
    DEFINITIONS,
    FIELD_MANAGER,
    definitions,
    namespaces,
    rights,
)
from leeward.app.local.errors import FleetError
from leeward.client import Client, NotFound
from leeward.webhook import configurations as webhook

ESTABLISHED_SECONDS, POLL_SECONDS = 60.0, 0.2


async def install(client: Client) -> None:
    """Raises: WorldError; FleetError when a definition is not served in time."""
    untyped_namespaces = Resource.of_manifests("v1", "namespaces", "Namespace", False)
    for manifest in namespaces():
        await client.apply(untyped_namespaces, manifest, field_manager=FIELD_MANAGER)
    wanted = definitions()
    for manifest in wanted:
        await client.apply(DEFINITIONS, manifest, field_manager=FIELD_MANAGER)
    await _wait_established(client, [manifest["metadata"]["name"] for manifest in wanted])
    for resource, namespace, manifest in rights():
        await client.apply(resource, manifest, namespace, field_manager=FIELD_MANAGER)


async def uninstall(client: Client) -> None:
    """Takes out everything, Karmada's objects too. Raises: WorldError; FleetError while clusters are joined."""
    joined = await _joined(client)
    if joined:
        raise FleetError(
            f"{', '.join(joined)} {'is' if len(joined) == 1 else 'are'} still joined: "
            f"`leeward unjoin NAME` first, so that what was placed there is taken care of"
        )
    for resource in (webhook.MUTATING, webhook.VALIDATING):
        await _delete(client, resource, webhook.NAME)
    for kind in CUSTOM_KINDS:
        await _release(client, kind.resource)
    for manifest in definitions():
        await _delete(client, DEFINITIONS, manifest["metadata"]["name"])
    for resource, namespace, manifest in reversed(rights()):
        await _delete(client, resource, manifest["metadata"]["name"], namespace)
    for name in (SYSTEM_NAMESPACE, CLUSTER_NAMESPACE):
        await _delete(client, NAMESPACES, name)


async def _wait_established(client: Client, names: list[str]) -> None:
    waiting = set(names)
    try:
        async with asyncio.timeout(ESTABLISHED_SECONDS):
            while waiting:
                page = await client.list(DEFINITIONS)
                waiting -= {item["metadata"]["name"] for item in page.items if _is_established(item)}
                if waiting:
                    await asyncio.sleep(POLL_SECONDS)
    except TimeoutError:
        raise FleetError(f"not served after {ESTABLISHED_SECONDS:g} s: {', '.join(sorted(waiting))}") from None


def _is_established(definition: Manifest) -> bool:
    conditions: list[Manifest] = definition.get("status", {}).get("conditions") or []
    return any(c["type"] == "Established" and c["status"] == "True" for c in conditions)


async def _joined(client: Client) -> list[str]:
    try:
        return [cluster.name for cluster in (await client.list(CLUSTERS)).items]
    except NotFound:
        return []


async def _release(client: Client, resource: Resource[Any]) -> None:
    """Takes the finalizers off all objects of a kind: nobody is left who would."""
    untyped = Resource.of_manifests(resource.api_version, resource.plural, resource.kind, resource.namespaced)
    try:
        items = (await client.list(untyped)).items
    except NotFound:
        return
    for item in items:
        metadata = item["metadata"]
        if metadata.get("finalizers"):
            await client.patch(
                untyped, metadata["name"], {"metadata": {"finalizers": None}}, metadata.get("namespace", "")
            )


async def _delete(client: Client, resource: Resource[Any], name: str, namespace: str = "") -> None:
    try:
        await client.delete(resource, name, namespace)
    except NotFound:
        return
