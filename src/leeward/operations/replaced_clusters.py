"""Clusters that were rebuilt under their name: somebody confirms that volumes may be made anew there."""

from kubeclient import Client, Conflict
from leeward.api.names import CONFIRMED_IDENTITY_ANNOTATION
from leeward.api.resource import CLUSTERS
from leeward.core.cluster_health.cluster_identity import replaced_by
from leeward.operations.errors import OperationFailed
from leeward.operations.taints import find_cluster

ATTEMPTS = 5


async def confirm_replaced(client: Client, name: str) -> str:
    """The identity that is confirmed by this; empty where none waits for that. No later one is confirmed by it.

    Raises: OperationFailed, WorldError.
    """
    for _ in range(ATTEMPTS):
        cluster = await find_cluster(client, name)
        identity = replaced_by(cluster)
        if not identity:
            return ""
        patch = {"metadata": {"annotations": {CONFIRMED_IDENTITY_ANNOTATION: identity}}}
        try:
            await client.patch(CLUSTERS, name, patch, resource_version=cluster.metadata.resource_version)
        except Conflict:
            continue
        return identity
    raise OperationFailed(f"cluster {name} is being changed by others all the time: try again")
