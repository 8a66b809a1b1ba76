"""Patches of bindings by the detector, where a quota refuses what their replicas ask for now.

A template that asks for more in fewer replicas would fit when the scheduler has taken replicas away; so their number is
written first, and the whole again later. Karmada: differs. The whole is refused, again and again.
"""

from typing import Any

from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from leeward.api.work import Binding
from leeward.client import Client, Forbidden
from leeward.core.quota.enforcement import EXCEEDED, fewer_replicas_alone


async def patch_binding(client: Client, resource: Resource[Any], present: Binding, patch: Manifest) -> Any:
    """The binding after it. Raises: Forbidden where a quota has refused it, or a part of it; WorldError."""
    name, namespace, version = present.name, present.namespace, present.metadata.resource_version
    try:
        return await client.patch(resource, name, patch, namespace, resource_version=version)
    except Forbidden as error:
        part = fewer_replicas_alone(patch, present.spec.replicas) if error.status.reason == EXCEEDED else None
        if part is not None:
            await client.patch(resource, name, part, namespace, resource_version=version)
        raise
