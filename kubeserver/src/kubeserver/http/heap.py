"""Memory that is free goes back to the system: after a thousand watches ended, the C library keeps their buffers.

glibc gives back only what lies at the end of its heap, and what is small stays in the middle of it. `malloc_trim` looks
for whole free pages everywhere. Another C library has no such call, and nothing is done there.
"""

import asyncio
import ctypes
from collections.abc import Callable

TRIM_AFTER_SECONDS = 5.0
"""Seconds after the first end of a stream until memory is trimmed: what ends with it is trimmed with it."""


def trim_heap() -> None:
    """Takes milliseconds, in which others may run."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def in_a_thread(trim: Callable[[], None]) -> None:
    asyncio.get_running_loop().run_in_executor(None, trim)


class HeapTrimming:
    """Trims once for all that ended together."""

    def __init__(
        self,
        trim: Callable[[], None] = trim_heap,
        after_seconds: float = TRIM_AFTER_SECONDS,
        run: Callable[[Callable[[], None]], None] = in_a_thread,
    ) -> None:
        self._trim = trim
        self._after_seconds = after_seconds
        self._run_trim = run
        self._alarm: asyncio.TimerHandle | None = None

    def something_ended(self) -> None:
        if self._alarm is None:
            self._alarm = asyncio.get_running_loop().call_later(self._after_seconds, self._run)

    def stop(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None

    def _run(self) -> None:
        self._alarm = None
        self._run_trim(self._trim)
