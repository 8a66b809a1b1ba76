"""Applications that are preserved leave as a whole; and Works that somebody deletes by hand cost no replica."""

from collections.abc import Awaitable, Callable, Mapping

import pytest

from leeward.api.names import execution_space
from leeward.api.resource import WORKS
from leeward.sim.world import Mode, World
from tests.world.sampler import running, sampled
from tests.world.stories import DEPLOYMENTS, POLICIES, apply, by_weight, deployment, identities, in_world, play, policy

PUSH: Mapping[str, Mode] = {"member1": "Push", "member2": "Push", "member3": "Push"}
PULL: Mapping[str, Mode] = {"member1": "Pull", "member2": "Pull", "member3": "Pull"}
FLEETS = pytest.mark.parametrize("fleet", [PUSH, PULL], ids=["Push", "Pull"])
DIVIDED = by_weight(dict.fromkeys(PUSH, 1))
WEB = "web-deployment"
SIX = {"member1": 2, "member2": 2, "member3": 2}


async def preserved(world: World) -> None:
    """`web` with two replicas in each member, and a policy that preserves it."""
    wanted = policy("web", DIVIDED)
    wanted["spec"]["preserveResourcesOnDeletion"] = True
    await apply(world.client, deployment("web", 6), wanted)
    await world.sleep(90)
    assert await running(world, "web") == SIX


async def scaled(world: World, replicas: int) -> None:
    await world.client.patch(DEPLOYMENTS, "web", {"spec": {"replicas": replicas}}, "default")


async def scaled_to_two(world: World) -> None:
    await scaled(world, 2)


async def moved(world: World) -> None:
    """The policy names other clusters."""
    patch = {"spec": {"placement": by_weight({"member2": 1, "member3": 1})}}
    await world.client.patch(POLICIES, "web", patch, "default")


@FLEETS
@pytest.mark.parametrize(
    ("change", "left"),
    [(scaled_to_two, 2), (moved, 6)],
    ids=["scaled down", "placed elsewhere"],
)
def test_a_copy_that_its_cluster_is_no_target_of_does_not_run_on_though_a_deleted_template_is_preserved(
    fleet: Mapping[str, Mode], change: Callable[[World], Awaitable[None]], left: int
) -> None:
    async def story(world: World) -> None:
        await preserved(world)
        before = await identities(world, "web")
        async with sampled(world) as samples:
            await change(world)
            await world.sleep(120)
        assert samples.fewest >= 2
        there = await running(world, "web")
        assert there == world.assigned(WEB)
        assert sum(there.values()) == left
        assert len(there) == 2
        await world.client.delete(DEPLOYMENTS, "web", "default")
        await world.sleep(120)
        assert await running(world, "web") == there, "this is what is preserved"
        after = await identities(world, "web")
        assert {name: uid for name, (uid, _) in after.items()} == {name: before[name][0] for name in there}

    play(story, fleet)


@FLEETS
@pytest.mark.parametrize("deletes", [False, True], ids=["", "and the template goes meanwhile"])
def test_a_copy_that_was_scaled_down_while_its_cluster_was_dead_goes_when_that_is_back(
    fleet: Mapping[str, Mode], *, deletes: bool
) -> None:
    async def story(world: World) -> None:
        await preserved(world)
        await world.member("member1").stop()
        await world.sleep(5)
        await scaled(world, 2)
        await world.until(lambda: "member1" not in world.assigned(WEB))
        await world.until(lambda: sum(world.assigned(WEB).values()) == 2)
        await world.sleep(60)
        there = await running(world, "web")
        assert there == world.assigned(WEB)
        if deletes:
            await world.client.delete(DEPLOYMENTS, "web", "default")
            await world.sleep(30)
        await world.member("member1").start()
        await world.until(lambda: world.is_ready("member1"), 120)
        await world.sleep(60)
        assert await running(world, "web") == there

    play(story, fleet)


@FLEETS
@pytest.mark.parametrize("preserves", [False, True])
def test_s1_works_that_are_deleted_by_hand_cost_no_replica(fleet: Mapping[str, Mode], *, preserves: bool) -> None:
    async def story(world: World) -> None:
        wanted = policy("web", DIVIDED)
        wanted["spec"]["preserveResourcesOnDeletion"] = preserves
        await apply(world.client, deployment("web", 6), wanted)
        await world.sleep(90)
        before = {name: uid for name, (uid, _) in (await identities(world, "web")).items()}
        async with sampled(world) as samples:
            for _ in range(2):
                for member in world.members:
                    for work in (await world.client.list(WORKS, execution_space(member))).items:
                        await world.client.delete(WORKS, work.name, work.namespace)
                await world.sleep(60)
        assert samples.fewest == 6
        assert {name: uid for name, (uid, _) in (await identities(world, "web")).items()} == before
        await scaled(world, 3)
        await world.sleep(30)
        assert sum((await running(world, "web")).values()) == 3, "the Works were made anew"
        await world.client.delete(DEPLOYMENTS, "web", "default")
        await world.sleep(60)
        assert sum((await running(world, "web")).values()) == (3 if preserves else 0)

    play(story, fleet)


@in_world(PUSH)
async def test_s1_works_that_are_deleted_by_hand_while_the_controllers_are_away_cost_no_replica(world: World) -> None:
    await apply(world.client, deployment("web", 6), policy("web", DIVIDED))
    await world.sleep(90)
    async with sampled(world) as samples:
        await world.stop_controllers()
        for member in world.members:
            for work in (await world.client.list(WORKS, execution_space(member))).items:
                await world.client.delete(WORKS, work.name, work.namespace)
        world.start_controllers()
        await world.sleep(120)
    assert samples.fewest == 6
