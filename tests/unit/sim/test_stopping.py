"""Ending in order, and being killed in the middle of that."""

import asyncio

import pytest

from kubeapi.loop.virtual import run_virtual
from leeward.manager.timing import Timing
from leeward.sim.world import World


@pytest.mark.parametrize("steps", [0, 5, 1_000_000])
def test_a_member_whose_agent_is_killed_while_it_is_stopped_is_stopped(steps: int) -> None:
    """The history waited for tasks that lay still, for ever (seed 300)."""

    async def main() -> None:
        async with World({"m1": "Pull"}, Timing.karmada()) as world:
            member = world.member("m1")
            await asyncio.sleep(30)
            member.agent_life.end_after(steps, member.crash_agent)
            async with asyncio.timeout(60):
                await member.stop()
            assert not member.agent_is_up
            assert not member.is_up
            assert member.agent_life.ended == (steps < 1_000_000)

    run_virtual(main())
