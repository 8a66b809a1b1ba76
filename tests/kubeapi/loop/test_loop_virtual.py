"""Virtual time: it jumps, it never waits, and it knows a deadlock."""

import asyncio
from datetime import timedelta

import pytest

from kubeapi.loop.clock import VirtualClock, sleep_until
from kubeapi.loop.randomness import Randomness
from kubeapi.loop.virtual import DeadlockError, EndlessError, run_virtual


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

    run_virtual(main())


def test_timers_fire_in_the_order_of_their_instants() -> None:
    async def main() -> list[tuple[float, str]]:
        fired: list[tuple[float, str]] = []
        loop = asyncio.get_running_loop()
        for delay, name in ((3.0, "c"), (1.0, "a"), (2.0, "b"), (1.0, "a2")):
            loop.call_later(delay, lambda name=name: fired.append((loop.time(), name)))
        await asyncio.sleep(5)
        return fired

    assert run_virtual(main()) == [(1, "a"), (1, "a2"), (2, "b"), (3, "c")]


@pytest.mark.parametrize("when", [2358.7031339220002, 4534.1096557500005, 0.1 + 0.2, 1e-12, 7.0])
def test_a_timer_never_fires_before_its_time(when: float) -> None:
    """Counted in whole nanoseconds, the first two come out a little less than themselves."""

    async def story() -> float:
        loop = asyncio.get_running_loop()
        fired: asyncio.Future[float] = loop.create_future()
        loop.call_at(when, lambda: fired.set_result(loop.time()))
        return await fired

    assert when <= run_virtual(story()) < when + 2e-9


def test_of_many_timers_only_those_fire_that_have_not_been_cancelled() -> None:
    async def main() -> list[int]:
        fired: list[int] = []
        loop = asyncio.get_running_loop()
        timers = [loop.call_later(1 + number % 7, fired.append, number) for number in range(1_000)]
        for number, timer in enumerate(timers):
            if number % 100:
                timer.cancel()
        await asyncio.sleep(10)
        return fired

    assert sorted(run_virtual(main())) == list(range(0, 1_000, 100))


def test_an_error_in_a_callback_is_told_and_stops_nobody() -> None:
    async def main() -> list[str]:
        told: list[str] = []
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: told.append(repr(context["exception"])))
        loop.call_soon([].pop)
        await asyncio.sleep(1)
        return told

    assert run_virtual(main()) == ["IndexError('pop from empty list')"]


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
