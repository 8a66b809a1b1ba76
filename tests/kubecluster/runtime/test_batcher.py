"""Answers that are given together to all who ask in the same turn."""

import asyncio
from collections.abc import Mapping, Sequence

from controller_runtime.batcher import Batcher
from kubeapi.loop.virtual import run_virtual


def test_those_who_ask_together_are_answered_in_one_stroke() -> None:
    strokes: list[Sequence[str]] = []

    def answer(keys: Sequence[str]) -> Mapping[str, str]:
        strokes.append(keys)
        return {key: key.upper() for key in keys if key != "unknown"}

    async def story() -> None:
        together = Batcher[str, str](answer)
        asked = asyncio.gather(together.ask("a"), together.ask("b"), together.ask("unknown"))
        assert await asked == ["A", "B", None]
        assert await together.ask("c") == "C"

    run_virtual(story())
    assert strokes == [("a", "b", "unknown"), ("c",)]


def test_one_who_cannot_be_answered_does_not_stop_the_others() -> None:
    def answer(keys: Sequence[str]) -> Mapping[str, str]:
        if "bad" in keys:
            raise ValueError("bad")
        return {key: key.upper() for key in keys}

    async def story() -> None:
        together = Batcher[str, str](answer)
        good, bad = await asyncio.gather(together.ask("good"), together.ask("bad"), return_exceptions=True)
        assert good == "GOOD"
        assert isinstance(bad, ValueError)

    run_virtual(story())
