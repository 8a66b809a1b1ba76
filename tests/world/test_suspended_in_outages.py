"""Dispatching that is suspended for a cluster, while another one is lost and comes back: what serves there stays."""

import pytest

from leeward.sim.world import World
from tests.world.stories import (
    POLICIES,
    apply,
    by_weight,
    deployment,
    identities,
    in_world,
    policy,
    ready_replicas,
    without_room,
)

WEB = "web-deployment"
THREE = ("member1", "member2", "member3")


@pytest.mark.parametrize("has_room", [True, False])
@in_world()
async def test_s1_what_serves_in_a_suspended_cluster_stays_when_another_one_returns(
    world: World, has_room: bool
) -> None:
    """Nothing fresh is known of it, which was taken for nothing that serves: it gave its replicas to the one that was
    back, and its copy was deleted."""
    await apply(world.client, deployment("web", 6), policy("web", by_weight(dict.fromkeys(THREE, 1))))
    await world.until(lambda: world.assigned(WEB) == dict.fromkeys(THREE, 2), 60)
    await world.sleep(30)
    before = await identities(world, "web", ["member2"])
    frozen = {"dispatchingOnClusters": {"clusterNames": ["member2"]}}
    await world.client.patch(POLICIES, "web", {"spec": {"suspension": frozen}}, "default")
    if not has_room:
        await without_room(world, "member3")
    await world.member("member1").stop()
    await world.until(lambda: world.assigned(WEB) == {"member2": 2, "member3": 4})
    await world.sleep(30)
    await world.member("member1").start()
    await world.until(lambda: world.is_ready("member1"))
    least = 6 if has_room else 4
    for _ in range(120):
        await world.sleep(1)
        assert await ready_replicas(world, "member2", "web") == 2
        served = [await ready_replicas(world, name, "web") for name in THREE]
        assert sum(served) >= least, served
    assert await identities(world, "web", ["member2"]) == before
    await world.client.patch(POLICIES, "web", {"spec": {"suspension": None}}, "default")
    await world.sleep(30)
    assert (await identities(world, "web", ["member2"]))["member2"][0] == before["member2"][0]
    assert sum(world.assigned(WEB).values()) == 6
