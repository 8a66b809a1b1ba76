"""Orphans that are still relied upon: copies of an application whose binding has it run elsewhere, where it does not
serve, or whose template is there and has no binding yet. Only asked of the control plane; decides, and deletes nothing.

Of a kind without replicas, as the custom resource from which an operator makes a database, no copy is any less alone.
"""

from typing import TypeVar

from controller_runtime import Key
from kubeapi.meta import Manifest, ReadOnlyManifest, annotations_of
from kubeapi.resource import Resource
from kubeclient import Client, NotFound
from leeward.api.names import (
    BINDING_NAME_ANNOTATION,
    BINDING_NAMESPACE_ANNOTATION,
    CLUSTER_BINDING_NAME_ANNOTATION,
    execution_space,
)
from leeward.api.resource import CLUSTER_RESOURCE_BINDINGS, CLUSTERS, RESOURCE_BINDINGS, WORKS
from leeward.api.work import Binding
from leeward.core.copies.availability import availability
from leeward.core.execution.claims import name_of_works
from leeward.core.execution.works import replicas_by_cluster

T = TypeVar("T")

NOT_HEALTHY = "its replacement is not healthy; when that is healthy, the orphan can be deleted"
UNPLACED = "no policy has placed its template yet; place the template, or delete the orphan by kubectl"


async def why_relied_upon(control_plane: Client, found: ReadOnlyManifest, of: Resource[Manifest], work: str) -> str:
    """Reason for which `found`, made of the Work of that name, stays: it is a copy of an application of which not all
    that is to run in its stead is seen healthy. Empty where nothing holds it. Holds: S1. Raises: WorldError."""
    binding = await _binding_of(control_plane, found)
    if binding is None:
        return UNPLACED if await _has_template(control_plane, of, found) else ""
    if name_of_works(binding) != work or binding.metadata.deletion_timestamp is not None:
        return ""
    if binding.spec.is_workload and binding.spec.asks_for_none:
        return ""
    placed = replicas_by_cluster(binding.spec)
    for cluster, replicas in placed.items():
        if not await _serves(control_plane, cluster, work, replicas):
            return NOT_HEALTHY
    return "" if placed else NOT_HEALTHY


async def _serves(control_plane: Client, cluster: str, work: str, replicas: int) -> bool:
    """Tells whether a copy is seen healthy, or surely serves as many replicas as it is to have."""
    there = await _get(control_plane, CLUSTERS, Key("", cluster))
    copy = await _get(control_plane, WORKS, Key(execution_space(cluster), work))
    known = availability(copy, there, replicas)
    return known.is_whole or known.at_least >= max(1, replicas)


async def _has_template(control_plane: Client, resource: Resource[Manifest], found: ReadOnlyManifest) -> bool:
    """Tells whether there is a template of that name, which is placed soon; none where the kind is not served."""
    metadata = found["metadata"]
    try:
        await control_plane.get(resource, metadata["name"], metadata.get("namespace", ""))
    except NotFound:
        return False
    return True


async def _get(control_plane: Client, resource: Resource[T], key: Key) -> T | None:
    return await control_plane.find(resource, key.name, key.namespace)


async def _binding_of(control_plane: Client, found: ReadOnlyManifest) -> Binding | None:
    annotations = annotations_of(found)
    namespace, name = annotations.get(BINDING_NAMESPACE_ANNOTATION, ""), annotations.get(BINDING_NAME_ANNOTATION, "")
    cluster_wide = annotations.get(CLUSTER_BINDING_NAME_ANNOTATION, "")
    if namespace and name:
        return await control_plane.find(RESOURCE_BINDINGS, name, namespace)
    return await control_plane.find(CLUSTER_RESOURCE_BINDINGS, cluster_wide) if cluster_wide else None
