"""Works that went without their objects, for the next Work of their name to take over, which nobody wants any more."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from kubeapi.meta import Manifest
from leeward.api.names import execution_space, work_name
from leeward.api.resource import RESOURCE_BINDINGS, WORKS
from leeward.operations.orphans import delete_orphan
from leeward.sim.world import World
from tests.world.stories import DEPLOYMENTS, POLICIES, apply, deployment, in_world, policy, ready_replicas
from tests.world.test_orphans import found_in, reach_in, told

WEB = work_name("Deployment", "web", "default")
Change = Callable[[World], Awaitable[Any]]


def on_one(member: str) -> Manifest:
    return {
        "clusterAffinity": {"clusterNames": [member]},
        "replicaScheduling": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"},
    }


async def moved(world: World) -> None:
    await world.client.patch(POLICIES, "web", {"spec": {"placement": on_one("member2")}}, "default")


async def deleted(world: World) -> None:
    await world.client.delete(DEPLOYMENTS, "web", "default")


async def deleted_at_once(world: World) -> None:
    """The template and its binding go together, as with their namespace."""
    await world.client.delete(RESOURCE_BINDINGS, "web-deployment", "default")
    await world.client.delete(DEPLOYMENTS, "web", "default")


@pytest.mark.parametrize("change", [moved, deleted, deleted_at_once])
@pytest.mark.parametrize("member", ["member1", "member3"])
@in_world()
async def test_l3_what_a_deleted_work_left_to_the_next_goes_when_it_is_wanted_no_more(
    world: World, member: str, change: Change
) -> None:
    await apply(world.client, deployment("web", 2), policy("web", on_one(member)))
    await world.sleep(60)
    await world.client.delete(WORKS, WEB, execution_space(member))
    await world.until(lambda: world.work(member, WEB) is None, 60)
    assert await ready_replicas(world, member, "web") == 2, "a hand at the Work takes no copy"
    await change(world)
    await world.sleep(120)
    assert await ready_replicas(world, member, "web") == -1
    assert world.work(member, WEB) is None


@pytest.mark.parametrize("change", [moved, deleted, deleted_at_once])
@pytest.mark.parametrize("member", ["member1", "member3"])
@pytest.mark.parametrize("seconds", [0, 2, 4])
@in_world()
async def test_l3_where_the_controllers_end_before_a_successor_is_made_the_copy_goes_or_is_listed(
    world: World, member: str, change: Change, seconds: int
) -> None:
    """Nobody remembers the Work then. They end `seconds` after the change."""
    await apply(world.client, deployment("web", 2), policy("web", on_one(member)))
    await world.sleep(60)
    await world.client.delete(WORKS, WEB, execution_space(member))
    await world.until(lambda: world.work(member, WEB) is None, 60)
    await change(world)
    await world.sleep(seconds)
    assert world.work(member, WEB) is None, "its successor is still to come"
    world.crash_controllers()
    await world.sleep(30)
    world.start_controllers()
    least = 2
    for _ in range(120):
        await world.sleep(1)
        least = min(least, sum([max(0, await ready_replicas(world, name, "web")) for name in world.members]))
    is_there = await ready_replicas(world, member, "web") == 2
    orphans = (await found_in(world)).orphans
    assert told(orphans) == ({f"Deployment default/web in {member}"} if is_there else set())
    if change is moved:
        assert least == 2, "as many serve as before, all the time"
        assert await ready_replicas(world, "member2", "web") == 2
    for orphan in orphans:
        assert await delete_orphan(world.client, reach_in(world), orphan)
    await world.sleep(30)
    assert await ready_replicas(world, member, "web") == -1
