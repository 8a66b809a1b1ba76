"""`leeward unjoin` with the kubeconfig of another member than the one that leaves."""

import pytest

from kubeclient import Client
from leeward.api.resource import CLUSTERS
from leeward.app.joining import hub_that_leaves, join_cluster, own_identity
from leeward.app.local.errors import FleetError
from tests.kubeserver.api_world import ApiWorld, api_world
from tests.unit.app.test_joining import JOINING, tell


def test_s6_another_member_is_refused_before_anything_is_taken_out_of_it() -> None:
    async def story(plane: ApiWorld, member: ApiWorld) -> None:
        client, there = Client(plane.transport), Client(member.transport)
        await join_cluster(client, there, JOINING)
        async with api_world(seed=9) as other:
            await other.create("/api/v1/namespaces", {"metadata": {"name": "kube-system"}})
            with pytest.raises(FleetError, match="leads to another cluster than member1: nothing was done"):
                await hub_that_leaves(client, Client(other.transport), "member1")
        hub = await own_identity(client)
        assert await hub_that_leaves(client, there, "member1") == hub
        assert await hub_that_leaves(client, there, "nobody") == hub, "the verb itself says that there is none"
        await client.patch(CLUSTERS, "member1", {"spec": {"id": None}})
        assert await hub_that_leaves(client, Client(plane.transport), "member1") == hub, "it cannot be told"

    tell(story)
