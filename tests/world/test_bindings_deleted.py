"""Bindings that somebody deletes by hand: what others live in stays while the template is there, and claimed."""

import pytest

from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from leeward.api.resource import CLUSTER_RESOURCE_BINDINGS, RESOURCE_BINDINGS
from leeward.sim.world import World
from tests.world.stories import POLICIES, apply, identities, in_world, policy
from tests.world.test_kinds import CLUSTER_POLICIES, CRON_TAB_DEFINITION, CRON_TABS, DEFINITIONS, appears, selecting
from tests.world.test_ownership import on

CLAIMS = Resource.of_manifests("v1", "persistentvolumeclaims", "PersistentVolumeClaim", True)
BOTH = ("member1", "member3")
CLAIM: Manifest = {
    "metadata": {"name": "data"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}


async def claim_runs(world: World) -> dict[str, tuple[str, int]]:
    await world.client.create(CLAIMS, CLAIM, "default")
    await apply(world.client, policy("data", on(*BOTH), "PersistentVolumeClaim", "v1"))
    await world.sleep(60)
    return await identities(world, "data", BOTH, CLAIMS)


@in_world()
async def test_s12_a_claim_whose_binding_is_deleted_by_hand_keeps_its_data(world: World) -> None:
    before = await claim_runs(world)
    assert set(before) == set(BOTH)
    await world.client.delete(RESOURCE_BINDINGS, "data-persistentvolumeclaim", "default")
    await world.sleep(120)
    assert await identities(world, "data", BOTH, CLAIMS) == before
    assert set(world.assigned("data-persistentvolumeclaim")) == set(BOTH), "it is placed again"
    await world.client.delete(CLAIMS, "data", "default")
    await world.sleep(120)
    assert await identities(world, "data", BOTH, CLAIMS) == {}, "the next binding has taken it over"


@in_world()
async def test_s12_custom_resources_of_others_outlive_the_binding_of_their_definition(world: World) -> None:
    there = world.member("member1").client
    await world.client.create(DEFINITIONS, CRON_TAB_DEFINITION)
    name = "crontabs.stable.example.com"
    await world.client.create(CLUSTER_POLICIES, selecting(DEFINITIONS, name, "member1", "member2"))
    await appears(world, "member1", DEFINITIONS, name)
    await world.sleep(20)
    await there.create(CRON_TABS, {"metadata": {"name": "theirs"}, "spec": {"replicas": 1}}, "default")
    (binding,) = (await world.client.list(CLUSTER_RESOURCE_BINDINGS)).items
    await world.client.delete(CLUSTER_RESOURCE_BINDINGS, binding.name)
    await world.sleep(120)
    assert (await there.get(CRON_TABS, "theirs", "default"))["spec"] == {"replicas": 1}


@pytest.mark.parametrize("what", ["template deleted", "template replaced", "policy gone"])
@in_world()
async def test_l3_a_claim_goes_with_its_template_and_with_a_binding_that_no_policy_claims(
    world: World, what: str
) -> None:
    before = await claim_runs(world)
    if what == "policy gone":
        await world.client.delete(POLICIES, "data", "default")
        await world.sleep(20)
        await world.client.delete(RESOURCE_BINDINGS, "data-persistentvolumeclaim", "default")
    else:
        await world.client.delete(CLAIMS, "data", "default")
    if what == "template replaced":
        await world.client.create(CLAIMS, CLAIM, "default")
    await world.sleep(120)
    after = await identities(world, "data", BOTH, CLAIMS)
    assert not set(after.values()) & set(before.values())
    assert bool(after) == (what == "template replaced")
