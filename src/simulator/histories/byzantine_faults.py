"""Changes of objects that a member itself keeps: lies about its replicas and nodes, a cordon of its nodes."""

from kubeapi.core import NODES
from kubeclient import Client, WorldError
from simulator.histories.manifests import DEPLOYMENTS, NAMESPACE

ABSURD = 1_000_000


async def lie(client: Client) -> None:
    """Lies once; the member's own controllers tell the truth again as soon as they notice."""
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


async def cordon_nodes(client: Client, cordoned: bool) -> None:
    """Cordons all nodes, or none any more; what cannot be reached stays as it is."""
    try:
        for node in (await client.list(NODES)).items:
            await client.patch(NODES, node.name, {"spec": {"unschedulable": cordoned or None}})
    except WorldError:
        return
