"""The supervisor: the only one who starts tasks.

Every task belongs to a `Supervisor`, which cancels its tasks when it is closed and reports a task that died of an
error: a task that is gone is never gone in silence. It never restarts anything: loops that must go on handle their
own errors.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any, Self

log = logging.getLogger(__name__)

PATIENCE_SECONDS = 10.0
"""Seconds that a task may take to end before it is cancelled once more."""


class Supervisor:
    """A set of tasks that ends together: use it as `async with Supervisor() as supervisor`."""

    def __init__(self, name: str = "", on_failure: Callable[[BaseException], None] | None = None) -> None:
        self._name = name
        self._tasks: dict[asyncio.Task[Any], None] = {}
        self._on_failure = on_failure
        self._closed = False
        self._on_close: list[Callable[[], None]] = []

    def start(self, work: Coroutine[Any, Any, Any], name: str) -> asyncio.Task[Any]:
        """Runs `work` until it ends or the supervisor is closed. Raises: RuntimeError when it is closed already."""
        if self._closed:
            work.close()
            raise RuntimeError(f"supervisor {self._name!r} is closed")
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._tasks[task] = None
        task.add_done_callback(self._forget)
        return task

    def on_close(self, callback: Callable[[], None]) -> None:
        """Has `callback` called when the supervisor is closed, before its tasks are cancelled."""
        self._on_close.append(callback)

    async def close(self) -> None:
        """Cancels every task and waits until all have ended."""
        self._closed = True
        while self._on_close:
            self._call(self._on_close.pop())
        while self._tasks:
            tasks = list(self._tasks)
            for task in tasks:
                task.cancel()
            _, stuck = await asyncio.wait(tasks, timeout=PATIENCE_SECONDS)
            for task in stuck:
                log.warning("task %s of %s does not end; cancelled again", task.get_name(), self._title)

    @property
    def _title(self) -> str:
        return self._name or "the process"

    def _call(self, callback: Callable[[], None]) -> None:
        try:
            callback()
        except Exception:
            log.exception("a callback of %s failed", self._title)

    def _forget(self, task: asyncio.Task[Any]) -> None:
        self._tasks.pop(task, None)
        if task.cancelled():
            return
        error = task.exception()
        if error is not None:
            log.error("task %s of %s died", task.get_name(), self._title, exc_info=error)
            if self._on_failure is not None:
                self._on_failure(error)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
