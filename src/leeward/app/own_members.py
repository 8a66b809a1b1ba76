"""Addresses of the members that a control plane has for its own, put right before a controller runs.

Its Clusters tell where members listened when they were written. A store that was restored tells it of another time, or
of the fleet that was backed up, which may still run there and takes the same credentials.
"""

from collections.abc import Mapping

from leeward.api.resource import CLUSTERS
from leeward.client import Client, NotFound


async def lead_to_own_members(client: Client, ports: Mapping[str, int]) -> None:
    """Has each Cluster lead to the port, on this machine, of the member with its name. Raises: WorldError."""
    for name, port in ports.items():
        endpoint = f"https://127.0.0.1:{port}"
        try:
            cluster = await client.get(CLUSTERS, name)
        except NotFound:
            continue
        if cluster.spec.api_endpoint not in ("", endpoint):
            await client.patch(CLUSTERS, name, {"spec": {"apiEndpoint": endpoint}})
