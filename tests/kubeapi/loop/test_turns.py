"""Turns: work that is never done lets others run, on a real loop whose clock the work itself moves."""

import asyncio
from collections.abc import Generator

from kubeapi.loop.turns import BUDGET_SECONDS, FEWEST_WOKEN, LATE_TURNS, MOST_HELD_SECONDS, Turns
from tests.kubeapi.loop.busy_loop import busy, run_busy


def test_l4_a_heartbeat_beats_beside_workers_that_never_wait() -> None:
    async def story() -> None:
        turns, done, late = Turns(), [0], list[float]()

        async def work() -> None:
            for _ in range(500):
                await turns.take()
                busy().compute(0.004)
                done[0] += 1

        async def beat() -> None:
            while done[0] < 4_000:
                due = busy().time() + 0.5
                await asyncio.sleep(0.5)
                late.append(busy().time() - due)

        await asyncio.gather(beat(), *(work() for _ in range(8)))
        assert len(late) > 20
        assert max(late) <= 2 * (BUDGET_SECONDS + 0.004), "a timer takes two rounds: to fire, and to wake who waits"

    run_busy(story())


def test_turns_go_round_in_the_order_of_asking() -> None:
    async def story() -> None:
        turns, order = Turns(), list[int]()

        async def work(number: int) -> None:
            for _ in range(3):
                await turns.take()
                order.append(number)
                busy().compute(BUDGET_SECONDS)

        await asyncio.gather(*(work(number) for number in range(4)))
        assert order == [0, 0, 1, 2, 3, 0, 1, 2, 3, 1, 2, 3]

    run_busy(story())


def test_one_who_is_cancelled_while_it_waits_keeps_nobodys_turn() -> None:
    async def story() -> None:
        turns, loop = Turns(), asyncio.get_running_loop()

        async def hog() -> None:
            await turns.take()
            busy().compute(BUDGET_SECONDS)

        first, given_up, last = (loop.create_task(work) for work in (hog(), turns.take(), turns.take()))
        await first
        given_up.cancel()
        await last
        assert given_up.cancelled()

    run_busy(story())


def test_a_long_work_is_finished_with_a_turn_for_each_step() -> None:
    async def story() -> None:
        turns, order = Turns(), list[str]()

        def steps(name: str) -> Generator[None, None, str]:
            for _ in range(3):
                order.append(name)
                busy().compute(BUDGET_SECONDS)
                yield
            return name

        assert await asyncio.gather(*(turns.finish(steps(name)) for name in "ab")) == ["a", "b"]
        assert order.index("b") < order.index("a", 2), "one goes on when the other has had its turn"

    run_busy(story())


def test_a_turn_costs_the_same_however_many_wait() -> None:
    """Workers of a hundred members wait while those who have a turn take all of its time."""

    async def steps_for_each(workers: int) -> float:
        turns, before = Turns(), busy().steps

        async def work() -> None:
            for _ in range(3):
                await turns.take()
                busy().compute(BUDGET_SECONDS)

        await asyncio.gather(*(work() for _ in range(workers)))
        return (busy().steps - before) / (3 * workers)

    few, many = [0.0], [0.0]

    async def story() -> None:
        few[0], many[0] = await steps_for_each(20), await steps_for_each(1_000)

    run_busy(story())
    assert many[0] <= 1.2 * few[0]


def test_those_who_are_woken_and_gone_leave_nobody_waiting() -> None:
    async def story() -> None:
        turns, loop = Turns(), asyncio.get_running_loop()

        async def hog() -> None:
            await turns.take()
            busy().compute(BUDGET_SECONDS)

        first = loop.create_task(hog())
        waiting = [loop.create_task(turns.take()) for _ in range(3 * FEWEST_WOKEN)]
        await first
        gone, left = waiting[: 2 * FEWEST_WOKEN], waiting[2 * FEWEST_WOKEN :]
        loop.call_soon(lambda: [each.cancel() for each in gone])
        await asyncio.gather(*left)

    run_busy(story())


def test_who_is_late_lets_others_go_first_but_not_for_ever() -> None:
    async def story() -> None:
        turns, told, loop = Turns(), list[str](), asyncio.get_running_loop()

        async def work(name: str, times: int, *, late: bool = False) -> None:
            for _ in range(times):
                await turns.take(late=late)
                told.append(name)
                busy().compute(BUDGET_SECONDS)

        late = loop.create_task(work("late", 2, late=True))
        await asyncio.gather(late, work("a", LATE_TURNS), work("b", LATE_TURNS))
        first, second = (number for number, name in enumerate(told) if name == "late")
        assert first == 0, "nobody else waited"
        assert LATE_TURNS / 2 < second < 1.1 * LATE_TURNS, "others have had their turns, and there are others still"

    run_busy(story())


def test_l4_a_flood_of_what_is_told_leaves_half_of_each_round_to_others() -> None:
    async def story() -> None:
        turns, loop, told = Turns(), asyncio.get_running_loop(), [0]
        beside, piece = turns.with_own_time(), BUDGET_SECONDS / 50

        async def flood() -> None:
            while True:
                await beside.take()
                told[0] += 1
                busy().compute(piece)

        floods = [loop.create_task(flood()) for _ in range(20)]
        for _ in range(500):
            await turns.take()
            busy().compute(piece)
        assert 0 < told[0] <= 1.5 * 500
        for each in floods:
            each.cancel()

    run_busy(story())


def test_who_is_late_waits_for_all_who_hold_it_back_but_not_for_ever() -> None:
    async def story() -> None:
        turns, loop = Turns(), asyncio.get_running_loop()
        free = asyncio.Event()

        async def hold(seconds: float) -> None:
            with turns.late_hold.held():
                await asyncio.sleep(seconds)

        async def hang() -> None:
            with turns.with_own_time().late_hold.held():
                await free.wait()

        begun = loop.time()
        both = asyncio.gather(hold(1), hold(2))
        await asyncio.sleep(0)
        await turns.take()
        assert loop.time() < begun + 1, "what is not late is not held"
        await turns.late_hold.wait()
        assert 2 <= loop.time() - begun < 3
        await both
        hanging, begun = loop.create_task(hang()), loop.time()
        await asyncio.sleep(0)
        await turns.late_hold.wait()
        assert MOST_HELD_SECONDS <= loop.time() - begun < MOST_HELD_SECONDS + 1
        free.set()
        await hanging

    run_busy(story())
