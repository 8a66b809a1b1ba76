"""Installs into a control plane, and takes the installation out again. Both can be repeated, and go on where they were.

Namespaces and definitions first; then it waits until every definition is served; then the rights. The webhook writes
its own configurations when it starts (`leeward.webhook.serving`). What is taken out is waited for, too: a definition
that is going would take along what is installed over it.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from typing import Any

from controller_runtime import delete_seen
from kubeapi.core import NAMESPACES, SECRETS
from kubeapi.meta import Manifest, annotations_of
from kubeapi.resource import Resource
from kubeclient import Client, NotFound
from leeward.api.names import CLUSTER_NAMESPACE, EXECUTION_SPACE_PREFIX, SYSTEM_NAMESPACE, cluster_of_execution_space
from leeward.api.resource import CLUSTERS
from leeward.api.schema import CUSTOM_KINDS
from leeward.app.install.manifests import (
    CLUSTER_PROXY,
    DEFINITIONS,
    FIELD_MANAGER,
    PROXY_CERTIFICATE_SECRET,
    definitions,
    namespaces,
    rights,
)
from leeward.app.local import FleetError
from leeward.webhook import configurations as webhook

WAIT_SECONDS, POLL_SECONDS = 60.0, 0.2
CONFIG_MAPS: Resource[Manifest] = Resource.of_manifests("v1", "configmaps", "ConfigMap", True)
_MADE_BY_KARMADA = "controller-gen.kubebuilder.io/version"
"""Annotation on the definitions that Karmada installs, and on none of ours."""


async def install(client: Client) -> None:
    """Raises: WorldError; FleetError when a definition is not served in time."""
    await install_kinds(client)
    await install_rights(client)


async def install_kinds(client: Client) -> None:
    """The namespaces and the definitions. One that Karmada has installed stays as it is: it has more than ours.

    Raises: WorldError; FleetError when a definition is not served in time.
    """
    untyped_namespaces = Resource.of_manifests("v1", "namespaces", "Namespace", False)
    for manifest in namespaces():
        await client.apply(untyped_namespaces, manifest, field_manager=FIELD_MANAGER)
    wanted, there = definitions(), await installed_definitions(client)
    for manifest in wanted:
        present = there.get(manifest["metadata"]["name"])
        if present is None or not is_of_karmada(present):
            await client.apply(DEFINITIONS, manifest, field_manager=FIELD_MANAGER)
    waiting = await _wait_definitions(client, [each["metadata"]["name"] for each in wanted], _is_established)
    if waiting:
        raise FleetError(f"not served after {WAIT_SECONDS:g} s: {', '.join(waiting)}")


async def install_rights(client: Client) -> None:
    """The accounts and roles of the components. Raises: WorldError."""
    for resource, namespace, manifest in rights():
        await client.apply(resource, manifest, namespace, field_manager=FIELD_MANAGER)


async def uninstall(client: Client, *, keep_kinds: bool = False) -> None:
    """Takes out everything, Karmada's objects too, and returns when no definition of theirs is left.

    With `keep_kinds` the definitions, their objects, and the namespaces stay.

    Raises: WorldError; FleetError while clusters are joined, or when a definition does not go in time.
    """
    if not keep_kinds:
        await _refuse_joined(client)
    await uninstall_webhooks(client)
    await uninstall_cluster_proxy(client)
    if not keep_kinds:
        await uninstall_definitions(client)
    await uninstall_rights(client)
    if not keep_kinds:
        for name in (SYSTEM_NAMESPACE, CLUSTER_NAMESPACE):
            await _delete(client, NAMESPACES, name)


async def uninstall_webhooks(client: Client) -> None:
    """The configurations, and the key of the webhook. Raises: WorldError."""
    for resource in (webhook.MUTATING, webhook.VALIDATING):
        await _delete(client, resource, webhook.NAME)
    await _delete(client, SECRETS, webhook.CERTIFICATE_SECRET, SYSTEM_NAMESPACE)


async def uninstall_cluster_proxy(client: Client) -> None:
    """The address and the key of the cluster proxy. Raises: WorldError."""
    await _delete(client, CONFIG_MAPS, CLUSTER_PROXY, SYSTEM_NAMESPACE)
    await _delete(client, SECRETS, PROXY_CERTIFICATE_SECRET, SYSTEM_NAMESPACE)


async def uninstall_rights(client: Client, *, keeping: Collection[tuple[str, str, str]] = ()) -> None:
    """The accounts and roles of the components, but for those of `keeping` (plural, namespace, name).

    Raises: WorldError.
    """
    for resource, namespace, manifest in reversed(rights()):
        if (resource.plural, namespace, manifest["metadata"]["name"]) not in keeping:
            await _delete(client, resource, manifest["metadata"]["name"], namespace)


async def uninstall_definitions(client: Client) -> None:
    """Deletes all definitions, with all their objects. Returns when none is left.

    Raises: WorldError; FleetError when a definition does not go in time.
    """
    for kind in CUSTOM_KINDS:
        await _release(client, kind.resource)
    await delete_definitions(client, [manifest["metadata"]["name"] for manifest in definitions()])


async def delete_definitions(client: Client, names: Iterable[str]) -> None:
    """Deletes these definitions, with whatever objects they have. Returns when none is left.

    Raises: WorldError; FleetError when a definition does not go in time.
    """
    unwanted = list(names)
    for name in unwanted:
        await _delete(client, DEFINITIONS, name)
    waiting = await _wait_definitions(client, unwanted, lambda present: present is None)
    if waiting:
        raise FleetError(
            f"not gone after {WAIT_SECONDS:g} s: {', '.join(waiting)}; "
            "objects with finalizers of others hold them: see their conditions, and run `leeward deinit` again"
        )


async def installed_definitions(client: Client) -> dict[str, Manifest]:
    """The definitions of our kinds that are there, by name. Raises: WorldError."""
    ours = {manifest["metadata"]["name"] for manifest in definitions()}
    found = {item["metadata"]["name"]: item for item in (await client.list(DEFINITIONS)).items}
    return {name: found[name] for name in sorted(ours.intersection(found))}


def is_of_karmada(definition: Manifest) -> bool:
    """Tells whether Karmada has installed it, and not we."""
    return _MADE_BY_KARMADA in annotations_of(definition)


async def _refuse_joined(client: Client) -> None:
    joined = await _joined(client)
    if joined:
        raise FleetError(
            f"{', '.join(joined)} {'is' if len(joined) == 1 else 'are'} still joined: "
            "`leeward unjoin NAME` first (`leeward unregister NAME` for Pull), so that what was placed there is taken "
            "care of"
        )


async def _wait_definitions(
    client: Client, names: Iterable[str], is_done: Callable[[Manifest | None], bool]
) -> list[str]:
    """Waits until all are done, as they are in the control plane (None: not there). Gives those that are not in
    time."""
    waiting = set(names)
    with suppress(TimeoutError):
        async with asyncio.timeout(WAIT_SECONDS):
            while waiting:
                present = {item["metadata"]["name"]: item for item in (await client.list(DEFINITIONS)).items}
                waiting = {name for name in waiting if not is_done(present.get(name))}
                if waiting:
                    await asyncio.sleep(POLL_SECONDS)
    return sorted(waiting)


def _is_established(definition: Manifest | None) -> bool:
    if definition is None or "deletionTimestamp" in definition["metadata"]:
        return False
    conditions: list[Manifest] = definition.get("status", {}).get("conditions") or []
    return any(c["type"] == "Established" and c["status"] == "True" for c in conditions)


async def _joined(client: Client) -> list[str]:
    """Clusters that have joined. Where their kind is not served, as when it changes hands, or was removed already, a
    cluster has not left whose execution space is there. Raises: WorldError. Holds: S5."""
    try:
        return [cluster.name for cluster in (await client.list(CLUSTERS)).items]
    except NotFound:
        names = [namespace.name for namespace in (await client.list(NAMESPACES)).items]
        return [cluster_of_execution_space(name) for name in names if name.startswith(EXECUTION_SPACE_PREFIX)]


async def _release(client: Client, resource: Resource[Any]) -> None:
    """Takes the finalizers of control planes off all objects of a kind: nobody is left who would. Those of others are
    theirs."""
    untyped = Resource.of_manifests(resource.api_version, resource.plural, resource.kind, resource.namespaced)
    try:
        items = (await client.list(untyped)).items
    except NotFound:
        return
    for item in items:
        metadata = item["metadata"]
        present: list[str] = metadata.get("finalizers") or []
        others = [finalizer for finalizer in present if not _is_of_control_planes(finalizer)]
        if len(others) < len(present):
            await client.patch(
                untyped,
                metadata["name"],
                {"metadata": {"finalizers": others or None}},
                metadata.get("namespace", ""),
                resource_version=metadata["resourceVersion"],
            )


def _is_of_control_planes(finalizer: str) -> bool:
    domain = finalizer.partition("/")[0]
    return domain in ("karmada.io", "leeward.dev") or domain.endswith(".karmada.io")


async def _delete(client: Client, resource: Resource[Any], name: str, namespace: str = "") -> None:
    with suppress(NotFound):
        await delete_seen(client, resource, name, namespace)
