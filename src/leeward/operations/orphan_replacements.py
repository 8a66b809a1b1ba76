"""Orphans that are still relied upon: copies of an application whose binding has it run elsewhere, where it does not
serve. Only asked of the control plane; decides, and deletes nothing."""

from kubeapi.meta import ReadOnlyManifest, annotations_of
from leeward.api.cluster import Cluster
from leeward.api.names import (
    BINDING_NAME_ANNOTATION,
    BINDING_NAMESPACE_ANNOTATION,
    CLUSTER_BINDING_NAME_ANNOTATION,
    execution_space,
)
from leeward.api.resource import CLUSTER_RESOURCE_BINDINGS, CLUSTERS, RESOURCE_BINDINGS, WORKS
from leeward.api.work import Binding, Work
from leeward.client import Client, NotFound, NotServed
from leeward.core.execution.claims import name_of_works
from leeward.core.execution.removal import PlacedCopies


async def is_relied_upon(control_plane: Client, found: ReadOnlyManifest, work_name: str) -> bool:
    """Tells whether `found`, which was made of the Work of that name, is a copy of an application of which not all that
    is to run in its stead is seen healthy. Holds: S1. Raises: WorldError."""
    binding = await _binding_of(control_plane, found)
    if binding is None or name_of_works(binding) != work_name or binding.metadata.deletion_timestamp is not None:
        return False
    spec = binding.spec
    if not spec.is_workload or spec.asks_for_none:
        return False
    works, clusters = dict[str, Work](), dict[str, Cluster]()
    for target in spec.clusters:
        try:
            clusters[target.name] = await control_plane.get(CLUSTERS, target.name)
            works[target.name] = await control_plane.get(WORKS, work_name, execution_space(target.name))
        except NotServed:
            raise
        except NotFound:
            return True
    return not PlacedCopies(spec, works).are_seen_healthy(clusters)


async def _binding_of(control_plane: Client, found: ReadOnlyManifest) -> Binding | None:
    annotations = annotations_of(found)
    namespace, name = annotations.get(BINDING_NAMESPACE_ANNOTATION, ""), annotations.get(BINDING_NAME_ANNOTATION, "")
    cluster_wide = annotations.get(CLUSTER_BINDING_NAME_ANNOTATION, "")
    try:
        if namespace and name:
            return await control_plane.get(RESOURCE_BINDINGS, name, namespace)
        return await control_plane.get(CLUSTER_RESOURCE_BINDINGS, cluster_wide) if cluster_wide else None
    except NotServed:
        raise
    except NotFound:
        return None
