"""A cluster dies and the others have room for a part of what ran there: the part moves, the rest follows later."""

import pytest

from kubeapi.core import NODES
from kubeapi.meta import Manifest
from leeward.api.meta import find_condition
from leeward.api.names import EVICTION_HELD_CONDITION
from leeward.sim.world import World
from tests.world.stories import apply, deployment, identities, in_world, policy, ready_replicas

DYNAMIC: Manifest = {
    "clusterAffinity": {"clusterNames": ["member1", "member2"]},
    "replicaScheduling": {
        "replicaSchedulingType": "Divided",
        "replicaDivisionPreference": "Weighted",
        "weightPreference": {"dynamicWeight": "AvailableReplicas"},
    },
}


def hungry(replicas: int) -> Manifest:
    """Deployment of `web`, as many as four fill a node of the simulated members; these have two nodes each."""
    web = deployment("web", replicas)
    web["spec"]["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "4"}}
    return web


async def cordoned_node(world: World, member: str, cordoned: bool) -> None:
    client = world.member(member).client
    node = (await client.list(NODES)).items[0]
    await client.patch(NODES, node.name, {"spec": {"unschedulable": cordoned or None}})


def held(world: World) -> str:
    binding = world.binding("web-deployment")
    condition = find_condition(binding.status.conditions, EVICTION_HELD_CONDITION) if binding else None
    return condition.message if condition else ""


@pytest.mark.long
@in_world()
async def test_s11_what_finds_room_moves_and_the_rest_follows_when_there_is_more(world: World) -> None:
    await apply(world.client, hungry(8), policy("web", DYNAMIC))
    await world.until(lambda: world.assigned("web-deployment") == {"member1": 4, "member2": 4}, 60)
    await world.sleep(30)
    await cordoned_node(world, "member2", True)
    await world.sleep(30)
    await world.member("member1").stop()
    await world.until(lambda: world.assigned("web-deployment") != {"member1": 4, "member2": 4})
    moved = 4 - world.assigned("web-deployment")["member1"]
    assert 0 < moved < 4
    assert world.assigned("web-deployment") == {"member1": 4 - moved, "member2": 4 + moved}
    await world.until(lambda: f"{4 - moved} replicas stay in member1" in held(world), 5)
    await world.sleep(60)
    assert await ready_replicas(world, "member2", "web") == 4 + moved

    await cordoned_node(world, "member2", False)
    await world.until(lambda: world.assigned("web-deployment") == {"member2": 8}, 60)
    await world.sleep(30)
    assert held(world) == ""
    assert await ready_replicas(world, "member2", "web") == 8
    binding = world.binding("web-deployment")
    assert binding is not None
    assert binding.spec.graceful_eviction_tasks == ()


@pytest.mark.long
@in_world()
async def test_a_cluster_that_returns_after_a_part_has_left_runs_what_stayed(world: World) -> None:
    await apply(world.client, hungry(8), policy("web", DYNAMIC))
    await world.until(lambda: world.assigned("web-deployment") == {"member1": 4, "member2": 4}, 60)
    await world.sleep(30)
    await cordoned_node(world, "member2", True)
    await world.sleep(30)
    there = await identities(world, "web")
    await world.member("member1").stop()
    await world.until(lambda: world.assigned("web-deployment") != {"member1": 4, "member2": 4})
    parted = world.assigned("web-deployment")
    await world.sleep(900)
    await world.member("member1").start()
    await world.until(lambda: world.is_ready("member1"))
    await world.sleep(60)
    assert world.assigned("web-deployment") == parted
    assert {name: await ready_replicas(world, name, "web") for name in parted} == parted
    assert held(world) == ""
    after = await identities(world, "web")
    assert {name: uid for name, (uid, _) in after.items()} == {name: uid for name, (uid, _) in there.items()}
