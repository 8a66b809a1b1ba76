"""One object that cannot be read hides no other: of whatever a tenant may write, and all controllers read.

The attacker has: every right to ResourceBindings and PropagationPolicies in the namespace `tenant`; or is the agent of
a member, which writes the status of its own Cluster.
They do: write one that the schema lets pass, and that our types cannot hold (a whole number written as 1.0).
They must not get: a control plane that does not see any policy or binding any more, so that nobody's application is
placed, nor moved from a cluster that dies.
"""

from collections.abc import Mapping

import pytest

from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeclient import Client, Invalid, Undecodable
from kubecluster.network import LinkedTransport
from kubeserver.handler import User
from leeward.api.names import AGENT_GROUP, AGENT_USER_PREFIX
from leeward.api.resource import CLUSTERS, PROPAGATION_POLICIES, RESOURCE_BINDINGS
from leeward.sim.world import Mode, World
from tests.security.worlds import UnaskedWorld, namespaces, play_in, user_with
from tests.world.stories import POLICIES, apply, by_weight, deployment, policy, ready_replicas
from tests.world.test_safety import brake_engaged

RAW_CLUSTERS: Resource[Manifest] = Resource.of_manifests(CLUSTERS.api_version, "clusters", "Cluster", False)
THREE: Mapping[str, Mode] = {"member1": "Push", "member2": "Push", "member3": "Push"}
RAW_BINDINGS: Resource[Manifest] = Resource.of_manifests(
    RESOURCE_BINDINGS.api_version, "resourcebindings", "ResourceBinding", True
)


async def attacker(world: World) -> Client:
    await namespaces(world, "tenant")
    return await user_with(world, "mallory", "tenant", "*", "resourcebindings", "propagationpolicies")


def unreadable_policy() -> Manifest:
    selectors = [{"apiVersion": "v1", "kind": "ConfigMap"}]
    return {"metadata": {"name": "evil"}, "spec": {"resourceSelectors": selectors, "placement": {}, "priority": 1.0}}


def unreadable_binding() -> Manifest:
    resource = {"apiVersion": "v1", "kind": "ConfigMap", "namespace": "tenant", "name": "evil"}
    return {"metadata": {"name": "evil"}, "spec": {"resource": resource, "replicas": 1.0}}


def test_what_cannot_be_read_is_refused_by_its_field() -> None:
    async def story(world: World) -> None:
        mallory = await attacker(world)
        with pytest.raises(Invalid, match=r"spec\.priority: Invalid value"):
            await mallory.create(POLICIES, unreadable_policy(), "tenant")
        with pytest.raises(Invalid, match=r"spec\.replicas: Invalid value"):
            await mallory.create(RAW_BINDINGS, unreadable_binding(), "tenant")

    play_in(World, story, {})


@pytest.mark.parametrize("is_there_first", [True, False])
def test_what_cannot_be_read_hides_no_other_object(*, is_there_first: bool) -> None:
    """Either the lists have it, or the watches."""

    async def story(world: World) -> None:
        mallory = await attacker(world)
        if is_there_first:
            await world.stop_controllers()
        await mallory.create(POLICIES, unreadable_policy(), "tenant")
        await mallory.create(RAW_BINDINGS, unreadable_binding(), "tenant")
        if is_there_first:
            world.start_controllers()
        with pytest.raises(Undecodable):
            await world.client.get(PROPAGATION_POLICIES, "evil", "tenant")
        with pytest.raises(Undecodable):
            await world.client.get(RESOURCE_BINDINGS, "evil", "tenant")
        await apply(world.client, deployment("web", 2), policy("web", by_weight({"member1": 1, "member2": 1})))
        await world.sleep(60)
        assert [await ready_replicas(world, name, "web") for name in ("member1", "member2")] == [1, 1]
        await mallory.patch(POLICIES, "evil", {"spec": {"priority": 2.0}}, "tenant")
        await world.member("member1").stop()
        await world.sleep(900)
        assert await ready_replicas(world, "member2", "web") == 2
        await mallory.delete(POLICIES, "evil", "tenant")
        await apply(world.client, deployment("late", 1), policy("late", by_weight({"member2": 1})))
        await world.sleep(60)
        assert await ready_replicas(world, "member2", "late") == 1

    play_in(UnaskedWorld, story, THREE)


def test_a_cluster_that_cannot_be_read_hides_no_other_s10() -> None:
    async def story(world: World) -> None:
        await apply(world.client, deployment("web", 2), policy("web", by_weight({"member1": 1, "member2": 1})))
        await world.sleep(30)
        agent = Client(LinkedTransport(world.place, User(AGENT_USER_PREFIX + "member3", (AGENT_GROUP,))))
        lie = {"status": {"nodeSummary": {"totalNum": 1.0, "readyNum": 1.0}}}
        world.member("member3").crash_agent()
        await agent.patch(RAW_CLUSTERS, "member3", lie, subresource="status")
        with pytest.raises(Undecodable):
            await world.client.get(CLUSTERS, "member3")
        await world.stop_controllers()
        world.start_controllers()
        await world.sleep(30)
        await world.member("member1").stop()
        await world.sleep(900)
        assert await ready_replicas(world, "member2", "web") == 2
        assert not await brake_engaged(world)
        world.member("member2").pause()
        await world.sleep(300)
        assert await brake_engaged(world), "all that can be read are dead"

    play_in(UnaskedWorld, story, {"member1": "Push", "member2": "Push", "member3": "Pull"})
