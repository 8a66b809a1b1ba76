"""One object that cannot be read hides no other: of whatever a tenant may write, and all controllers read.

The attacker has: every right to ResourceBindings and PropagationPolicies in the namespace `tenant`.
They do: write one that the schema lets pass, and that our types cannot hold (a whole number written as 1.0).
They must not get: a control plane that does not see any policy or binding any more, so that nobody's application is
placed, nor moved from a cluster that dies.
"""

from collections.abc import Mapping

import pytest

from leeward.api.meta import Manifest
from leeward.api.resource import PROPAGATION_POLICIES, RESOURCE_BINDINGS, Resource
from leeward.client import Client, Invalid, Undecodable
from leeward.sim.world import Mode, World
from tests.security.worlds import UnaskedWorld, namespaces, play_in, user_with
from tests.world.stories import POLICIES, apply, by_weight, deployment, policy, ready_replicas

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
