"""Virtual time: it jumps, it never waits, and it knows a deadlock."""

import asyncio
import time
from datetime import timedelta

import pytest

from leeward.loop.clock import VirtualClock, sleep_until
from leeward.loop.randomness import Randomness
from leeward.loop.virtual import DeadlockError, EndlessError, run_virtual


def test_an_hour_takes_no_time_and_both_clocks_move_by_it() -> None:
    async def main() -> None:
        clock = VirtualClock()
        began = clock.now()
        await asyncio.sleep(3600)
        assert clock.monotonic() == 3600
        assert clock.now() - began == timedelta(hours=1)
        await sleep_until(clock, began + timedelta(hours=72))
        await sleep_until(clock, began)
        assert clock.now() - began == timedelta(hours=72)

    started = time.monotonic()
    run_virtual(main())
    assert time.monotonic() - started < 1


def test_timers_fire_in_the_order_of_their_instants() -> None:
    async def main() -> list[tuple[float, str]]:
        fired: list[tuple[float, str]] = []
        loop = asyncio.get_running_loop()
        for delay, name in ((3.0, "c"), (1.0, "a"), (2.0, "b"), (1.0, "a2")):
            loop.call_later(delay, lambda name=name: fired.append((loop.time(), name)))
        await asyncio.sleep(5)
        return fired

    assert run_virtual(main()) == [(1, "a"), (1, "a2"), (2, "b"), (3, "c")]


def test_a_world_in_which_all_wait_for_each_other_is_a_deadlock() -> None:
    async def main() -> None:
        await asyncio.Event().wait()

    with pytest.raises(DeadlockError, match="every task waits and no timer is set"):
        run_virtual(main())


def test_the_same_seed_draws_the_same() -> None:
    def draw(seed: int) -> tuple[str, str, float, str]:
        randomness = Randomness(seed)
        return randomness.uid(), randomness.suffix(), randomness.jitter(10), randomness.token()

    assert draw(1) == draw(1) != draw(2)
    assert 10 <= draw(3)[2] <= 11


def test_parties_that_keep_each_other_awake_are_broken_off() -> None:
    async def main() -> None:
        awake = asyncio.Event()

        def wake() -> None:
            asyncio.get_running_loop().call_soon(wake)

        wake()
        await awake.wait()

    with pytest.raises(EndlessError, match="has turned too often"):
        run_virtual(main(), turns=1000)
