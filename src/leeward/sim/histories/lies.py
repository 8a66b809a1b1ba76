"""A member that lies: absurd ready replicas of what it runs, absurd capacity of its nodes."""

from leeward.api.resource import NODES
from leeward.client import Client, WorldError
from leeward.sim.histories.manifests import DEPLOYMENTS, NAMESPACE

ABSURD = 1_000_000


async def lie(client: Client) -> None:
    """Once; the member's own controllers tell the truth again as soon as they notice."""
    try:
        for copy in (await client.list(DEPLOYMENTS, NAMESPACE)).items:
            status = {"readyReplicas": ABSURD, "replicas": ABSURD, "availableReplicas": ABSURD}
            await client.patch(
                DEPLOYMENTS, copy["metadata"]["name"], {"status": status}, NAMESPACE, subresource="status"
            )
        for node in (await client.list(NODES)).items:
            capacity = {"allocatable": {"cpu": "1E", "example.com/gpu": "-5"}}
            await client.patch(NODES, node.name, {"status": capacity}, subresource="status")
    except WorldError:
        return
