"""Rebalancings that are asked for while the controllers' clock is not the API server's: each is made, once."""

import pytest

from leeward.api.resource import WORKLOAD_REBALANCERS
from leeward.sim.world import World
from tests.world.stories import apply, by_weight, deployment, in_world, policy
from tests.world.test_rebalancer import WORKLOAD, finished


@pytest.mark.parametrize("ahead_seconds", [-30, 0, 30])
@in_world()
async def test_l1_a_rebalancing_soon_after_something_else_was_placed_is_made_though_clocks_differ(
    world: World, ahead_seconds: int
) -> None:
    world.controllers_clock.skew_seconds = ahead_seconds
    await world.sleep(120)
    await apply(world.client, deployment("web", 4), policy("web", by_weight({"member1": 1})))
    await world.until(lambda: world.assigned("web-deployment") == {"member1": 4}, 60)
    await world.sleep(5)
    before = world.binding("web-deployment")
    spec = {"workloads": [{**WORKLOAD, "name": "web"}]}
    await world.client.create(WORKLOAD_REBALANCERS, {"metadata": {"name": "home"}, "spec": spec})
    done = await finished(world, "home")
    assert [told.result for told in done.status.observed_workloads] == ["Successful"]
    await world.sleep(10)
    after = world.binding("web-deployment")
    assert before is not None
    assert after is not None
    asked, made = after.spec.reschedule_triggered_at, after.status.last_scheduled_time
    assert asked is not None
    assert made is not None
    assert before.status.last_scheduled_time is not None
    assert made > before.status.last_scheduled_time, "it was said, and not made"
    assert made >= asked, "it would be made again and again"
