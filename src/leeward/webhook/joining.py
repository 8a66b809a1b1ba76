"""The rule that needs to know the other Clusters: one cluster joins once, and never its own control plane.

An id that stays is not asked about. When the control plane does not tell, a Cluster with another id is refused: whoever
joins tries again. Two that are written at the same moment do not see each other.
"""

from collections.abc import Mapping
from typing import Any

from kubeapi.meta import Manifest
from kubeapi.untrusted import mapping_in
from leeward.api.resource import CLUSTERS
from leeward.client import Client
from leeward.core.registration import Joined, problem_of_identity
from leeward.runtime.server_identity import cluster_id_of
from leeward.webhook.questions import Untold, ask, every, refusal_for_now
from leeward.webhook.reviews import refusal


async def judge_joining(request: Mapping[str, Any], client: Client) -> Manifest | None:
    """The refusal of a Cluster whose `spec.id` is another's, or the control plane's own; None where there is none."""
    cluster = mapping_in(request, "object")
    cluster_id = _id(cluster)
    is_cluster = mapping_in(request, "resource").get("resource") == CLUSTERS.plural
    if not is_cluster or not cluster_id or cluster_id == _id(mapping_in(request, "oldObject")):
        return None
    name = mapping_in(cluster, "metadata").get("name", "")
    try:
        problem = await ask(_problem(client, name, cluster_id))
    except Untold as error:
        return refusal_for_now("it cannot be told whether this cluster has joined already", error)
    return refusal(422, f'spec.id: Invalid value: "{cluster_id}": {problem}') if problem else None


async def _problem(client: Client, name: str, cluster_id: str) -> str:
    """Raises: WorldError."""
    return problem_of_identity(name, cluster_id, await _joined(client), await cluster_id_of(client))


async def _joined(client: Client) -> list[Joined]:
    """Raises: WorldError."""
    clusters = await every(client, CLUSTERS)
    return [Joined(cluster.name, cluster.spec.id, cluster.spec.sync_mode) for cluster in clusters]


def _id(cluster: Mapping[str, Any]) -> str:
    return mapping_in(cluster, "spec").get("id", "")
