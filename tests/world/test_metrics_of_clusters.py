"""Metrics of clusters while they are lost, when they are back, and when they have left the fleet."""

import msgspec

from leeward.api.meta import Condition, set_condition
from leeward.api.resource import CLUSTERS
from leeward.sim.world import Mode, World
from tests.world.stories import in_world

MEMBERS: dict[str, Mode] = {"push": "Push", "pull": "Pull"}


def ready_states(world: World) -> dict[str, float]:
    return {
        sample.labels["member_cluster"]: sample.value
        for metric in world.metrics.registry.collect()
        for sample in metric.samples
        if sample.name == "cluster_ready_state"
    }


@in_world(MEMBERS)
async def test_a_cluster_of_either_mode_is_told_as_ready_lost_and_ready_again(world: World) -> None:
    await world.sleep(60)
    assert ready_states(world) == {"push": 1, "pull": 1}
    for name in MEMBERS:
        await world.member(name).stop()
    await world.sleep(90)
    assert ready_states(world) == {"push": 0, "pull": 0}
    for name in MEMBERS:
        await world.member(name).start()
    await world.sleep(120)
    assert ready_states(world) == {"push": 1, "pull": 1}


@in_world(MEMBERS)
async def test_what_an_agent_in_a_process_of_its_own_says_is_told(world: World) -> None:
    """An agent of the simulation counts into the same metrics; so it is stopped, and its word is written for it."""
    await world.member("pull").stop()
    await world.sleep(90)
    assert ready_states(world)["pull"] == 0
    lost = await world.client.get(CLUSTERS, "pull")
    ready = set_condition(lost.status.conditions, Condition("Ready", "True", "ClusterReady"), world.clock.now())
    said = msgspec.structs.replace(lost, status=msgspec.structs.replace(lost.status, conditions=ready))
    await world.client.update(CLUSTERS, said, "pull", subresource="status")
    await world.until(lambda: ready_states(world)["pull"] == 1, 1)


@in_world(MEMBERS)
async def test_of_a_cluster_that_has_left_the_fleet_nothing_is_told(world: World) -> None:
    await world.member("pull").stop()
    await world.sleep(90)
    assert ready_states(world) == {"push": 1, "pull": 0}
    await world.client.delete(CLUSTERS, "pull")
    await world.sleep(600)
    assert ready_states(world) == {"push": 1}
