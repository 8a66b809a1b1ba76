"""Patching what is there, as it was seen.

A patch without preconditions changes whatever bears the name by then. Here each one names uid and resourceVersion, and
what has changed meanwhile is looked at again, a bounded number of times (Holds: S5).

Kubernetes: a patch with another uid is refused as invalid, one with another resourceVersion as a conflict.
"""

from collections.abc import Callable
from typing import Any

from controller_runtime.identity import key_of, uid_of, version_of
from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeclient import Client, Conflict, NotFound, NotServed

ATTEMPTS = 5
Change = Callable[[Manifest], Manifest | None]
"""Merge patch for an object as it is; None where nothing is to be written."""


async def patch_seen(
    client: Client,
    resource: Resource[Any],
    seen: Manifest,
    change: Change,
    *,
    subresource: str = "",
    only_seen: bool = False,
) -> bool:
    """Patches an object, of which `seen` has at least the metadata. With `only_seen` none that has come in its place.

    Returns whether it was written; an object that is gone is not.

    Raises: Conflict when it never stops changing; NotServed; WorldError.
    """
    uid, attempts = uid_of(seen), ATTEMPTS
    while (patch := change(seen)) is not None:
        attempts -= 1
        try:
            return await _patch(client, resource, seen, patch, subresource)
        except Conflict:
            if not attempts:
                raise
        found = await _found(client, resource, seen)
        if found is None or (only_seen and uid_of(found) != uid):
            return False
        seen = found
    return False


async def _patch(client: Client, resource: Resource[Any], seen: Manifest, patch: Manifest, subresource: str) -> bool:
    namespace, name = key_of(seen)
    bound = {**patch, "metadata": {**patch.get("metadata", {}), "uid": uid_of(seen)}}
    version = str(version_of(seen))
    try:
        await client.patch(resource, name, bound, namespace, subresource=subresource, resource_version=version)
    except NotServed:
        raise
    except NotFound:
        return False
    return True


async def _found(client: Client, resource: Resource[Any], seen: Manifest) -> Manifest | None:
    untyped = Resource.of_manifests(resource.api_version, resource.plural, resource.kind, resource.namespaced)
    namespace, name = key_of(seen)
    try:
        return await client.get(untyped, name, namespace)
    except NotServed:
        raise
    except NotFound:
        return None
