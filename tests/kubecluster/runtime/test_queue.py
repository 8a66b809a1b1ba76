"""The work queue: each key once, never twice at the same time, in time."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from itertools import pairwise

from controller_runtime.queue import LAST_RETRY_SECONDS, LATE_RANK, WorkQueue
from kubeapi.loop.clock import VirtualClock
from kubeapi.loop.randomness import Randomness
from kubeapi.loop.virtual import run_virtual

CLOCK = VirtualClock()


def tell(story: Callable[[WorkQueue[str]], Awaitable[None]]) -> None:
    async def main() -> None:
        await story(WorkQueue[str](CLOCK, Randomness(0)))

    run_virtual(main())


async def next_at(queue: WorkQueue[str]) -> float:
    """Instant at which the next key comes; its reconciliation ends at once."""
    queue.done(await queue.get())
    return CLOCK.monotonic()


async def is_quiet(queue: WorkQueue[str], seconds: float = 1_000) -> bool:
    try:
        async with asyncio.timeout(seconds):
            await queue.get()
    except TimeoutError:
        return True
    return False


def test_a_key_waits_at_most_once_and_keys_come_in_their_order() -> None:
    async def story(queue: WorkQueue[str]) -> None:
        for key in ("a", "b", "a", "b"):
            queue.add(key)
        assert len(queue) == 2
        assert [await queue.get(), await queue.get()] == ["a", "b"]
        assert len(queue) == 0

    tell(story)


def test_a_key_that_is_worked_on_comes_again_only_when_that_is_done() -> None:
    async def story(queue: WorkQueue[str]) -> None:
        queue.add("a")
        key = await queue.get()
        queue.add("a")
        queue.add("a")
        assert await is_quiet(queue, 60)
        queue.done(key)
        assert await queue.get() == "a"
        queue.done("a")
        assert await is_quiet(queue)

    tell(story)


def test_of_several_instants_the_earliest_wins() -> None:
    async def story(queue: WorkQueue[str]) -> None:
        now = CLOCK.now()
        for seconds in (30, 10, 20):
            queue.add_at("a", now + timedelta(seconds=seconds))
        assert await next_at(queue) == 10
        assert await is_quiet(queue)

    tell(story)


def test_an_instant_that_has_passed_is_now_and_now_cancels_later() -> None:
    async def story(queue: WorkQueue[str]) -> None:
        queue.add_at("a", CLOCK.now() + timedelta(seconds=10))
        queue.add_at("a", CLOCK.now() - timedelta(seconds=10))
        assert await next_at(queue) == 0
        assert await is_quiet(queue)

    tell(story)


def test_failures_in_a_row_wait_longer_and_longer_up_to_a_limit_and_success_forgets_them() -> None:
    async def story(queue: WorkQueue[str]) -> None:
        pauses: list[float] = []
        for _ in range(40):
            began = CLOCK.monotonic()
            queue.retry("a")
            pauses.append(await next_at(queue) - began)
        assert pauses[0] < 0.06
        assert all(later > 1.5 * earlier for earlier, later in pairwise(pauses[:9]))
        assert LAST_RETRY_SECONDS <= max(pauses) <= LAST_RETRY_SECONDS * 1.1
        queue.succeeded("a")
        began = CLOCK.monotonic()
        queue.retry("a")
        assert await next_at(queue) - began < 0.06

    tell(story)


def test_a_closed_queue_drops_what_was_planned_and_takes_nothing_more() -> None:
    async def story(queue: WorkQueue[str]) -> None:
        queue.add_at("a", CLOCK.now() + timedelta(seconds=10))
        queue.close()
        queue.add("b")
        queue.retry("c")
        assert await is_quiet(queue)

    tell(story)


def test_late_keys_come_by_themselves_and_with_the_others_once_they_are_added_otherwise() -> None:
    async def story(queue: WorkQueue[str]) -> None:
        for key in ("a", "b", "c"):
            queue.add(key, late=True)
        queue.add("b")
        queue.add("b", late=True)
        assert len(queue) == 3
        assert await queue.get() == "b"
        assert [await queue.get(late=True), await queue.get(late=True)] == ["a", "c"]
        queue.add("b", late=True)
        queue.done("b")
        assert await is_quiet(queue)
        assert await queue.get(late=True) == "b"

    tell(story)


def test_what_was_planned_is_in_time_though_the_key_is_late() -> None:
    async def story(queue: WorkQueue[str]) -> None:
        began = CLOCK.monotonic()
        queue.add("a", late=True)
        queue.add_at("a", CLOCK.now() + timedelta(seconds=10))
        queue.add("a", late=True)
        assert await next_at(queue) - began == 10
        queue.add("b", late=True)
        queue.retry("b")
        assert await next_at(queue) - began < 11

    tell(story)


def test_a_key_of_a_late_rank_is_looked_at_anew_when_it_is_added_again() -> None:
    async def story() -> None:
        urgent: set[str] = set()
        queue = WorkQueue[str](CLOCK, Randomness(0), rank=lambda key: 0 if key in urgent else LATE_RANK)
        for key in ("a", "b"):
            queue.add(key)
        assert await is_quiet(queue)
        urgent.add("b")
        queue.add("b")
        queue.add("a")
        assert await queue.get() == "b"
        assert await queue.get(late=True) == "a"

    run_virtual(story())
