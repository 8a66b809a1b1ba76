"""Batcher of questions: many workers ask, and are answered together.

Whoever asks within the same turn of the loop is answered together, so that answers which depend on each other are
found on one snapshot. The answer is synchronous: nothing changes while it is found. A batch is as large as there are
workers that ask, which bounds it.
"""

import asyncio
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
A = TypeVar("A")


class Batcher(Generic[K, A]):
    """`answer` gets the keys in the order of asking, and answers those that it can; the others are answered None."""

    def __init__(self, answer: Callable[[Sequence[K]], Mapping[K, A]]) -> None:
        self._answer = answer
        self._asked: dict[K, asyncio.Future[A | None]] = {}

    async def ask(self, key: K) -> A | None:
        """Raises: errors of `answer` for this key."""
        loop = asyncio.get_running_loop()
        if not self._asked:
            loop.call_soon(self._answer_all)
        future = self._asked.setdefault(key, loop.create_future())
        return await future

    def _answer_all(self) -> None:
        asked, self._asked = self._asked, {}
        try:
            answers = self._answer(tuple(asked))
        except Exception:
            for key, future in asked.items():
                self._answer_alone(key, future)
            return
        for key, future in asked.items():
            if not future.done():
                future.set_result(answers.get(key))

    def _answer_alone(self, key: K, future: asyncio.Future[A | None]) -> None:
        """Answers one key by itself: when a batch fails, only those that fail by themselves are told so."""
        if future.done():
            return
        try:
            future.set_result(self._answer((key,)).get(key))
        except Exception as error:
            future.set_exception(error)
