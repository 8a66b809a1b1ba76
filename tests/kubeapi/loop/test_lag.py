"""The lag of the event loop: how long a process stood still, on the virtual clock."""

import asyncio
import gc

import pytest

from kubeapi.loop.lag import REMEMBERED_STALLS, EventLoopLag
from kubeapi.loop.lives import Life
from kubeapi.loop.supervisor import Supervisor
from kubeapi.loop.virtual import run_virtual

DEADLINES = 200
"""More than cancelled timers may lie about in a virtual loop."""


class Stalling:
    """A process whose loop can be stopped."""

    def __init__(self, supervisor: Supervisor) -> None:
        self.lag, self.told = EventLoopLag(), list[float]()
        self.life = Life("it")
        self.life.context().run(self.lag.start, supervisor, self.told.append)

    async def stall(self, seconds: float) -> None:
        self.life.pause()
        await asyncio.sleep(seconds)
        self.life.resume()


def test_s13_a_stall_is_measured_from_the_tick_that_was_due() -> None:
    async def story() -> None:
        async with Supervisor() as supervisor:
            it = Stalling(supervisor)
            await asyncio.sleep(10.5)
            assert it.lag.since(0) == 0
            await it.stall(7)
            assert it.lag.since(0) == pytest.approx(6.5), "it goes on, or has just ended: no tick has come yet"
            await asyncio.sleep(5)
            assert it.lag.since(0) == pytest.approx(6.5)
            assert it.told == [pytest.approx(6.5)]
            assert it.lag.since(15) == pytest.approx(2.5)
            assert it.lag.since(17.5) == 0
            await it.stall(3)
            assert it.lag.since(0) == pytest.approx(9.0, abs=0.6)

    run_virtual(story())


def test_s13_a_deadline_runs_over_the_time_in_which_the_loop_ran() -> None:
    async def story() -> None:
        async with Supervisor() as supervisor:
            it = Stalling(supervisor)
            loop = asyncio.get_running_loop()
            late = loop.create_task(_within(it.lag, 5.0, 12.0), context=it.life.context())
            never = loop.create_task(_within(it.lag, 5.0, 1e6), context=it.life.context())
            await asyncio.sleep(1)
            await it.stall(10)
            assert await late == 12, "the answer came while nothing ran, or soon after"
            assert 14 <= await never <= 16

    run_virtual(story())


def test_d9_stalls_are_bounded_and_none_is_counted_that_has_not_started() -> None:
    async def story() -> None:
        assert EventLoopLag().since(0) == 0
        async with Supervisor() as supervisor:
            it = Stalling(supervisor)
            for _ in range(REMEMBERED_STALLS + 20):
                await it.stall(3)
                await asyncio.sleep(3)
            assert len(list(it.lag.stalls_since(0))) == REMEMBERED_STALLS
        assert it.lag.since(asyncio.get_running_loop().time()) == 0

    run_virtual(story())


def test_a_deadline_that_was_met_leaves_nothing_to_the_garbage_collector() -> None:
    async def story() -> int:
        async def bounded() -> None:
            for _ in range(DEADLINES):
                async with lag.timeout(10):
                    await asyncio.sleep(0)

        lag = EventLoopLag()
        await bounded()
        gc.collect()
        await bounded()
        await asyncio.sleep(20)
        return gc.collect()

    assert run_virtual(story()) < DEADLINES


async def _within(lag: EventLoopLag, seconds: float, needed: float) -> float:
    """Instant at which it ended: in time, or at its deadline."""
    try:
        async with lag.timeout(seconds):
            await asyncio.sleep(needed)
    except TimeoutError:
        pass
    return asyncio.get_running_loop().time()
