"""A control plane restored, in the middle of an outage, to before it: what has taken over serves on."""

import pytest

from leeward.sim.world import World
from tests.world.stories import DEPLOYMENTS, apply, by_weight, deployment, identities, in_world, policy, ready_replicas

LOST = "member1"


async def restored_to_before(world: World, takes_over: str, *, is_back: bool) -> None:
    """The backup gives the lost cluster most of the replicas, which all run in another one by now."""
    await apply(world.client, deployment("web", 10), policy("web", by_weight({LOST: 9, takes_over: 1})))
    await world.sleep(60)
    assert world.assigned("web-deployment") == {LOST: 9, takes_over: 1}
    backup = await world.medium.load()
    await world.member(LOST).stop()
    await world.sleep(1200)
    assert await ready_replicas(world, takes_over, "web") == 10
    if is_back:
        await world.member(LOST).start()
        await world.sleep(120)
    await world.stop_controllers()
    await world.stop_apiserver()
    world.medium.replace(backup)
    await world.start_control_plane()


@pytest.mark.parametrize("takes_over", ["member2", "member3"], ids=["Push", "Pull"])
@in_world()
async def test_s1_a_restore_to_before_an_outage_takes_no_replica_from_what_has_taken_over(
    world: World, takes_over: str
) -> None:
    await restored_to_before(world, takes_over, is_back=False)
    uid = (await identities(world, "web", [takes_over]))[takes_over][0]
    least = 10
    for _ in range(120):
        await world.sleep(10)
        least = min(least, await ready_replicas(world, takes_over, "web"))
    assert world.assigned("web-deployment") == {takes_over: 10}, "the failover has come again"
    assert least == 10
    assert (await identities(world, "web", [takes_over]))[takes_over][0] == uid


@pytest.mark.parametrize("asked", ["nothing", "a scale-down"])
@in_world()
async def test_l1_what_was_restored_is_carried_out_in_the_end_and_what_a_user_asks_for_at_once(
    world: World, asked: str
) -> None:
    await restored_to_before(world, "member2", is_back=True)
    await world.sleep(30)
    assert await ready_replicas(world, LOST, "web") == 9
    assert await ready_replicas(world, "member2", "web") == 10
    if asked == "nothing":
        await world.sleep(900)
        assert await ready_replicas(world, "member2", "web") == 1
    else:
        await world.client.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 20}}, "default")
        await world.sleep(30)
        assert await ready_replicas(world, "member2", "web") == 2
    assert "AppliedFailed" not in str(world.binding("web-deployment"))
