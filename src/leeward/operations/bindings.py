"""All bindings of a control plane, page by page, as far as they can be read."""

from collections.abc import Iterable
from contextlib import suppress
from typing import Any, NamedTuple

from kubeapi.codec import DecodeError, from_wire
from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeclient import Client, NotFound, all_of
from leeward.api.resource import CLUSTER_RESOURCE_BINDINGS, RESOURCE_BINDINGS
from leeward.api.work import Binding
from leeward.core.unreadable_objects import UnreadableObject, unreadable_object


class Bindings(NamedTuple):
    """`unreadable` are the names of those whose fields have another form than they should; `problems` says why."""

    items: tuple[Binding, ...]
    unreadable: tuple[str, ...]
    problems: tuple[UnreadableObject, ...] = ()


async def list_bindings(client: Client) -> Bindings:
    """Raises: WorldError."""
    items, unreadable, problems = list[Binding](), list[str](), list[UnreadableObject]()
    for resource in (RESOURCE_BINDINGS, CLUSTER_RESOURCE_BINDINGS):
        for manifest in await list_manifests(client, resource):
            try:
                items.append(from_wire(manifest, resource.object_type))
            except DecodeError:
                metadata = manifest.get("metadata", {})
                unreadable.append("/".join(filter(None, (metadata.get("namespace"), metadata.get("name")))))
                problem = unreadable_object(manifest, resource)
                problems += () if problem is None else (problem,)
    return Bindings(tuple(items), tuple(unreadable), tuple(problems))


async def find_unreadable(client: Client, resources: Iterable[Resource[Any]]) -> list[UnreadableObject]:
    """Objects of these kinds that cannot be read; a kind that is not served has none. Raises: WorldError."""
    found = list[UnreadableObject]()
    for resource in resources:
        with suppress(NotFound):
            for manifest in await list_manifests(client, resource):
                problem = unreadable_object(manifest, resource)
                found += () if problem is None else (problem,)
    return found


async def list_manifests(client: Client, resource: Resource[Any], namespace: str = "") -> list[Manifest]:
    """All objects of a kind, or those of one namespace, as they are on the wire, so that one
    that cannot be read does not hide the others."""
    kind = Resource.of_manifests(resource.api_version, resource.plural, resource.kind, resource.namespaced)
    return await all_of(client, kind, namespace)
