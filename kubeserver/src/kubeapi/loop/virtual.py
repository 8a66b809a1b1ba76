"""An event loop whose time is an argument: when nothing can run, the clock jumps to the next timer.

Twenty minutes of outage take as long as their work. Nothing outside the loop can wake it, so a world in which every
task waits for another and no timer is set is a deadlock, and is reported as one. It has no selector: it never opens a
socket for its users and never runs threads. What asyncio promises about order holds.
"""

import asyncio
import functools
import heapq
import math
import random
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import Context, copy_context
from typing import Any, TypeVar

from kubeapi.loop.lives import freezable

TIE_NANOSECONDS = 1_000
FEWEST_CANCELLED = 100
"""Number of cancelled timers that may lie about; then those who wait are counted, and sorted anew."""

T = TypeVar("T")


class DeadlockError(RuntimeError):
    """Deadlock in which every task waits, and no timer will ever fire."""


class EndlessError(RuntimeError):
    """The loop has turned more often than it may."""


class _Call(functools.partial[object]):
    """Call that is to be made in its context, soon or at `at` seconds. One that is cancelled is passed over.

    The loop's handle: a `partial`, for there is one for each step of each task, and this is made and called without
    a line of Python.
    """

    at = 0.0
    gone = False

    def cancel(self) -> None:
        self.gone = True

    def cancelled(self) -> bool:
        return self.gone

    def when(self) -> float:
        return self.at


def _first_not_before(when: float, later: int) -> float:
    """`later` nanoseconds after the first whole one that is not before `when`, as floats compare; in seconds.

    All instants of a virtual loop are whole nanoseconds, so that equal ones are equal as floats.
    """
    count = math.ceil(when * 1e9)
    if count / 1e9 < when:
        count += 1
    return (count + later) / 1e9


class VirtualLoop(asyncio.BaseEventLoop):
    """An asyncio event loop on virtual time that starts at zero.

    A timer never fires before its time, not even by a rounding error: whoever waits for what is left of a deadline
    would else wait for ever smaller rests without end. `ties` draws which of several timers of the same instant fires
    first, by delaying each up to a microsecond; without it they fire on the dot, in the order in which they were set.
    `turns` is how often it may look for what is next, which bounds parties that keep each other awake. Tasks can end
    in mid-sentence, with their `Life`.
    """

    def __init__(self, ties: random.Random | None = None, turns: float = math.inf) -> None:
        super().__init__()
        self._now = 0.0
        self._ties = ties
        self._turns_left = turns
        self._soon: deque[_Call] = deque()
        self._later: list[tuple[float, int, _Call]] = []
        self._timers = 0
        self._crowded = FEWEST_CANCELLED

    def time(self) -> float:
        return self._now

    def call_soon(self, callback: Callable[..., object], *args: Any, context: Context | None = None) -> Any:
        call = _Call((copy_context() if context is None else context).run, callback, *args)
        self._soon.append(call)
        return call

    call_soon_threadsafe = call_soon

    def call_at(self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None) -> Any:
        later = int(self._ties.random() * TIE_NANOSECONDS) if self._ties is not None else 0
        at = _first_not_before(when, later)
        call = _Call((copy_context() if context is None else context).run, callback, *args)
        call.at = at
        self._timers += 1
        heapq.heappush(self._later, (at, self._timers, call))
        if len(self._later) > self._crowded:
            self._tidy()
        return call

    def call_later(
        self, delay: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> Any:
        return self.call_at(self._now + delay, callback, *args, context=context)

    def create_task(self, coro: Any, *, name: object = None, context: Context | None = None) -> asyncio.Task[Any]:
        task = freezable(self, coro, context)
        if name is not None:
            task.set_name(name)
        return task

    def _run_once(self) -> None:
        """One turn: whatever was ready when it began, and the timers of this instant."""
        self._jump()
        soon = self._soon
        for _ in range(len(soon)):
            call = soon.popleft()
            if call.gone:
                continue
            try:
                call()
            except (SystemExit, KeyboardInterrupt):
                raise
            except BaseException as error:
                told = {"message": f"Exception in callback {call.args[0]}", "exception": error}
                self.call_exception_handler(told)

    def _jump(self) -> None:
        """Moves the clock to the next timer if nothing can run before. Raises: DeadlockError, EndlessError."""
        later, soon = self._later, self._soon
        while later and later[0][2].gone:
            heapq.heappop(later)
        if not soon:
            if not later:
                raise DeadlockError("every task waits and no timer is set")
            self._now = max(self._now, later[0][0])
        self._turns_left -= 1
        if self._turns_left < 0:
            raise EndlessError(f"it has not ended after {self._now:.3f} virtual seconds, and has turned too often")
        while later and later[0][0] <= self._now:
            soon.append(heapq.heappop(later)[2])

    def _tidy(self) -> None:
        """Forgets the cancelled timers, of which there are many: most deadlines are met."""
        self._later = [timer for timer in self._later if not timer[2].gone]
        heapq.heapify(self._later)
        self._crowded = FEWEST_CANCELLED + 2 * len(self._later)


def run_virtual(main: Coroutine[Any, Any, T], ties: random.Random | None = None, turns: float = math.inf) -> T:
    """Runs `main` to its end on a fresh `VirtualLoop`. Raises: DeadlockError, EndlessError."""
    with asyncio.Runner(loop_factory=lambda: VirtualLoop(ties, turns)) as runner:
        return runner.run(main)
