"""Templates whose rollout is paused: a pause halts a rollout, and no failover."""

from leeward.sim.world import World
from tests.world.sampler import sampled
from tests.world.stories import DEPLOYMENTS, POLICIES, apply, deployment, in_world, play, policy, ready_replicas, tasks

ONE = [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}]


async def is_paused(world: World, member: str) -> bool:
    found = await world.member(member).client.get(DEPLOYMENTS, "web", "default")
    return found["spec"].get("paused") is True


async def pause(world: World) -> None:
    await world.client.patch(DEPLOYMENTS, "web", {"spec": {"paused": True}}, "default")
    await world.sleep(10)


@in_world()
async def test_a_paused_deployment_of_a_dead_cluster_serves_elsewhere(world: World) -> None:
    """Kubernetes makes no Pods of a new Deployment that is paused: it was down for as long as it was paused."""
    placement = {"clusterAffinity": {"clusterNames": ["member1", "member2"]}, "spreadConstraints": ONE}
    await apply(world.client, deployment("web", 2), policy("web", placement))
    await world.until(lambda: world.assigned("web-deployment") == {"member1": 2}, 60)
    await world.sleep(30)
    await pause(world)
    await world.member("member1").stop()
    await world.until(lambda: world.assigned("web-deployment") == {"member2": 2}, 900)
    await world.sleep(30)
    assert await ready_replicas(world, "member2", "web") == 2
    await world.until(lambda: not tasks(world, "web-deployment"), 900)
    await world.sleep(30)
    assert await is_paused(world, "member2")
    assert await ready_replicas(world, "member2", "web") == 2


def test_a_paused_deployment_that_a_person_moves_serves_all_the_time() -> None:
    async def story(world: World) -> None:
        await apply(
            world.client, deployment("web", 2), policy("web", {"clusterAffinity": {"clusterNames": ["member1"]}})
        )
        await world.until(lambda: world.assigned("web-deployment") == {"member1": 2}, 60)
        await world.sleep(30)
        await pause(world)
        narrower = {"spec": {"placement": {"clusterAffinity": {"clusterNames": ["member3"]}}}}
        async with sampled(world) as samples:
            await world.client.patch(POLICIES, "web", narrower, "default")
            await world.sleep(120)
        assert samples.fewest == 2
        assert samples.copies[-1] == {"member3": 2}
        assert await is_paused(world, "member3")

    play(story)


@in_world()
async def test_a_deployment_that_is_paused_from_its_start_starts_nowhere(world: World) -> None:
    placement = {"clusterAffinity": {"clusterNames": ["member1"]}}
    await apply(world.client, deployment("web", 2, paused=True), policy("web", placement))
    await world.until(lambda: world.assigned("web-deployment") == {"member1": 2}, 60)
    await world.sleep(60)
    assert await ready_replicas(world, "member1", "web") == 0
    assert await is_paused(world, "member1")
    narrower = {"spec": {"placement": {"clusterAffinity": {"clusterNames": ["member3"]}}}}
    await world.client.patch(POLICIES, "web", narrower, "default")
    await world.sleep(60)
    assert await ready_replicas(world, "member3", "web") == 0
    assert await is_paused(world, "member3")
