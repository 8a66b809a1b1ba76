"""Rows of the lifecycle that no decision takes, played: reports, orders that are carried out, and unjoining."""

from contextlib import suppress

import pytest

from kubeapi.core import PODS
from kubeapi.meta import Manifest
from leeward.api.cluster import Cluster
from leeward.api.names import work_name
from leeward.core.copies.disruption import copies_of
from leeward.core.copies.lifecycle import LIFECYCLE, CopyState, state_of
from leeward.sim.member import agent_of
from leeward.sim.world import Mode, World
from tests.world.stories import (
    DEPLOYMENTS,
    POLICIES,
    apply,
    deployment,
    in_world,
    policy,
    ready_replicas,
    with_room,
    without_room,
)
from tests.world.test_unjoin import unjoin

TWO: dict[str, Mode] = {"member1": "Push", "member2": "Push"}
PULL: dict[str, Mode] = {"member1": "Pull", "member2": "Push"}
WEB, WORK = "web-deployment", work_name("Deployment", "web", "default")
NONE, WANTED, SERVING, LEAVING, GOING = CopyState
DRAWN = {(before, after) for row in LIFECYCLE for before in row.before for after in row.after}
HELD: Manifest = {"metadata": {"finalizers": ["example.com/slow"]}}


class Life:
    """States that the copy in a cluster goes through, as the control plane's objects tell them."""

    def __init__(self, world: World, name: str) -> None:
        self._world, self._name = world, name
        self.states = [NONE]

    def look(self) -> CopyState:
        """Raises: AssertionError for a step that the table does not have."""
        world, binding = self._world, self._world.binding(WEB)
        works = {name: work for name in world.members if (work := world.work(name, WORK)) is not None}
        clusters = dict[str, Cluster]()
        for name in world.members:
            with suppress(LookupError):
                clusters[name] = world.cluster(name)
        table = copies_of(binding.spec, works, clusters, world.clock.now(), needs=None) if binding else None
        before, now = self.states[-1], state_of(table.rows.get(self._name) if table else None)
        if now is not before:
            assert before is NONE or (before, now) in DRAWN
            self.states.append(now)
        return now

    async def until(self, wanted: CopyState, seconds: float = 60) -> None:
        await self._world.until(lambda: self.look() is wanted, seconds)

    async def stays(self, seconds: float) -> None:
        """The state that it has goes on for so long."""
        began = self.look()
        with pytest.raises(TimeoutError):
            await self._world.until(lambda: self.look() is not began, seconds)


async def made(world: World) -> Life:
    """Two replicas in member1 that are wanted."""
    life = Life(world, "member1")
    await apply(world.client, deployment("web", 2), policy("web", {"clusterAffinity": {"clusterNames": ["member1"]}}))
    await life.until(WANTED)
    return life


async def is_asked_for(world: World, name: str) -> None:
    placement = {"clusterAffinity": {"clusterNames": [name]}}
    await world.client.patch(POLICIES, "web", {"spec": {"placement": placement}}, "default")
    await world.until(lambda: list(world.assigned(WEB)) == [name], 60)


async def leaves(world: World, life: Life) -> None:
    """Another copy is to replace it, and finds no room."""
    await life.until(SERVING)
    await without_room(world, "member2")
    await is_asked_for(world, "member2")
    await life.until(LEAVING)


async def goes(world: World, life: Life) -> None:
    """Another copy has replaced it, and a finalizer keeps its objects."""
    await life.until(SERVING)
    await world.member("member1").client.patch(DEPLOYMENTS, "web", HELD, "default")
    await is_asked_for(world, "member2")
    await life.until(GOING)


async def is_gone(world: World) -> bool:
    return await ready_replicas(world, "member1", "web") == -1


@in_world(TWO)
async def test_a_report_makes_a_wanted_copy_a_serving_one(world: World) -> None:
    await without_room(world, "member1")
    life = await made(world)
    await life.stays(120)
    await with_room(world, "member1")
    await life.until(SERVING)
    assert await ready_replicas(world, "member1", "web") == 2
    assert life.states == [NONE, WANTED, SERVING]


@in_world(TWO)
async def test_a_leaving_copy_goes_once_the_others_serve(world: World) -> None:
    life = await made(world)
    await leaves(world, life)
    await life.stays(300)
    assert await ready_replicas(world, "member1", "web") == 2
    await with_room(world, "member2")
    await life.until(NONE)
    assert await ready_replicas(world, "member2", "web") == 2
    assert life.states == [NONE, WANTED, SERVING, LEAVING, GOING, NONE]


@in_world(TWO)
async def test_a_copy_is_going_until_its_member_has_deleted_it(world: World) -> None:
    life = await made(world)
    await goes(world, life)
    await life.stays(120)
    assert world.work("member1", WORK) is not None
    await world.member("member1").client.patch(DEPLOYMENTS, "web", {"metadata": {"finalizers": None}}, "default")
    await life.until(NONE)
    assert await is_gone(world)


@pytest.mark.parametrize("before", [LEAVING, GOING])
@in_world(TWO)
async def test_a_copy_that_is_placed_again_is_a_target_again(world: World, before: CopyState) -> None:
    life = await made(world)
    if before is GOING:
        await goes(world, life)
    else:
        await leaves(world, life)
    await is_asked_for(world, "member1")
    await world.until(lambda: life.look() in (WANTED, SERVING), 60)
    assert life.states[-2] is before
    if before is LEAVING:
        await life.stays(120)
        assert life.states == [NONE, WANTED, SERVING, LEAVING, SERVING]
        assert await ready_replicas(world, "member1", "web") == 2


@in_world(PULL)
async def test_an_order_is_taken_back_when_the_law_holds_no_more(world: World) -> None:
    """The agent has not heard of it yet when the replacement is lost."""
    life = await made(world)
    await leaves(world, life)
    await world.sleep(10)
    way = world.link(agent_of("member1"), world.NAME)
    way.cut()
    await with_room(world, "member2")
    await life.until(GOING)
    await without_room(world, "member2")
    there = world.member("member2").client
    for pod in (await there.list(PODS, "default")).items:
        await there.delete(PODS, pod.name, "default")
    await life.until(LEAVING)
    way.mend()
    await life.stays(300)
    assert await ready_replicas(world, "member1", "web") == 2
    assert life.states == [NONE, WANTED, SERVING, LEAVING, GOING, LEAVING]


@pytest.mark.parametrize("before", [SERVING, LEAVING, GOING])
@in_world(TWO)
async def test_a_copy_is_none_once_its_cluster_has_left_the_fleet(world: World, before: CopyState) -> None:
    life = await made(world)
    if before is GOING:
        await goes(world, life)
    else:
        await life.until(SERVING)
    if before is LEAVING:
        await without_room(world, "member2")
        await is_asked_for(world, "member2")
        await life.until(LEAVING)
    await unjoin(world, "member1", force=before is GOING)
    await world.until(lambda: life.look() is NONE, 60)
    assert before in life.states
