"""An event loop whose time is an argument: when nothing can run, the clock jumps to the next timer.

Twenty minutes of outage take as long as their work. Nothing outside the loop can wake it, so a world in which every
task waits for another and no timer is set is a deadlock, and is reported as one. It never opens a socket for its
users and never runs threads.
"""

import asyncio
import math
import random
import selectors
from collections.abc import Callable, Coroutine, Mapping
from contextvars import Context
from typing import Any, TypeVar

from leeward.loop.lives import freezable

TIE_NANOSECONDS = 1_000

T = TypeVar("T")


class DeadlockError(RuntimeError):
    """Every task waits, and no timer will ever fire."""


class EndlessError(RuntimeError):
    """The loop has turned more often than it may."""


class _JumpingSelector(selectors.BaseSelector):
    """Never waits: it moves the loop's clock by the time that it was asked to wait. It is asked once each turn."""

    def __init__(self, turns: float) -> None:
        self.elapsed = 0.0
        self._turns_left = turns
        self._keys: dict[Any, selectors.SelectorKey] = {}

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        descriptor = fileobj if isinstance(fileobj, int) else fileobj.fileno()
        key = self._keys[fileobj] = selectors.SelectorKey(fileobj, descriptor, events, data)
        return key

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._keys.pop(fileobj)

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise DeadlockError("every task waits and no timer is set")
        self._turns_left -= 1
        if self._turns_left < 0:
            raise EndlessError(f"it has not ended after {self.elapsed:.3f} virtual seconds, and has turned too often")
        self.elapsed = _nanoseconds(round((self.elapsed + max(timeout, 0.0)) * 1e9))
        return []

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        return self._keys


def _nanoseconds(count: int) -> float:
    """In seconds. All instants of a virtual loop are whole nanoseconds, so that equal ones are equal as floats."""
    return count / 1e9


class VirtualLoop(asyncio.SelectorEventLoop):
    """An asyncio event loop on virtual time that starts at zero.

    A timer never fires before its time, not even by a rounding error: whoever waits for what is left of a deadline
    would else wait for ever smaller rests without end. `ties` draws which of several timers of the same instant fires
    first, by delaying each up to a microsecond; without it they fire on the dot. `turns` is how often it may look for
    what is next, which bounds parties that keep each other awake. Tasks can end in mid-sentence, with their `Life`.
    """

    def __init__(self, ties: random.Random | None = None, turns: float = math.inf) -> None:
        self._jumping = _JumpingSelector(turns)
        self._ties = ties
        super().__init__(self._jumping)
        self.set_task_factory(freezable)  # type: ignore[arg-type]

    def time(self) -> float:
        return self._jumping.elapsed

    def call_at(
        self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        later = self._ties.randrange(TIE_NANOSECONDS) if self._ties is not None else 0
        return super().call_at(_nanoseconds(math.ceil(when * 1e9) + later), callback, *args, context=context)


def run_virtual(main: Coroutine[Any, Any, T], ties: random.Random | None = None, turns: float = math.inf) -> T:
    """Runs `main` to its end on a fresh `VirtualLoop`. Raises: DeadlockError, EndlessError."""
    with asyncio.Runner(loop_factory=lambda: VirtualLoop(ties, turns)) as runner:
        return runner.run(main)
