"""Works that somebody deletes by hand, while their bindings ask for them: objects and data stay (decision 23)."""

import pytest

from kubeapi.core import NAMESPACES
from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from leeward.api.names import execution_space, work_name
from leeward.api.resource import WORKS
from leeward.sim.world import World
from tests.world.stories import DEPLOYMENTS, PUSH_PUSH_PULL, apply, deployment, identities, in_world, policy
from tests.world.test_bindings_deleted import CLAIM, CLAIMS
from tests.world.test_ownership import on

SHOP: Manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
SPACES = Resource.of_manifests("v1", "namespaces", "Namespace", False)
IN_SHOP = {("web", "shop"): DEPLOYMENTS, ("data", "shop"): CLAIMS, ("shop", ""): SPACES}


@in_world()
async def test_s5_claims_whose_works_are_deleted_in_all_clusters_at_once_keep_their_data(world: World) -> None:
    await world.client.create(CLAIMS, CLAIM, "default")
    await apply(world.client, policy("data", on(*PUSH_PUSH_PULL), "PersistentVolumeClaim", "v1"))
    await world.sleep(60)
    before = await identities(world, "data", resource=CLAIMS)
    assert set(before) == set(PUSH_PUSH_PULL)
    for member in PUSH_PUSH_PULL:
        name = work_name("PersistentVolumeClaim", "data", "default")
        await world.client.delete(WORKS, name, execution_space(member))
    await world.sleep(120)
    assert await identities(world, "data", resource=CLAIMS) == before
    await world.client.delete(CLAIMS, "data", "default")
    await world.sleep(20)
    assert await identities(world, "data", resource=CLAIMS) == {}


async def placed_everywhere(world: World) -> None:
    await world.client.create(NAMESPACES, SHOP)
    await world.client.create(CLAIMS, CLAIM, "shop")
    await apply(world.client, deployment("other", 2), policy("other", on(*PUSH_PUSH_PULL)), namespace="shop")
    followed = policy("data", on(*PUSH_PUSH_PULL), "PersistentVolumeClaim", "v1")
    await apply(world.client, deployment("web", 2), policy("web", on(*PUSH_PUSH_PULL)), followed, namespace="shop")
    await world.sleep(60)


async def seen(world: World) -> dict[str, dict[str, tuple[str, int]]]:
    return {name: await identities(world, name, (), kind, place) for (name, place), kind in IN_SHOP.items()}


@pytest.mark.parametrize("whole", [False, True], ids=["Works", "their namespace"])
@pytest.mark.parametrize("away", [0, 600], ids=["controllers run", "controllers are away"])
@in_world()
async def test_s5_works_deleted_by_hand_cost_no_member_its_objects(world: World, away: int, *, whole: bool) -> None:
    """An agent sees neither bindings nor templates, and may run alone."""
    await placed_everywhere(world)
    before = await seen(world)
    assert all(set(found) == set(PUSH_PUSH_PULL) for found in before.values())
    if away:
        world.crash_controllers()
    for member in PUSH_PUSH_PULL:
        space = execution_space(member)
        works = (await world.client.list(WORKS, space)).items
        if whole:
            await world.client.delete(NAMESPACES, space)
        for work in () if whole else works:
            if away or "other" not in work.name:
                await world.client.delete(WORKS, work.name, space)
    await world.sleep(away or 60)
    assert await seen(world) == before
    if away:
        world.start_controllers()
        await world.sleep(120)
        assert await seen(world) == before
    works = (await world.client.list(WORKS)).items
    assert {work.metadata.deletion_timestamp for work in works} == {None}
    assert {work.namespace for work in works} == {execution_space(member) for member in PUSH_PUSH_PULL}
