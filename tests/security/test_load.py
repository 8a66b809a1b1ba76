"""Nobody's load becomes somebody's death: what a tenant's objects cost is bounded, and a stall of our own harms nobody.

    has            the right to write ConfigMaps and PropagationPolicies in one namespace
    does           writes policies with tens of thousands of selectors beside thousands of templates, and touches them
    must not get   healthy members declared dead, or a failover elsewhere held up

A stall is played by pausing the controllers: deadlines pass and answers wait in their sockets, as they do while one
computation keeps the loop. Holds: S13, L4.
"""

from datetime import datetime

import pytest

from leeward.sim.world import World
from tests.world.stories import play
from tests.world.test_unwatched_time import FLEETS, LOOK_SECONDS, PUSH, is_left, no_execute, web_runs

SECONDS_TO_FAIL = {"Push": 30, "Pull": 40}
"""The threshold of probes, and the grace period of agents."""


async def stall(world: World, seconds: float) -> None:
    """The loop of the controllers stands still; the world goes on."""
    world.controllers_life.pause()
    await world.sleep(seconds)
    world.controllers_life.resume()


def ready_since(world: World) -> dict[str, datetime | None]:
    """Since when each cluster is Ready, of those that are."""
    ready = {name: world.cluster(name).ready for name in world.members}
    return {name: it.last_transition_time for name, it in ready.items() if it is not None and it.status == "True"}


@pytest.mark.parametrize("seconds", [4.6, 14.0])
def test_s13_a_probe_whose_deadline_passed_while_we_stood_still_is_no_failed_probe(seconds: float) -> None:
    """The answers are slow, and there is a stall in the middle of each probe."""

    async def story(world: World) -> None:
        before = ready_since(world)
        for name in PUSH:
            world.link("controllers", name).latency_seconds = 1.5
        for _ in range(12):
            await world.sleep_to_whole(10, offset=1)
            await stall(world, seconds)
            assert ready_since(world) == before
        await world.sleep(60)
        assert ready_since(world) == before

    play(story, PUSH)


@pytest.mark.parametrize("seconds", [13.0, 35.0])
def test_s13_a_lease_that_waited_in_our_own_queue_is_no_silence(seconds: float) -> None:
    """The agent was out of reach for a while, and is heard again while we stand still."""

    async def story(world: World) -> None:
        before = ready_since(world)
        agent = world.member("member1").agent_link
        for _ in range(3):
            agent.hang()
            await world.sleep(28.0)
            world.controllers_life.pause()
            agent.flow()
            await world.sleep(seconds)
            world.controllers_life.resume()
            await world.sleep(0.5)
            assert ready_since(world) == before
            await world.sleep(60)
        assert ready_since(world) == before

    play(story, FLEETS["Pull"])


@pytest.mark.parametrize(("mode", "seconds"), [("Push", 14.0), ("Pull", 12.0)])
def test_s13_l2_a_cluster_is_lost_after_its_time_of_listening_and_not_later(mode: str, seconds: float) -> None:
    """What nobody answers while we run counts; the rest does not."""

    async def story(world: World) -> None:
        await world.member("member1").stop()
        begun, stood_still = world.seconds, 0.0
        while world.is_ready("member1") and world.seconds < 600:
            await world.sleep(6)
            if world.is_ready("member1"):
                await stall(world, seconds)
                stood_still += seconds
        listened = world.seconds - begun - stood_still
        assert SECONDS_TO_FAIL[mode] - 15 <= listened <= SECONDS_TO_FAIL[mode] + 25

    play(story, FLEETS[mode])


@pytest.mark.parametrize(("mode", "seconds"), [("Push", 12.0), ("Pull", 35.0)])
def test_s13_l2_a_toleration_runs_over_the_time_in_which_we_ran(mode: str, seconds: float) -> None:
    async def story(world: World) -> None:
        await web_runs(world)
        await world.member("member1").stop()
        await world.until(lambda: no_execute(world))
        begun, stood_still = world.seconds, 0.0
        while world.seconds - begun - stood_still < 240:
            await world.sleep(24)
            await stall(world, seconds)
            stood_still += seconds
            assert not is_left(world)
        await world.until(lambda: is_left(world))
        ran = world.seconds - begun - stood_still
        assert 300 - 12 <= ran <= 300 + LOOK_SECONDS, "each stall is seen but for the part before the next tick"

    play(story, FLEETS[mode])
