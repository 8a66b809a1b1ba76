"""Parts of a Karmada in a control plane that was adopted; and control planes that are Karmada's still.

Karmada's operator, or an upgrade of its chart, may put back what a switch has taken away: webhooks that nobody answers
refuse every write then, so that nothing fails over; and the Clusters are asked of a server that keeps them as they
were.
"""

from datetime import datetime

from kubeclient import Client, NotFound
from leeward.app.local import FleetError
from leeward.app.member_clients import whoever_obeys
from leeward.app.migration.record import read_record
from leeward.app.migration.survey import clusters_service, karmada_webhooks, served_clusters
from leeward.operations.findings import needs_somebody
from leeward.operations.status import Found
from leeward.operations.take_over import members_of_another


async def find_returned(client: Client, _now: datetime) -> Found:
    """Finds parts of Karmada that have come back into an adopted control plane. Raises: WorldError."""
    try:
        record = await read_record(client)
    except FleetError as error:
        return Found([needs_somebody("switch", str(error))])
    if record is None or record.adopted_at is None or record.handing_back:
        return Found()
    found = [
        needs_somebody(
            f"{each.resource.kind.lower()}/{each.name}",
            f"{each.resource.kind} {each.name} of Karmada's is here again: where nobody answers it, it refuses writes, "
            "and nothing fails over",
            next="leeward adopt",
        )
        for each in await karmada_webhooks(client)
    ]
    if await clusters_service(client) is not None:
        said = "the Clusters are asked of Karmada's API server again, as it kept them before the switch"
        found.append(needs_somebody("apiservice/clusters", said, next="leeward adopt"))
    return Found(found)


async def refuse_fenced(client: Client) -> None:
    """Refuses a hub from which another has taken over: who works on its store next would write into the other's
    members. Raises: FleetError; WorldError."""
    try:
        others = await members_of_another(client, whoever_obeys(client))
    except NotFound:
        return
    if others:
        raise FleetError(
            f"members obey another hub ({', '.join(others)}), and who works on this store next knows no fence: stop "
            "this control plane for good, or make it the hub with `leeward take-over` first"
        )


async def refuse_karmadas(client: Client) -> None:
    """Refuses where agents live by roles that have the names of ours.

    Raises: FleetError where Karmada keeps the Clusters, or Leeward has clusters from it; WorldError.
    """
    if await clusters_service(client) is not None:
        raise FleetError(
            "the Clusters are kept by Karmada's aggregated API server: nothing of Leeward's is here, and roles that "
            "Karmada's agents live by have the names of ours"
        )
    if await read_record(client) is not None and await served_clusters(client):
        raise FleetError(
            "this control plane was adopted from a Karmada: `leeward hand-back` gives it back; to keep it without "
            "either, let the clusters leave first (`leeward unjoin NAME`, `leeward unregister NAME` for Pull)"
        )
