"""A copy that is replaced in part only: no time that passes takes away what the rest of it serves."""

import pytest

from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from leeward.sim.world import World
from tests.world.stories import DEPLOYMENTS, apply, deployment, in_world, policy, ready_replicas, tasks, without_room
from tests.world.test_partial_eviction import DYNAMIC, hungry

WEB = "web-deployment"
RESOURCE_QUOTAS = Resource.of_manifests("v1", "resourcequotas", "ResourceQuota", True)
GRACE_SECONDS = 600
"""The default of `--graceful-eviction-timeout`."""


async def copy_in(world: World, member: str) -> Manifest:
    return await world.member(member).client.get(DEPLOYMENTS, "web", "default")


@pytest.mark.long
@in_world()
async def test_s1_a_partial_replacement_ends_no_eviction_by_time(world: World) -> None:
    await apply(world.client, hungry(8), policy("web", DYNAMIC))
    await world.until(lambda: world.assigned(WEB) == {"member1": 4, "member2": 4}, 60)
    await world.sleep(30)
    before = await copy_in(world, "member1")
    await world.member("member1").stop()
    await world.until(lambda: tasks(world, WEB) == ["member1"])
    await without_room(world, "member2")
    await world.client.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 40}}, "default")
    await world.sleep(3 * GRACE_SECONDS)
    assert sum(world.assigned(WEB).values()) < 40, "there is no place for all of them"
    assert await ready_replicas(world, "member2", "web") == 4, "nor for what has left member1"
    assert tasks(world, WEB) == ["member1"]

    await world.member("member1").start()
    await world.until(lambda: world.is_ready("member1"))
    await world.sleep(120)
    after = await copy_in(world, "member1")
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert await ready_replicas(world, "member1", "web") == 4


@in_world({"member1": "Push", "member2": "Pull"})
async def test_l1_a_copy_that_is_back_returns_for_a_part_that_got_no_further(world: World) -> None:
    """A quota let two of four replicas in. Both copies ran on for ever, six replicas of four; then all four came back,
    when the eviction was late."""
    aggregated = {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"}
    await apply(world.client, deployment("web", 4), policy("web", {"replicaScheduling": aggregated}))
    await world.until(lambda: len(world.assigned(WEB)) == 1, 60)
    await world.sleep(30)
    (old,) = world.assigned(WEB)
    (new,) = set(world.members) - {old}
    quota = {"metadata": {"name": "pods"}, "spec": {"hard": {"pods": "2"}}}
    await world.member(new).client.create(RESOURCE_QUOTAS, quota, "default")
    before = await copy_in(world, old)
    await world.member(old).stop()
    await world.until(lambda: list(world.assigned(WEB)) == [new])
    left = world.seconds
    await world.sleep(60)
    assert await ready_replicas(world, new, "web") == 2
    await world.member(old).start()
    await world.until(lambda: world.assigned(WEB) == {old: 2, new: 2}, 300)
    await world.until(lambda: tasks(world, WEB) == [], 60)
    assert world.seconds - left < GRACE_SECONDS, "others do not surely serve them, so time is not asked"
    await world.sleep(10)
    assert (await copy_in(world, old))["metadata"]["uid"] == before["metadata"]["uid"]
    assert [await ready_replicas(world, each, "web") for each in (old, new)] == [2, 2]


@pytest.mark.long
@in_world({"member1": "Push", "member2": "Push", "member3": "Pull"})
async def test_l2_where_one_cluster_is_to_have_all_a_part_of_it_does_not_keep_it_from_the_next(world: World) -> None:
    """The part that serves stays until all is ready in the next cluster. It was for good, and the rest nowhere."""
    one_cluster = [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}]
    divided = {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"}
    placement: Manifest = {"replicaScheduling": divided, "spreadConstraints": one_cluster}
    await apply(world.client, deployment("web", 4), policy("web", placement))
    await world.until(lambda: len(world.assigned(WEB)) == 1, 60)
    await world.sleep(30)
    (old,) = world.assigned(WEB)
    await world.member(old).stop()
    await world.until(lambda: not world.is_ready(old), 120)
    part, last = sorted({*world.members} - {old})
    quota = {"metadata": {"name": "pods"}, "spec": {"hard": {"pods": "2"}}}
    await world.member(part).client.create(RESOURCE_QUOTAS, quota, "default")
    await world.until(lambda: list(world.assigned(WEB)) == [part], 900)
    await world.until(lambda: world.assigned(WEB) == {last: 4}, 700)
    while await ready_replicas(world, last, "web") < 4:
        assert await ready_replicas(world, part, "web") == 2
        await world.sleep(0.5)
    await world.until(lambda: tasks(world, WEB) == [], 30)
    await world.sleep(10)
    assert await ready_replicas(world, part, "web") == -1
