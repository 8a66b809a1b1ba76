"""Outages beside which something else is wrong: a neighbour that is degraded, a target that refuses, a suspension."""

import pytest

from kubeapi.core import EVENTS, PODS
from kubeapi.meta import Manifest
from leeward.sim.world import Mode, World
from tests.world.stories import (
    POLICIES,
    apply,
    deployment,
    identities,
    in_world,
    play,
    policy,
    ready_replicas,
    tasks,
    with_room,
    without_room,
)
from tests.world.test_detection import answers, status

THREE: dict[str, Mode] = {"member1": "Push", "member2": "Push", "member3": "Pull"}
FOUR: dict[str, Mode] = {**THREE, "member4": "Push"}
WEB = "web-deployment"


def copies(count: int) -> Manifest:
    return {
        "spreadConstraints": [{"spreadByField": "cluster", "minGroups": count, "maxGroups": count}],
        "replicaScheduling": {"replicaSchedulingType": "Duplicated"},
    }


async def web_runs(world: World, count: int, **spec: object) -> list[str]:
    """Duplicated to so many clusters, which are returned."""
    made = policy("web", copies(count))
    made["spec"] |= spec
    await apply(world.client, deployment("web", 3), made)
    await world.until(lambda: len(world.assigned(WEB)) == count, 60)
    await world.sleep(90)
    return sorted(world.assigned(WEB))


async def one_pod_short(world: World, member: str) -> None:
    """One Pod of three finds no room any more."""
    await without_room(world, member)
    client = world.member(member).client
    pod = next(pod for pod in (await client.list(PODS, "default")).items if pod.name.startswith("web"))
    await client.delete(PODS, pod.name, "default")
    await world.sleep(30)


@pytest.mark.parametrize("members", [THREE, FOUR], ids=["no cluster is left", "one cluster is left"])
@pytest.mark.long
def test_s12_a_degraded_copy_stays_where_it_is_when_its_neighbour_is_lost_and_returns(members: dict[str, Mode]) -> None:
    async def story(world: World) -> None:
        lost, degraded = await web_runs(world, 2)
        await one_pod_short(world, degraded)
        before = await identities(world, "web", [degraded])
        await world.member(lost).stop()
        await world.until(lambda: lost not in world.assigned(WEB), 900)
        await world.sleep(900)
        assert await identities(world, "web", [degraded]) == before, "it was not part of the outage"
        await world.member(lost).start()
        await world.until(lambda: world.is_ready(lost), 120)
        await world.sleep(900)
        assert await identities(world, "web", [degraded]) == before
        assert await ready_replicas(world, degraded, "web") == 2
        await with_room(world, degraded)
        await world.sleep(60)
        assert len(world.assigned(WEB)) == 2
        assert tasks(world, WEB) == []

    play(story, members)


@pytest.mark.long
@in_world(THREE)
async def test_l2_the_next_cluster_is_tried_where_a_purged_copy_was_replaced_in_vain(world: World) -> None:
    failover = {"application": {"decisionConditions": {"tolerationSeconds": 60}, "purgeMode": "Directly"}}
    (old,) = await web_runs(world, 1, failover=failover, propagateDeps=True)
    refusing, third = (name for name in THREE if name != old)
    writes = ("POST", "PUT", "PATCH", "DELETE")
    place = world.member(refusing).place
    answers(place, lambda r: status(403, "Forbidden") if r.method in writes and "/deployments" in r.path else None)
    await one_pod_short(world, old)
    await world.until(lambda: refusing in world.assigned(WEB), 120)
    await world.until(lambda: third in world.assigned(WEB), 700)
    await world.sleep(30)
    assert await ready_replicas(world, third, "web") == 3
    assert tasks(world, WEB) == []


@pytest.mark.long
@in_world(THREE)
async def test_what_somebody_has_suspended_is_not_moved_on_from_cluster_to_cluster(world: World) -> None:
    (old,) = await web_runs(world, 1)
    await world.client.patch(POLICIES, "web", {"spec": {"suspension": {"dispatching": True}}}, "default")
    await world.sleep(5)
    await world.member(old).stop()
    await world.until(lambda: old not in world.assigned(WEB), 900)
    (target,) = world.assigned(WEB)
    await world.sleep(1800)
    assert list(world.assigned(WEB)) == [target]
    told = [e.message for e in (await world.client.list(EVENTS, "default")).items]
    assert not [message for message in told if "has not taken it" in message]
    await world.client.patch(POLICIES, "web", {"spec": {"suspension": None}}, "default")
    await world.sleep(30)
    assert await ready_replicas(world, target, "web") == 3


@pytest.mark.parametrize("returns", [False, True], ids=["for good", "for a while"])
@pytest.mark.long
@in_world(THREE)
async def test_s1_a_copy_that_is_back_stays_while_the_cluster_that_it_was_moved_to_is_lost(
    world: World, returns: bool
) -> None:
    (old,) = await web_runs(world, 1)
    there = await identities(world, "web", [old])
    world.link("controllers", old).cut()
    world.link("agent-" + old, world.NAME).cut()
    await world.until(lambda: old not in world.assigned(WEB), 900)
    await world.sleep(120)
    assert tasks(world, WEB) == []
    (new,) = world.assigned(WEB)
    await world.member(new).stop()
    world.link("controllers", old).mend()
    world.link("agent-" + old, world.NAME).mend()
    for second in range(1200):
        await world.sleep(1)
        if returns and second == 200:
            await world.member(new).start()
        serving = [await ready_replicas(world, name, "web") for name in THREE if world.member(name).is_up]
        assert 3 in serving, "a copy serves at every moment"
        if second == 150:
            assert await identities(world, "web", [old]) == there
    await world.member(new).start() if not returns else None
    await world.sleep(300)
    ready = [await ready_replicas(world, name, "web") for name in THREE]
    assert sorted(ready) == [-1, -1, 3], "and one is left"
