"""The control plane's wall clock jumps an hour ahead, and is set right: no outage lasts an hour longer for it (L2)."""

from datetime import datetime

from leeward.api.meta import find_condition
from leeward.api.names import NOT_READY_TAINT, REFLECTED_CONDITION
from leeward.api.resource import CLUSTERS, WORKS
from leeward.api.work import Work
from leeward.core.copies.availability import availability
from leeward.sim.world import Mode, World
from tests.world.stories import DEPLOYMENTS, apply, by_weight, deployment, in_world, policy, ready_replicas
from tests.world.test_put_back_in_members import back_with_its_past
from tests.world.test_restored import PUSHED

TWO_PULL: dict[str, Mode] = {"member1": "Push", "member2": "Pull", "member3": "Pull"}
HOUR_SECONDS = 3600


def is_unreachable(world: World, name: str) -> bool:
    ready = world.cluster(name).ready
    return ready is not None and ready.status == "Unknown"


def is_left(world: World, name: str) -> bool:
    taints = {(taint.key, taint.effect) for taint in world.cluster(name).spec.taints}
    return (NOT_READY_TAINT, "NoExecute") in taints


@in_world(TWO_PULL)
async def test_l2_an_agent_that_was_heard_last_while_the_clock_was_ahead_is_missed_in_time(world: World) -> None:
    world.controllers_clock.skew_seconds = HOUR_SECONDS
    await world.sleep(30)
    await world.members["member3"].stop()
    world.controllers_clock.skew_seconds = 0
    grace = world.timing.cluster_monitor_grace_period
    await world.until(lambda: is_unreachable(world, "member3"), grace + 2)
    assert not is_unreachable(world, "member2")


@in_world(TWO_PULL)
async def test_s4_a_jump_of_the_clock_makes_no_agent_silent(world: World) -> None:
    world.controllers_clock.skew_seconds = HOUR_SECONDS
    for second in range(10):
        label = {"metadata": {"labels": {"looked-at": str(second)}}}
        await world.client.patch(CLUSTERS, "member2", label)
        await world.sleep(1)
        assert world.is_ready("member2")


@in_world(TWO_PULL)
async def test_l2_an_outage_that_began_while_the_clock_was_ahead_is_left_in_time(world: World) -> None:
    timing = world.timing
    world.controllers_clock.skew_seconds = HOUR_SECONDS
    world.members["member1"].set_ready(False)
    await world.until(lambda: not world.is_ready("member1"), timing.cluster_failure_threshold + 30)
    world.controllers_clock.skew_seconds = 0
    await world.until(lambda: is_left(world, "member1"), timing.failover_eviction_timeout + 15)


async def work_of_web(world: World) -> Work:
    works = await world.client.list(WORKS, "karmada-es-member1")
    return next(work for work in works.items if work.name.startswith("web-"))


async def is_web_seen_healthy(world: World) -> bool:
    return availability(await work_of_web(world), world.cluster("member1"), 2).is_whole


async def reflected_at(world: World) -> datetime | None:
    reflected = find_condition((await work_of_web(world)).status.conditions, REFLECTED_CONDITION)
    return reflected.last_transition_time if reflected is not None else None


async def return_of_member1(world: World) -> None:
    settles = world.timing.cluster_failure_threshold + 30
    world.members["member1"].set_ready(False)
    await world.until(lambda: not world.is_ready("member1"), settles)
    world.members["member1"].set_ready(True)
    await world.until(lambda: world.is_ready("member1"), settles)


@in_world(TWO_PULL)
async def test_s1_a_return_while_the_clock_was_ahead_is_followed_by_evidence(world: World) -> None:
    await apply(world.client, deployment("web", 2), policy("web", by_weight({"member1": 1})))
    await world.sleep(30)
    world.controllers_clock.skew_seconds = HOUR_SECONDS
    await return_of_member1(world)
    world.controllers_clock.skew_seconds = 0
    await world.client.patch(DEPLOYMENTS, "web", {"spec": {"paused": True}}, "default")
    await world.sleep(30)
    assert await is_web_seen_healthy(world)


@in_world(TWO_PULL)
async def test_s1_what_was_reported_while_the_clock_was_ahead_is_read_again_after_a_return(world: World) -> None:
    world.controllers_clock.skew_seconds = HOUR_SECONDS
    await apply(world.client, deployment("web", 2), policy("web", by_weight({"member1": 1})))
    await world.sleep(30)
    world.controllers_clock.skew_seconds = 0
    await return_of_member1(world)
    await world.sleep(5)
    at = await reflected_at(world)
    assert at is not None
    assert at <= world.controllers_clock.now()
    assert await is_web_seen_healthy(world)


@in_world(TWO_PULL)
async def test_s1_what_is_reported_after_a_return_while_the_clock_was_ahead_is_evidence(world: World) -> None:
    """A second report was dated by the clock that was right again, an hour before the return (seed 42232)."""
    await apply(world.client, deployment("web", 2), policy("web", by_weight({"member1": 1})))
    await world.sleep(30)
    world.controllers_clock.skew_seconds = HOUR_SECONDS
    await return_of_member1(world)
    await world.sleep(30)
    assert await is_web_seen_healthy(world)
    world.controllers_clock.skew_seconds = 0
    await world.client.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 3}}, "default")
    await world.sleep(30)
    assert availability(await work_of_web(world), world.cluster("member1"), 3).is_whole


@in_world(PUSHED)
async def test_l3_what_a_restored_member_brings_back_is_removed_where_it_returned_while_the_clock_was_ahead(
    world: World,
) -> None:
    old, new = await back_with_its_past(world)
    world.controllers_clock.skew_seconds = HOUR_SECONDS
    await world.member(old).start()
    await world.until(lambda: world.is_ready(old), 120)
    world.controllers_clock.skew_seconds = 0
    await world.sleep(300)
    assert [await ready_replicas(world, name, "web") for name in (old, new)] == [-1, 3]


@in_world({"member1": "Push", "member2": "Pull"})
async def test_l3_a_copy_that_was_replaced_is_removed_where_its_cluster_returned_while_the_clock_was_ahead(
    world: World,
) -> None:
    """The removal waited for the heartbeat to settle, and was looked at again an hour later (seed 660002)."""
    terms = [{"affinityName": name, "clusterNames": [name]} for name in ("member1", "member2")]
    await apply(world.client, deployment("web", 2), policy("web", {"clusterAffinities": terms}))
    await world.sleep(30)
    old, new = "member1", "member2"
    world.member(old).set_ready(False)
    await world.until(lambda: set(world.assigned("web-deployment")) == {new}, 700)
    await world.sleep(30)
    world.controllers_clock.skew_seconds = HOUR_SECONDS
    await world.sleep(20)
    world.member(old).set_ready(True)
    await world.until(lambda: world.is_ready(old), 120)
    world.controllers_clock.skew_seconds = 0
    await world.sleep(300)
    assert [await ready_replicas(world, name, "web") for name in (old, new)] == [-1, 2]
