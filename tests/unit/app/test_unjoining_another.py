"""`leeward unjoin` with the kubeconfig of another member than the one that leaves."""

import pytest

from kubeapi.core import NAMESPACES
from kubeclient import Client
from leeward.api.resource import CLUSTERS
from leeward.app.joining import forget_cluster, hub_that_leaves, join_cluster, own_identity
from leeward.app.local.errors import FleetError
from leeward.core.hub_generation import HUB_FENCE_ANNOTATION, HUB_GENERATION_ANNOTATION
from leeward.runtime.member_identity import AnotherCluster
from tests.kubeserver.api_world import ApiWorld, api_world
from tests.unit.app.test_joining import ACCOUNTS, JOINING, tell


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


def test_a_cluster_that_is_refused_gets_no_mark() -> None:
    """Neither one that joins under two names, nor the wrong one for one that leaves."""

    async def story(plane: ApiWorld, member: ApiWorld) -> None:
        client, there = Client(plane.transport), Client(member.transport)
        raised = {"metadata": {"annotations": {HUB_GENERATION_ANNOTATION: "2/x"}}}
        await client.patch(NAMESPACES, "kube-system", raised)
        await join_cluster(client, there, JOINING)
        assert await marks(there), "one that joins is told first"
        async with api_world(seed=9) as other:
            await other.create("/api/v1/namespaces", {"metadata": {"name": "kube-system"}})
            another = Client(other.transport)
            with pytest.raises(FleetError, match="leads to another cluster"):
                await hub_that_leaves(client, another, "member1")
            with pytest.raises(FleetError, match="another cluster has joined as member1"):
                await join_cluster(client, another, JOINING)
            assert not await marks(another)

    tell(story)


async def marks(member: Client) -> str:
    return (await member.get(NAMESPACES, "kube-system")).metadata.annotations.get(HUB_FENCE_ANNOTATION, "")


def test_s6_a_hub_from_which_another_has_taken_over_neither_joins_nor_takes_the_credential_of_the_other_away() -> None:
    async def story(plane: ApiWorld, member: ApiWorld) -> None:
        client, there = Client(plane.transport), Client(member.transport)
        await join_cluster(client, there, JOINING)
        hub = await own_identity(client)
        before = (await member.get(ACCOUNTS)).names
        met = {"metadata": {"annotations": {HUB_FENCE_ANNOTATION: f'{{"{hub}":"1/x"}}'}}}
        await there.patch(NAMESPACES, "kube-system", met)
        for refused in (
            hub_that_leaves(client, there, "member1"),
            forget_cluster(there, "member1", hub, client),
            join_cluster(client, there, JOINING),
        ):
            with pytest.raises(AnotherCluster, match="another hub has taken over"):
                await refused
        assert (await member.get(ACCOUNTS)).names == before
        raised = {"metadata": {"annotations": {HUB_GENERATION_ANNOTATION: "2/x"}}}
        await client.patch(NAMESPACES, "kube-system", raised)
        assert await forget_cluster(there, "member1", hub, client) == []
        assert "karmada-member1" not in (await member.get(ACCOUNTS)).names

    tell(story)
