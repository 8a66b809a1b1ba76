"""Karmada's own agent joins a control plane of ours with the identity of an agent, and no more rights than that gives.

The agent is a stand-in that makes the calls of the real one, in its order.
"""

from collections.abc import Awaitable, Callable, Mapping

import pytest

from kubeapi.loop.virtual import run_virtual
from kubeapi.meta import Manifest
from kubeclient import Client, Forbidden, Invalid
from kubecluster.network import LinkedTransport
from kubeserver.handler import User
from leeward.api.names import AGENT_GROUP, AGENT_USER_PREFIX, CLUSTER_NAMESPACE, SYSTEM_NAMESPACE
from leeward.manager.timing import Timing
from leeward.sim.member import SimulatedMember
from leeward.sim.world import Mode, World
from tests.migration.joining_agent import CLUSTERS, EVENTS, LEASES, SECRETS, JoiningAgent
from tests.migration.karmada_agent import KarmadaAgent
from tests.migration.recorded import recorded
from tests.world.stories import apply, by_weight, deployment, policy, ready_replicas, tasks

FLEET: Mapping[str, Mode] = {"member1": "Push", "member2": "Push", "member3": "Pull"}
OWN_SECRETS, WEB = ("member3", "member3-impersonator"), "web-deployment"
OF_MEMBER3 = ("clusters", "member3")
SECRET = {"data": {"token": "dG9rZW4="}}


class ForeignAgents(World):
    """A world whose Pull members come up without an agent of ours."""

    async def join(self, member: SimulatedMember) -> None:
        if member.mode == "Push":
            await super().join(member)
        else:
            await member.start_apiserver()


def play(story: Callable[[ForeignAgents], Awaitable[None]], members: Mapping[str, Mode] = FLEET) -> None:
    async def run() -> None:
        async with ForeignAgents(members, Timing.karmada()) as world:
            await story(world)

    run_virtual(run())


def as_agent(world: World, name: str) -> Client:
    return Client(LinkedTransport(world.place, User(AGENT_USER_PREFIX + name, (AGENT_GROUP, "system:authenticated"))))


def recorded_status() -> Manifest:
    (found,) = (e.manifest for e in recorded("karmada") if (e.plural, e.manifest["metadata"]["name"]) == OF_MEMBER3)
    return found["status"]


async def joined(world: World, name: str = "member3") -> JoiningAgent:
    """Agent whose cluster has joined, and whoever elects leaders, follows and reports has done so once."""
    agent = JoiningAgent(as_agent(world, name), name, world.clock.now)
    cluster = await agent.join(world.member(name).identity, f"https://{name}.example")
    await world.sleep(1)
    await agent.lead()
    await agent.lead()
    await agent.follow()
    for _ in range(2):
        await agent.report(recorded_status())
        await agent.renew(cluster["metadata"]["uid"])
    return agent


@pytest.mark.long
def test_karmadas_agent_joins_carries_out_works_fails_over_and_comes_back() -> None:
    async def story(world: ForeignAgents) -> None:
        agent = await joined(world)
        await world.until(lambda: all(world.is_ready(name) for name in FLEET), 60)
        works = KarmadaAgent(world, world.member("member3"), agent.client)
        works.start()
        await apply(world.client, deployment("web", 4), policy("web", by_weight({"member2": 1, "member3": 1})))
        await world.until(lambda: world.assigned(WEB) == {"member2": 2, "member3": 2}, 60)
        await world.sleep(30)
        assert await ready_replicas(world, "member3", "web") == 2
        await works.stop()
        await world.until(lambda: not world.is_ready("member3"), 120)
        await world.until(lambda: world.assigned(WEB) == {"member2": 4} and not tasks(world, WEB), 1_200)
        await agent.report(recorded_status())
        works = KarmadaAgent(world, world.member("member3"), agent.client)
        works.start()
        await world.until(lambda: world.is_ready("member3"), 120)
        await world.sleep(30)
        assert await ready_replicas(world, "member3", "web") == -1, "what was moved away is taken back"
        await works.stop()

    play(story)


def test_karmadas_agent_that_died_between_its_secrets_and_its_cluster_joins_the_second_time() -> None:
    async def story(world: ForeignAgents) -> None:
        client = as_agent(world, "member3")
        await client.create(SECRETS, {**SECRET, "metadata": {"name": "member3-impersonator"}}, CLUSTER_NAMESPACE)
        await joined(world)
        again = await (await joined(world)).client.get(CLUSTERS, "member3")
        secrets = [await world.client.get(SECRETS, name, CLUSTER_NAMESPACE) for name in OWN_SECRETS]
        assert [each["metadata"]["ownerReferences"][0]["uid"] for each in secrets] == [again["metadata"]["uid"]] * 2

    play(story)


def test_karmadas_agent_reaches_nothing_of_another_cluster() -> None:
    async def story(world: ForeignAgents) -> None:
        client = (await joined(world)).client
        await world.client.create(SECRETS, {**SECRET, "metadata": {"name": "member1"}}, CLUSTER_NAMESPACE)
        event = {"involvedObject": {"kind": "Cluster", "name": "member1"}, "reason": "Lie", "message": "lie"}
        for attempt in (
            client.get(SECRETS, "member1", CLUSTER_NAMESPACE),
            client.list(SECRETS, CLUSTER_NAMESPACE),
            client.patch(SECRETS, "member1", SECRET, CLUSTER_NAMESPACE),
            client.create(SECRETS, {**SECRET, "metadata": {"name": "member2"}}, CLUSTER_NAMESPACE),
            client.create(SECRETS, {**SECRET, "metadata": {"name": "bootstrap-token-abcdef"}}, "kube-system"),
            client.create(SECRETS, {**SECRET, "metadata": {"name": "member3"}}, SYSTEM_NAMESPACE),
            client.create(LEASES, {"metadata": {"name": "karmada-agent-member1"}}, SYSTEM_NAMESPACE),
            client.create(LEASES, {"metadata": {"name": "leeward-scheduler"}}, SYSTEM_NAMESPACE),
            client.create(EVENTS, {**event, "metadata": {"name": "member1.lie"}}, "default"),
            client.create(EVENTS, {**event, "metadata": {"name": "member3.lie"}}, "kube-system"),
        ):
            with pytest.raises(Forbidden):
                await attempt

    play(story)


def test_an_agent_reads_no_secret_that_is_another_clusters_too() -> None:
    """`member3-impersonator` is the impersonator's of member3, and the credentials of a cluster that is called so."""

    async def story(world: ForeignAgents) -> None:
        agent = await joined(world)
        push = {"spec": {"syncMode": "Push", "apiEndpoint": "https://other.example", "id": "other"}}
        with pytest.raises(Invalid, match="would have one name: give it another name"):
            await world.client.create(CLUSTERS, {**push, "metadata": {"name": "member3-impersonator"}})
        other = as_agent(world, "member1-impersonator")
        with pytest.raises(Forbidden):
            await other.create(SECRETS, {**SECRET, "metadata": {"name": "member1"}}, CLUSTER_NAMESPACE)
        await world.client.create(SECRETS, {**SECRET, "metadata": {"name": "member1-impersonator"}}, CLUSTER_NAMESPACE)
        with pytest.raises(Forbidden):
            await other.get(SECRETS, "member1-impersonator", CLUSTER_NAMESPACE)
        assert await agent.client.get(SECRETS, "member3-impersonator", CLUSTER_NAMESPACE)

    play(story)


def test_who_was_the_agent_of_a_cluster_reads_nothing_of_its_successor() -> None:
    """The certificate outlives the Cluster: one of the same name that joins as a Push member is not its own."""

    async def story(world: ForeignAgents) -> None:
        former = as_agent(world, "member1")
        await world.client.create(SECRETS, {**SECRET, "metadata": {"name": "member1"}}, CLUSTER_NAMESPACE)
        await world.until(lambda: world.is_ready("member1"), 60)
        with pytest.raises(Forbidden):
            await former.get(SECRETS, "member1", CLUSTER_NAMESPACE)

    play(story)
