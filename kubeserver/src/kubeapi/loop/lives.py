"""Lives: groups of tasks that can end as a killed process ends, at any await.

A task belongs to the `Life` in whose context it was started, and what it starts belongs there too. When a life ends,
its tasks are not cancelled: they are never resumed. No `finally` runs, nothing is given back, no answer is sent.

A life can also be paused, as SIGSTOP pauses a process, or the host of a virtual machine: what wakes its tasks meanwhile
reaches them when it is resumed, all at once.

Only a `VirtualLoop` knows lives; in production a process has one life, which the operating system ends.
"""

import asyncio
from collections.abc import Callable, Coroutine, Generator
from contextvars import Context, ContextVar, copy_context
from typing import Any, TypeVar

T = TypeVar("T")

_LIFE: "ContextVar[Life | None]" = ContextVar("life", default=None)


class Life:
    """One life; `steps` counts how often its tasks were resumed, which is how often they could have been killed.

    `unhindered`: its tasks are resumed as any others, since it has not ended, is not paused, and no end is set.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.steps = 0
        self.unhindered = True
        self.ended = False
        self._pause: list[asyncio.Future[None]] | None = None
        self._left: int | None = None
        self._at_end: Callable[[], None] = lambda: None
        self._stopped: dict[asyncio.Task[Any], None] = {}
        self._released = False

    def context(self) -> Context:
        """A context whose tasks belong to this life."""
        context = copy_context()
        context.run(_LIFE.set, self)
        return context

    def end(self) -> None:
        """Ends the life: from now on nothing of it runs."""
        if not self.ended:
            self.ended = True
            self.unhindered = False
            self._at_end()
            self.resume()

    @property
    def paused(self) -> bool:
        return self._pause is not None

    def pause(self) -> None:
        """Pauses the life: nothing of it runs until it is resumed, or ends."""
        if self._pause is None and not self.ended:
            self._pause = []
            self.unhindered = False

    def resume(self) -> None:
        """Goes on where it was; in the order in which its tasks would have run."""
        held, self._pause = self._pause or (), None
        self.unhindered = not self.ended and self._left is None
        for waiting in held:
            if not waiting.done():
                waiting.set_result(None)

    def wait_for_resumption(self) -> Any:
        """Has the running task wait until the pause is over."""
        assert self._pause is not None
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._pause.append(waiting)
        return next(waiting.__await__())

    def end_after(self, steps: int, at_end: Callable[[], None]) -> None:
        """Ends it when its tasks have been resumed `steps` times more; `at_end` must not wait for anything."""
        self._left, self._at_end = steps, at_end
        self.unhindered = False

    async def release(self) -> None:
        """Ends the tasks that have stopped as cancelled ones end. Only for the end of a world: their `finally` runs."""
        self._released = True
        stopped = list(self._stopped)
        for task in stopped:
            task.cancel()
        if stopped:
            await asyncio.wait(stopped)

    def live(self, work: Coroutine[Any, Any, T]) -> Coroutine[Any, Any, T]:
        """`work` as something that is resumed only while this life goes on."""
        return _Living(self, work)

    def may_go_on(self) -> bool:
        """Counts one resumption. Returns whether it may happen."""
        if self._released:
            return True
        if self._left == 0:
            self.end()
        if self.ended:
            return False
        self.steps += 1
        if self._left is not None:
            self._left -= 1
        return True

    def stop_running(self) -> Any:
        """Has the running task wait for what never comes, whoever cancels it, until it is released."""
        task = asyncio.current_task()
        assert task is not None
        self._stopped[task] = None
        return next(asyncio.get_running_loop().create_future().__await__())


class _Living(Coroutine[Any, Any, T]):
    """A coroutine between whose steps its life can end, or pause. `_thrown` is what it is to hear after a pause."""

    __slots__ = ("_life", "_thrown", "_work")

    def __init__(self, life: Life, work: Coroutine[Any, Any, T]) -> None:
        self._life = life
        self._work = work
        self._thrown: Any = None

    def send(self, value: Any) -> Any:
        if self._life.unhindered and self._thrown is None:
            self._life.steps += 1
            return self._work.send(value)
        if self._life.paused:
            return self._life.wait_for_resumption()
        if self._thrown is not None:
            thrown, self._thrown = self._thrown, None
            return self.throw(thrown)
        return self._work.send(value) if self._life.may_go_on() else self._life.stop_running()

    def throw(self, typ: Any, val: Any = None, tb: Any = None) -> Any:
        if self._life.paused:
            self._thrown = typ
            return self._life.wait_for_resumption()
        return self._work.throw(typ) if self._life.may_go_on() else self._life.stop_running()

    def close(self) -> None:
        self._work.close()

    def __await__(self) -> Generator[Any, Any, T]:
        return self._work.__await__()


def freezable(
    loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, T], context: Context | None = None
) -> asyncio.Task[T]:
    """A task of the loop; one that belongs to a life ends with it."""
    life = _LIFE.get() if context is None else context.get(_LIFE)
    if life is not None:
        work = life.live(work)
    return asyncio.Task(work, loop=loop, context=context)
