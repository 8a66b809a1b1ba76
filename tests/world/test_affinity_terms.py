"""A failover into the next term of `clusterAffinities`, and out of the last one."""

import pytest

from kubeapi.core import PODS
from kubeapi.meta import Manifest
from leeward.operations.drain import start_drain
from leeward.sim.world import Mode, World
from tests.world.stories import apply, deployment, in_world, policy, ready_replicas, tasks, without_room

FOUR: dict[str, Mode] = {"member1": "Push", "member2": "Push", "member3": "Pull", "member4": "Push"}
WEB = "web-deployment"


def terms(*groups: tuple[str, ...]) -> Manifest:
    """A copy in each cluster of a group."""
    size = len(groups[0])
    return {
        "clusterAffinities": [{"affinityName": f"t{n}", "clusterNames": list(names)} for n, names in enumerate(groups)],
        "spreadConstraints": [{"spreadByField": "cluster", "minGroups": size, "maxGroups": size}],
    }


@pytest.mark.long
@in_world(FOUR)
async def test_s1_copies_that_are_well_run_until_the_whole_backup_is_ready(world: World) -> None:
    placement = terms(("member1", "member2"), ("member3", "member4"))
    await apply(world.client, deployment("web", 2), policy("web", placement))
    await world.until(lambda: set(world.assigned(WEB)) == {"member1", "member2"}, 60)
    await world.sleep(30)
    world.member("member4").set_latency(4)
    await world.member("member1").stop()
    await world.until(lambda: set(world.assigned(WEB)) == {"member3", "member4"})
    assert tasks(world, WEB) == ["member1", "member2"]
    while tasks(world, WEB):
        both = [await ready_replicas(world, name, "web") for name in ("member3", "member4")]
        assert both == [2, 2] or await ready_replicas(world, "member2", "web") == 2
        await world.sleep(1)
    await world.sleep(30)
    assert await ready_replicas(world, "member2", "web") == -1


@pytest.mark.long
@in_world()
async def test_l2_there_is_a_way_out_of_the_last_term(world: World) -> None:
    await apply(world.client, deployment("web", 2), policy("web", terms(("member1",), ("member2",))))
    await world.until(lambda: set(world.assigned(WEB)) == {"member1"}, 60)
    await world.member("member1").stop()
    await world.until(lambda: set(world.assigned(WEB)) == {"member2"})
    await world.member("member1").start()
    await world.sleep(300)
    assert set(world.assigned(WEB)) == {"member2"}, "nothing moves back by itself"
    await world.member("member2").stop()
    await world.until(lambda: set(world.assigned(WEB)) == {"member1"}, 800)
    await world.sleep(30)
    assert await ready_replicas(world, "member1", "web") == 2


@in_world(FOUR)
async def test_s1_what_is_well_serves_on_while_the_lost_copy_is_purged_and_nothing_may_replace_it(world: World) -> None:
    wanted = policy("web", terms(("member1", "member2"), ("member3", "member4")))
    wanted["spec"]["failover"] = {"cluster": {"purgeMode": "Directly"}}
    await apply(world.client, deployment("web", 2), wanted)
    await world.until(lambda: set(world.assigned(WEB)) == {"member1", "member2"}, 60)
    await world.sleep(30)
    await world.member("member1").stop()
    await world.until(lambda: tasks(world, WEB) == ["member1", "member2"])
    await world.sleep(120)
    assert [await ready_replicas(world, name, "web") for name in ("member2", "member3", "member4")] == [2, -1, -1]
    await start_drain(world.client, "member1", None)
    await world.member("member1").start()
    await world.until(lambda: tasks(world, WEB) == [], 300)
    assert [await ready_replicas(world, name, "web") for name in ("member3", "member4")] == [2, 2]


@in_world(FOUR)
async def test_s1_what_is_well_is_not_purged_with_an_application_that_has_failed(world: World) -> None:
    wanted = policy("web", terms(("member1", "member2"), ("member3", "member4")))
    failover = {"decisionConditions": {"tolerationSeconds": 30}, "purgeMode": "Directly"}
    wanted["spec"] |= {"propagateDeps": True, "failover": {"application": failover}}
    await apply(world.client, deployment("web", 2), wanted)
    await world.until(lambda: set(world.assigned(WEB)) == {"member1", "member2"}, 60)
    await world.sleep(30)
    for name in ("member1", "member3", "member4"):
        await without_room(world, name)
    for pod in (await world.member("member1").client.list(PODS, "default")).items:
        await world.member("member1").client.delete(PODS, pod.name, "default")
    await world.until(lambda: set(world.assigned(WEB)) == {"member3", "member4"}, 300)
    await world.sleep(600)
    assert await ready_replicas(world, "member2", "web") == 2
