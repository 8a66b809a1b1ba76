"""Credentials of a cluster that has left, or has not joined yet: whoever gets its name gets none of them."""

import pytest

from kubeapi.core import NAMESPACES, SECRETS, Namespace
from kubeapi.meta import Manifest, ObjectMeta
from kubeclient import Client, Forbidden
from kubecluster.network import LinkedTransport
from kubeserver.handler import User
from leeward.api.names import AGENT_GROUP, AGENT_MADE_ANNOTATION, AGENT_USER_PREFIX, CLUSTER_NAMESPACE
from leeward.api.resource import CLUSTERS
from leeward.sim.world import World
from tests.security.test_bootstrap_tokens import UNTYPED_SECRETS, Desk, Tell, tell
from tests.security.worlds import play_in

__all__ = ["tell"]

PAIR = ("member1", "member1-impersonator")
CREDENTIALS: Manifest = {"data": {"token": "YWRtaW4tdG9rZW4="}}
OWN: Manifest = {"data": {"token": "b3du"}}
CLUSTER: Manifest = {"metadata": {"name": "member1"}, "spec": {"syncMode": "Pull", "apiEndpoint": "https://a.example"}}


def agent_of(world: World, cluster: str) -> Client:
    groups = (AGENT_GROUP, "system:authenticated")
    return Client(LinkedTransport(world.place, User(AGENT_USER_PREFIX + cluster, groups)))


async def make(client: Client, name: str, secret: Manifest) -> None:
    await client.create(UNTYPED_SECRETS, {**secret, "metadata": {"name": name}}, CLUSTER_NAMESPACE)


async def refused_both(agent: Client) -> None:
    for name in PAIR:
        with pytest.raises(Forbidden):
            await agent.get(SECRETS, name, CLUSTER_NAMESPACE)
        with pytest.raises(Forbidden):
            await agent.patch(SECRETS, name, {"metadata": {"labels": {"a": "b"}}}, CLUSTER_NAMESPACE)


def test_the_agent_of_a_free_name_reads_no_credentials_of_the_push_member_that_had_it() -> None:
    """Nothing is read after `kubectl delete cluster`, which leaves the Secrets, nor by joining under the name."""

    async def story(world: World) -> None:
        for name in PAIR:
            await make(world.client, name, CREDENTIALS)
        agent = agent_of(world, "member1")
        await refused_both(agent)
        await world.client.delete(CLUSTERS, "member1")
        await world.sleep(120)
        assert "member1" not in [each.name for each in (await world.client.list(CLUSTERS)).items]
        await refused_both(agent)
        with pytest.raises(Forbidden, match="delete secret member1 member1-impersonator"):
            await agent.create(CLUSTERS, CLUSTER)
        for name in PAIR:
            await world.client.delete(SECRETS, name, CLUSTER_NAMESPACE)
        for name in PAIR:
            await make(agent, name, OWN)
            assert (await agent.get(SECRETS, name, CLUSTER_NAMESPACE)).data["token"] == b"own"
        assert (await agent.create(CLUSTERS, CLUSTER)).name == "member1"

    play_in(World, story, {"member1": "Push", "member2": "Push"})


def test_an_agent_that_makes_secrets_first_does_not_read_what_a_join_writes_into_them() -> None:
    async def story(world: World) -> None:
        agent = agent_of(world, "member3")
        await make(agent, "member3", OWN)
        labelled = {"metadata": {"labels": {"a": "b"}}}
        await world.client.patch(SECRETS, "member3", labelled, CLUSTER_NAMESPACE)
        await agent.patch(SECRETS, "member3", {"metadata": {"labels": {"a": "c"}}}, CLUSTER_NAMESPACE)
        assert (await agent.get(SECRETS, "member3", CLUSTER_NAMESPACE)).data["token"] == b"own"
        await world.client.patch(SECRETS, "member3", CREDENTIALS, CLUSTER_NAMESPACE)
        with pytest.raises(Forbidden):
            await agent.get(SECRETS, "member3", CLUSTER_NAMESPACE)

    play_in(World, story, {"member1": "Push"})


def test_nobody_marks_a_secret_as_an_agents() -> None:
    async def story(world: World) -> None:
        mark = {"annotations": {AGENT_MADE_ANNOTATION: "member3", "kept": "a"}}
        secret: Manifest = {**CREDENTIALS, "metadata": {"name": "member3", **mark}}
        for made in (
            await world.client.create(UNTYPED_SECRETS, secret, CLUSTER_NAMESPACE),
            await world.client.patch(UNTYPED_SECRETS, "member3", {"metadata": mark}, CLUSTER_NAMESPACE),
        ):
            assert made["metadata"]["annotations"] == {"kept": "a"}
        with pytest.raises(Forbidden):
            await agent_of(world, "member3").get(SECRETS, "member3", CLUSTER_NAMESPACE)

    play_in(World, story, {"member1": "Push"})


@pytest.mark.parametrize("bound", ["", "member1"])
@pytest.mark.parametrize("left", PAIR)
def test_a_name_whose_secrets_are_there_gets_no_agent(tell: Tell, left: str, bound: str) -> None:
    """The Secrets are the credentials of a Push member that joins, leaves, or was deleted with kubectl."""

    async def story(desk: Desk) -> None:
        await desk.admin.create(NAMESPACES, Namespace(metadata=ObjectMeta(name=CLUSTER_NAMESPACE)))
        await make(desk.admin, left, CREDENTIALS)
        token = await desk.token(bound)
        refused = await desk.ask(token, "member1")
        assert refused.startswith("Denied: the namespace karmada-cluster holds credentials"), refused
        assert f"`kubectl -n karmada-cluster delete secret {left}`" in refused
        await desk.admin.delete(SECRETS, left, CLUSTER_NAMESPACE)
        assert await desk.ask(token, "member1") == "Approved"

    tell(story)
