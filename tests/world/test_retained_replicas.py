"""Copies whose replicas their own clusters decide (`retain-replicas`), in an outage, and in a drain that is undone."""

import pytest

from leeward.api.names import RETAIN_REPLICAS_LABEL
from leeward.operations.drain import start_drain, undo_drain
from leeward.sim.world import World
from tests.world.stories import DEPLOYMENTS, apply, by_weight, deployment, in_world, policy, tasks

WEB = "web-deployment"
THREE = ("member1", "member2", "member3")
EQUAL = dict.fromkeys(THREE, 2)


async def scaled_down_there(world: World) -> dict[str, tuple[str, int]]:
    """Has two replicas in each member, which wants fewer of them by itself; what there is then."""
    web = deployment("web", 6)
    web["metadata"]["labels"][RETAIN_REPLICAS_LABEL] = "true"
    await apply(world.client, web, policy("web", by_weight(dict.fromkeys(THREE, 1))))
    await world.until(lambda: world.assigned(WEB) == EQUAL, 60)
    await world.sleep(30)
    for name in THREE:
        await world.member(name).client.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 1}}, "default")
    await world.sleep(30)
    return await copies(world)


async def copies(world: World) -> dict[str, tuple[str, int]]:
    """The uid of each copy, and how many replicas its cluster wants of it."""
    found = {name: await world.member(name).client.get(DEPLOYMENTS, "web", "default") for name in THREE}
    return {name: (copy["metadata"]["uid"], copy["spec"]["replicas"]) for name, copy in found.items()}


@pytest.mark.parametrize("outage_seconds", [900, 2400])
@in_world()
async def test_l1_a_copy_that_is_as_large_as_its_cluster_wants_is_kept_when_that_is_back(
    world: World, outage_seconds: int
) -> None:
    """A copy that never had the replicas which it was given was on its way out for good."""
    before = await scaled_down_there(world)
    await world.member("member1").stop()
    await world.until(lambda: "member1" in tasks(world, WEB))
    await world.sleep(outage_seconds)
    await world.member("member1").start()
    await world.until(lambda: world.is_ready("member1"))
    for _ in range(60):
        assert await copies(world) == before
        await world.sleep(1)
    assert world.assigned(WEB)["member1"] == 2
    assert tasks(world, WEB) == []


@in_world()
async def test_l1_a_drain_that_is_undone_leaves_such_a_copy_where_it_was(world: World) -> None:
    before = await scaled_down_there(world)
    await start_drain(world.client, "member1", None)
    await world.sleep(900)
    assert tasks(world, WEB) == ["member1"]
    await undo_drain(world.client, "member1")
    await world.sleep(10)
    assert tasks(world, WEB) == []
    assert world.assigned(WEB)["member1"] == 2
    assert await copies(world) == before


@in_world()
async def test_c1_replicas_that_no_cluster_takes_do_not_go_round(world: World) -> None:
    """Clusters were healthy with what they wanted, so that each was asked again and again."""
    await scaled_down_there(world)
    await world.client.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 3}}, "default")
    await world.until(lambda: world.assigned(WEB) == dict.fromkeys(THREE, 1), 60)
    await world.member("member1").stop()
    await world.until(lambda: "member1" in tasks(world, WEB))
    placements = [world.assigned(WEB)]
    for _ in range(60):
        await world.sleep(60)
        if world.assigned(WEB) != placements[-1]:
            placements.append(world.assigned(WEB))
    assert placements == [{"member2": 2, "member3": 1}, {"member2": 1, "member3": 2}]
