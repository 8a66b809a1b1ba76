"""Lives: what is killed stops in the middle of a sentence, and nothing of it ever runs again."""

import asyncio
import random

from kubeapi.loop.lives import Life
from kubeapi.loop.virtual import run_virtual


async def speak(said: list[str], words: str) -> None:
    try:
        for word in words:
            said.append(word)
            await asyncio.sleep(1)
    finally:
        said.append("goodbye")


def test_a_task_whose_life_ends_says_nothing_more_even_when_it_is_cancelled() -> None:
    async def story() -> list[str]:
        said: list[str] = []
        life = Life("speaker")
        speaker = asyncio.get_running_loop().create_task(speak(said, "abc"), context=life.context())
        await asyncio.sleep(1.5)
        life.end()
        await asyncio.sleep(5)
        speaker.cancel()
        await asyncio.sleep(5)
        heard = list(said)
        await life.release()
        assert speaker.done()
        return heard

    assert run_virtual(story()) == ["a", "b"]


def test_tasks_belong_to_the_life_that_started_them_and_others_go_on() -> None:
    async def story() -> list[str]:
        said: list[str] = []
        life = Life("parent")

        async def parent() -> None:
            await asyncio.gather(speak(said, "x"), speak(said, "y"))

        loop = asyncio.get_running_loop()
        both = loop.create_task(parent(), context=life.context())
        other = loop.create_task(speak(said, "1"))
        await asyncio.sleep(0.5)
        life.end()
        await other
        heard = list(said)
        assert not both.done()
        await life.release()
        return heard

    assert sorted(run_virtual(story())) == ["1", "goodbye", "x", "y"]


def test_a_life_can_end_at_any_of_its_awaits() -> None:
    async def story(steps: int) -> tuple[list[str], int]:
        said: list[str] = []
        ended: list[int] = []
        life = Life("speaker")
        life.end_after(steps, lambda: ended.append(life.steps))
        asyncio.get_running_loop().create_task(speak(said, "abc"), context=life.context())
        await asyncio.sleep(10)
        heard = list(said)
        await life.release()
        return heard, len(ended)

    assert run_virtual(story(0)) == ([], 1)
    assert run_virtual(story(2)) == (["a", "b"], 1)
    assert run_virtual(story(4)) == (["a", "b", "c", "goodbye"], 0)


def test_a_life_that_is_paused_goes_on_where_it_was_and_hears_then_what_it_missed() -> None:
    async def story() -> list[tuple[float, str]]:
        loop = asyncio.get_running_loop()
        said: list[tuple[float, str]] = []

        async def listen() -> None:
            try:
                for word in "abc":
                    said.append((loop.time(), word))
                    await asyncio.sleep(1)
            except asyncio.CancelledError:
                said.append((loop.time(), "cancelled"))

        life = Life("listener")
        listeners = [loop.create_task(listen(), context=life.context()) for _ in "xy"]
        await asyncio.sleep(0.5)
        life.pause()
        await asyncio.sleep(5)
        listeners[1].cancel()
        await asyncio.sleep(4)
        life.resume()
        await asyncio.wait(listeners)
        return said

    heard = run_virtual(story())
    assert heard == [(0.0, "a"), (0.0, "a"), (9.5, "b"), (9.5, "cancelled"), (10.5, "c")]


def test_a_life_that_ends_in_its_pause_says_nothing_more() -> None:
    async def story() -> list[str]:
        said: list[str] = []
        life = Life("speaker")
        asyncio.get_running_loop().create_task(speak(said, "abc"), context=life.context())
        await asyncio.sleep(0.5)
        life.pause()
        await asyncio.sleep(5)
        life.end()
        await asyncio.sleep(5)
        heard = list(said)
        await life.release()
        return heard

    assert run_virtual(story()) == ["a"]


def test_the_seed_draws_which_of_several_timers_of_one_instant_fires_first() -> None:
    async def race() -> str:
        first: list[str] = []
        loop = asyncio.get_running_loop()
        for name in "abcdef":
            loop.call_at(1.0, first.append, name)
        await asyncio.sleep(2)
        return "".join(first)

    orders = {run_virtual(race(), random.Random(seed)) for seed in range(20)}
    assert len(orders) > 10
    assert run_virtual(race(), random.Random(3)) == run_virtual(race(), random.Random(3))
