"""A target that takes nothing is left for the next one, whoever asked for the move: a drain, an unjoining, both."""

import itertools
from collections.abc import Awaitable, Callable

import pytest

from kubeapi.meta import Manifest
from leeward.app.leaving import unjoin_cluster
from leeward.core.copies.memory import parse_memory
from leeward.operations.drain import start_drain
from leeward.sim.world import World
from tests.world.stories import (
    DEPLOYMENTS,
    POLICIES,
    apply,
    deployment,
    in_world,
    policy,
    ready_replicas,
    tasks,
    without_room,
)
from tests.world.test_stalled_replacements import AGGREGATED, ONE_COPY, THREE, WEB, mend, taken_by, without_takers

Emptied = Callable[[World, str], Awaitable[None]]


async def drained(world: World, name: str) -> None:
    await start_drain(world.client, name, None)


async def unjoined(world: World, name: str) -> None:
    await unjoin_cluster(world.client, name, world.clock, force=False, wait_seconds=60)


async def drained_and_unjoined(world: World, name: str) -> None:
    await drained(world, name)
    await world.until(lambda: tasks(world, WEB) == [name], 60)
    await unjoined(world, name)


def awaited(world: World) -> list[str]:
    """Targets that are remembered to replace something."""
    binding = world.binding(WEB)
    return [*parse_memory(binding, world.clock.now()).awaited] if binding else []


async def forbidden(world: World, name: str) -> None:
    """The policy names the other clusters from now on."""
    others = {"clusterAffinity": {"clusterNames": [member for member in THREE if member != name]}}
    await world.client.patch(POLICIES, "web", {"spec": {"placement": others}}, "default")


@pytest.mark.parametrize("placement", [ONE_COPY, AGGREGATED], ids=["one copy", "divided"])
@pytest.mark.parametrize("empty", [drained, unjoined, drained_and_unjoined, forbidden])
@pytest.mark.parametrize("why", ["refuses writes", "has no room"])
@pytest.mark.long
@in_world(THREE)
async def test_l2_a_target_that_takes_nothing_is_left_whoever_asked_for_the_move(
    world: World, empty: Emptied, placement: Manifest, why: str
) -> None:
    old, others = await without_takers(world, placement, why)
    began = world.seconds
    await empty(world, old)
    await world.until(lambda: old not in world.assigned(WEB), 60)
    swallowing, third = taken_by(world, others)
    await mend(world, third)
    await world.until(lambda: third in world.assigned(WEB), 800)
    assert 595 <= world.seconds - began <= 700
    await world.sleep(60)
    assert await ready_replicas(world, third, "web") == 3
    assert awaited(world) == []
    await mend(world, swallowing)
    await world.sleep(900)
    assert list(world.assigned(WEB)) == [third], "and there it stays"


@pytest.mark.long
@in_world(THREE)
async def test_l2_a_copy_that_was_unjoined_and_is_well_elsewhere_is_awaited_no_more_and_stays_when_it_breaks(
    world: World,
) -> None:
    await apply(world.client, deployment("web", 3), policy("web", ONE_COPY))
    await world.until(lambda: len(world.assigned(WEB)) == 1, 60)
    await world.sleep(30)
    (old,) = world.assigned(WEB)
    await unjoined(world, old)
    await world.sleep(60)
    (new,) = world.assigned(WEB)
    assert await ready_replicas(world, new, "web") == 3
    assert awaited(world) == []
    await without_room(world, new)
    await world.client.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 5}}, "default")
    await world.sleep(1800)
    assert list(world.assigned(WEB)) == [new]


@pytest.mark.long
@pytest.mark.parametrize("placement", [ONE_COPY, AGGREGATED], ids=["one copy", "divided"])
@pytest.mark.parametrize("empty", [drained, unjoined])
@pytest.mark.parametrize("why", ["refuses writes", "has no room"])
@in_world(THREE)
async def test_l2_an_autoscaler_keeps_no_target_that_takes_nothing(
    world: World, empty: Emptied, placement: Manifest, why: str
) -> None:
    """The autoscaler changes the replicas every forty seconds, and now and then comes back to what it has asked for."""
    old, others = await without_takers(world, placement, why)
    began = world.seconds
    await empty(world, old)
    await world.until(lambda: old not in world.assigned(WEB), 60)
    swallowing, third = taken_by(world, others)
    await mend(world, third)
    for replicas in itertools.cycle((4, 3, 5, 4, 6)):
        if swallowing not in world.assigned(WEB) or world.seconds - began > 1500:
            break
        await world.client.patch(DEPLOYMENTS, "web", {"spec": {"replicas": replicas}}, "default")
        await world.sleep(40)
    assert list(world.assigned(WEB)) == [third]
    assert world.seconds - began <= 740
    await world.sleep(60)
    assert await ready_replicas(world, third, "web") == sum(world.assigned(WEB).values())
