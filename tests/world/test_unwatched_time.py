"""Time in which nobody watched (S13): after a gap, or a step of the clock, a cluster is looked at before it is left.

The controllers are stopped, or the machine that they run on is suspended, or its wall clock steps, in each phase of a
failover; meanwhile the cluster is well again, or it is not.
"""

from collections.abc import Awaitable, Callable

import pytest

from kubeapi.meta import format_time
from leeward.api.resource import CLUSTER_TAINT_POLICIES, CLUSTERS
from leeward.sim.world import Mode, World
from tests.variants import mostly_long
from tests.world.stories import apply, by_weight, deployment, held, in_world, play, policy, tasks, without_room
from tests.world.test_application_failover import TOLERATION, cordon_nodes, is_unhealthy, web_policy
from tests.world.test_taint_policies import at_once

PUSH: dict[str, Mode] = {"member1": "Push", "member2": "Push", "member3": "Push", "member4": "Push"}
FLEETS: dict[str, dict[str, Mode]] = {"Push": PUSH, "Pull": {**PUSH, "member1": "Pull"}}
WEB = "web-deployment"
LOOK_SECONDS = 45
"""Seconds that are needed to look again: to notice the gap, and to listen to agents for half the grace period."""
EARLIEST_SECONDS = {"Push": 630 - 1, "Pull": 590 - 2}
"""Seconds from the last probe or lease that succeeded: with Push's threshold; for Pull from the last sign of life."""
HOUR = 3600


async def web_runs(world: World) -> None:
    await apply(world.client, deployment("web", 4), policy("web", by_weight({"member1": 1, "member2": 1})))
    await world.until(lambda: world.assigned(WEB) == {"member1": 2, "member2": 2}, 60)
    await world.sleep(30)


def no_execute(world: World) -> bool:
    return any("NoExecute" in taint for taint in world.taints("member1"))


def is_left(world: World) -> bool:
    return "member1" not in world.assigned(WEB)


async def suspend(world: World, seconds: float, meanwhile: Callable[[], Awaitable[object]] | None = None) -> None:
    """The machine of the controllers sleeps; both of its clocks have gone on when it wakes."""
    world.controllers_life.pause()
    await world.sleep(seconds / 2)
    if meanwhile is not None:
        await meanwhile()
    await world.sleep(seconds / 2)
    world.controllers_life.resume()


async def stop(world: World, seconds: float, meanwhile: Callable[[], Awaitable[object]] | None = None) -> None:
    await world.stop_controllers()
    await world.sleep(seconds / 2)
    if meanwhile is not None:
        await meanwhile()
    await world.sleep(seconds / 2)
    world.start_controllers()


async def sleep_frozen(world: World, seconds: float, meanwhile: Callable[[], Awaitable[object]] | None = None) -> None:
    """Sleeps as in `suspend`, but the monotonic clock stands still (Linux): nothing is late, the time is another."""
    world.controllers_life.pause()
    if meanwhile is not None:
        await meanwhile()
    await world.sleep(1)
    world.controllers_clock.skew_seconds += seconds
    world.controllers_life.resume()


AWAY = {"stopped": stop, "suspended": suspend, "asleep": sleep_frozen}


async def never_left(world: World, seconds: float) -> None:
    end = world.seconds + seconds
    while world.seconds < end:
        await world.sleep(0.5)
        assert not is_left(world), "evicted on what was known before"


@pytest.mark.parametrize("away", mostly_long(AWAY, "stopped", "suspended"))
@pytest.mark.parametrize("mode", FLEETS)
@pytest.mark.parametrize("seconds", mostly_long([400, 1800], 400))
def test_s13_a_cluster_that_is_well_again_is_not_left_for_what_was_seen_before(
    mode: str, away: str, seconds: int
) -> None:
    async def story(world: World) -> None:
        await web_runs(world)
        generation = before.metadata.generation if (before := world.binding(WEB)) else 0
        await world.member("member1").stop()
        await world.until(lambda: no_execute(world))
        await world.sleep(100)
        await AWAY[away](world, seconds, world.member("member1").start)
        await never_left(world, 300)
        assert world.is_ready("member1")
        assert not no_execute(world)
        after = world.binding(WEB)
        assert after is not None
        assert after.metadata.generation == generation, "nothing has changed for a moment, either"

    play(story, FLEETS[mode])


@pytest.mark.parametrize("away", AWAY)
@pytest.mark.parametrize("mode", FLEETS)
@pytest.mark.parametrize("phase", ["before the threshold", "not ready", "NoExecute"])
@pytest.mark.long
def test_s13_l2_time_that_nobody_watched_does_not_count_and_the_rest_does(mode: str, away: str, phase: str) -> None:
    """The cluster is lost for good. What was due after a time is due after that time of watching."""

    async def story(world: World) -> None:
        await web_runs(world)
        begun = world.seconds
        await world.member("member1").stop()
        if phase == "before the threshold":
            await world.sleep(21)
        elif phase == "not ready":
            await world.until(lambda: not world.is_ready("member1"))
            await world.sleep(60)
        else:
            await world.until(lambda: no_execute(world))
            await world.sleep(60)
        watched = world.seconds - begun
        await AWAY[away](world, HOUR)
        back = world.seconds
        await world.until(lambda: is_left(world))
        took = watched + world.seconds - back
        assert EARLIEST_SECONDS[mode] <= took <= 640 + LOOK_SECONDS

    play(story, FLEETS[mode])


@pytest.mark.parametrize("mode", FLEETS)
@pytest.mark.parametrize("step", mostly_long([HOUR, 900, -60], HOUR, -60))
def test_s13_a_step_of_the_clock_shortens_no_failover_that_is_young(mode: str, step: int) -> None:
    async def story(world: World) -> None:
        await web_runs(world)
        await world.member("member1").stop()
        await world.until(lambda: not world.is_ready("member1"))
        await world.sleep(60)
        at = world.seconds
        world.controllers_clock.skew_seconds = step
        await world.client.patch(CLUSTERS, "member1", {"metadata": {"labels": {"x": "y"}}})
        await world.until(lambda: is_left(world))
        due = {"Push": 540, "Pull": 500}[mode]
        assert due - 2 <= world.seconds - at <= due + 5 - min(step, 0)

    play(story, FLEETS[mode])


@pytest.mark.long
@pytest.mark.parametrize("mode", FLEETS)
def test_s13_a_step_of_the_clock_consumes_no_toleration_and_no_grace(mode: str) -> None:
    async def story(world: World) -> None:
        await web_runs(world)
        await without_room(world, "member2")
        await world.member("member1").stop()
        await world.until(lambda: no_execute(world))
        at = world.seconds
        world.controllers_clock.skew_seconds = 900
        await world.client.patch(CLUSTERS, "member1", {"metadata": {"labels": {"x": "y"}}})
        await world.until(lambda: is_left(world))
        assert 298 <= world.seconds - at <= 305
        await world.sleep(60)
        world.controllers_clock.skew_seconds = 1800
        await world.client.patch(CLUSTERS, "member1", {"metadata": {"labels": {"x": "z"}}})
        await world.sleep(500)
        assert tasks(world, WEB) == ["member1"], "its grace period is not over"

    play(story, FLEETS[mode])


@pytest.mark.long
@pytest.mark.parametrize("away", mostly_long(AWAY, "suspended"))
@in_world(PUSH)
async def test_s13_the_grace_period_of_an_eviction_does_not_run_while_nobody_watches(world: World, away: str) -> None:
    await web_runs(world)
    await without_room(world, "member2")
    await world.member("member1").stop()
    await world.until(lambda: tasks(world, WEB) == ["member1"])
    await world.sleep(100)
    await AWAY[away](world, HOUR)
    await world.sleep(480)
    assert tasks(world, WEB) == ["member1"]
    assert held(world, WEB) == "", "its time is not over, and nothing is missed"


@in_world(PUSH)
async def test_s13_a_step_of_the_clock_makes_no_cluster_fail_before_its_threshold(world: World) -> None:
    await world.sleep_to_whole(10, offset=1)
    for name in ("member1", "member2"):
        world.member(name).set_ready(False)
    await world.sleep(11)
    for step in range(1, 4):
        world.controllers_clock.skew_seconds = step * HOUR
        await world.sleep(2)
        assert world.is_ready("member1")
    world.member("member2").set_ready(True)
    await world.until(lambda: not world.is_ready("member1"), 60)
    assert world.is_ready("member2")


@pytest.mark.parametrize("away", mostly_long(AWAY, "suspended"))
@in_world(PUSH)
async def test_s13_a_cluster_that_answers_again_is_not_left_before_that_is_decided(world: World, away: str) -> None:
    """The toleration has a moment left, and the first look after the gap finds the cluster well: Ready 30 s later."""
    await web_runs(world)
    await world.member("member1").stop()
    await world.until(lambda: no_execute(world))
    await world.sleep(298)
    await AWAY[away](world, 200, world.member("member1").start)
    await never_left(world, 120)
    assert world.is_ready("member1")


@pytest.mark.parametrize("away", mostly_long(AWAY, "suspended"))
@pytest.mark.parametrize("mode", FLEETS)
def test_s13_what_a_cluster_taint_policy_evicts_at_once_was_looked_at_before(mode: str, away: str) -> None:
    """The outage is seen, and the controllers are away before the policy has acted on it."""

    async def story(world: World) -> None:
        await world.client.create(CLUSTER_TAINT_POLICIES, {**at_once("example.com/lost", removeOnConditions=[])})
        await web_runs(world)
        await world.member("member1").stop()
        await world.sleep(30)
        await world.stop_controllers()
        lost = {"type": "Ready", "status": "False", "reason": "ClusterNotReachable", "message": "it was seen"}
        status = {"conditions": [{**lost, "lastTransitionTime": format_time(world.clock.now())}]}
        await world.client.patch(CLUSTERS, "member1", {"status": status}, subresource="status")
        world.start_controllers()
        await AWAY[away](world, 400, world.member("member1").start)
        await never_left(world, 200)
        assert world.is_ready("member1")
        assert not no_execute(world)

    play(story, FLEETS[mode])


@in_world(PUSH)
async def test_what_a_person_has_tainted_is_left_at_once_by_controllers_that_were_away(world: World) -> None:
    await web_runs(world)
    taint = {"key": "example.com/mine", "effect": "NoExecute"}
    await world.stop_controllers()
    await world.client.patch(CLUSTERS, "member1", {"spec": {"taints": [taint]}})
    await world.sleep(HOUR)
    world.start_controllers()
    await world.until(lambda: is_left(world), 5)


@pytest.mark.long
@pytest.mark.parametrize("away", mostly_long(AWAY, "suspended"))
@in_world({**PUSH, "member3": "Pull", "member4": "Pull"})
async def test_s13_a_fleet_of_which_nothing_was_lost_notices_no_gap(world: World, away: str) -> None:
    await web_runs(world)
    await AWAY[away](world, HOUR)
    for _ in range(240):
        await world.sleep(0.5)
        assert all(world.is_ready(name) for name in PUSH)
        assert not any(world.taints(name) for name in PUSH)


@pytest.mark.parametrize("away", mostly_long(AWAY, "suspended"))
@in_world({"member1": "Push", "member2": "Push", "member3": "Push"})
async def test_s13_a_copy_that_is_well_again_does_not_fail_over_for_what_was_seen_before(
    world: World, away: str
) -> None:
    """Application failover: it is unhealthy for a part of its toleration, and mends while nobody watches."""
    await cordon_nodes(world, "member1")
    await apply(world.client, deployment("web", 2), web_policy(["member1", "member2", "member3"]))
    await world.until(lambda: is_unhealthy(world), 30)
    await world.sleep(TOLERATION - 10)
    await AWAY[away](world, 400, lambda: cordon_nodes(world, "member1", cordoned=False))
    for _ in range(240):
        await world.sleep(0.5)
        assert set(world.assigned(WEB)) == {"member1"}


@in_world({"member1": "Push", "member2": "Push", "member3": "Push"})
async def test_s13_a_copy_that_stays_unhealthy_fails_over_after_its_toleration_of_watched_time(world: World) -> None:
    await cordon_nodes(world, "member1")
    await apply(world.client, deployment("web", 2), web_policy(["member1", "member2", "member3"]))
    await world.until(lambda: is_unhealthy(world), 30)
    await world.sleep(TOLERATION / 2)
    await suspend(world, HOUR)
    back = world.seconds
    await world.until(lambda: is_left(world), 600)
    assert TOLERATION / 2 - 10 <= world.seconds - back <= TOLERATION / 2 + LOOK_SECONDS
