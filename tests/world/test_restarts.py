"""The control plane is restarted in each phase of an outage: it forgets none, invents none, and restarts no clock."""

import pytest

from leeward.sim.world import Mode, World
from tests.world.stories import apply, by_weight, deployment, play, policy

TWO: dict[str, Mode] = {"member1": "Push", "member3": "Pull"}
WEB = "web-deployment"
PHASES = {
    "before the threshold": 20,
    "after Ready=False": 60,
    "after NoExecute": 400,
    "just before the eviction": 620,
}


async def restart(world: World, away_seconds: float = 3) -> None:
    await world.stop_controllers()
    await world.sleep(away_seconds)
    world.start_controllers()


async def instants_of_an_outage(world: World, member: str, restart_at: float | None) -> dict[str, float]:
    """When `member` is not ready, has NoExecute, and has been left, in seconds since it was stopped."""
    await apply(world.client, deployment("web", 2), policy("web", by_weight({"member1": 1, "member3": 1})))
    await world.until(lambda: len(world.assigned(WEB)) == 2, 60)
    await world.sleep(30)
    await world.sleep_to_whole(10, offset=1)
    stopped, seen = world.seconds, dict[str, float]()
    await world.member(member).stop()
    while "left" not in seen and world.seconds < stopped + 1_500:
        if restart_at is not None and world.seconds >= stopped + restart_at:
            restart_at = None
            await restart(world)
        facts = {
            "not ready": not world.is_ready(member),
            "NoExecute": "NoExecute" in str(world.taints(member)),
            "left": member not in world.assigned(WEB),
        }
        for name, holds in facts.items():
            if holds and name not in seen:
                seen[name] = world.seconds - stopped
        await world.sleep(0.5)
    return seen


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("member", TWO)
def test_l6_a_restart_moves_no_instant_of_an_outage(member: str, phase: str) -> None:
    """By more than the restart took; but that a Push cluster's threshold is counted anew."""

    async def story(world: World) -> None:
        seen = await instants_of_an_outage(world, member, PHASES[phase])
        whole = {"member1": (39, 339, 639), "member3": (40, 300, 600)}[member]
        recounted = 30 if (member, phase) == ("member1", "before the threshold") else 0
        for (name, instant), expected in zip(seen.items(), whole, strict=True):
            assert expected - 10.5 <= instant <= expected + recounted + 4, name

    play(story, TWO)


def test_a_restart_of_the_control_plane_declares_nobody_lost_that_it_has_not_listened_to() -> None:
    async def story(world: World) -> None:
        await world.stop_controllers()
        world.member("member3").agent_link.hang()
        await world.sleep(3_600)
        world.member("member3").agent_link.flow()
        world.start_controllers()
        for _ in range(600):
            await world.sleep(0.2)
            assert world.is_ready("member3")
            assert world.is_ready("member1")

    play(story, TWO)


def test_a_silent_agent_is_noticed_though_the_control_plane_restarts_again_and_again() -> None:
    async def story(world: World) -> None:
        await world.member("member3").stop()
        stopped = world.seconds
        while world.is_ready("member3") and world.seconds < stopped + 300:
            await restart(world, 1)
            await world.sleep(25)
        assert world.seconds - stopped < 90

    play(story, TWO)
