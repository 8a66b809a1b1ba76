"""The one place that reads the time.

`Clock.now` is wall-clock time for timestamps; `Clock.monotonic` is for durations and deadlines, and is the running
event loop's own time, so that the two move together under virtual time.
"""

import asyncio
import time
from datetime import UTC, datetime, timedelta
from typing import Protocol


class Clock(Protocol):
    def now(self) -> datetime:
        """The present instant in UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds that never run backwards, from an arbitrary start."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()


class VirtualClock:
    """A clock that starts at `epoch` and moves with a `VirtualLoop`, whose time stands still while things happen."""

    def __init__(self, epoch: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self._epoch = self._now = epoch
        self._seconds = 0.0

    def now(self) -> datetime:
        seconds = self.monotonic()
        if seconds != self._seconds:
            self._seconds, self._now = seconds, self._epoch + timedelta(seconds=seconds)
        return self._now

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()


async def sleep_until(clock: Clock, instant: datetime) -> None:
    """Returns at `instant`, or at once when it has passed."""
    delay = (instant - clock.now()).total_seconds()
    if delay > 0:
        await asyncio.sleep(delay)


class Deadline:
    """A bound on a wait outside of every event loop: for synchronous code that waits for others."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    @property
    def has_passed(self) -> bool:
        return time.monotonic() >= self._end

    @property
    def seconds_left(self) -> float:
        """Seconds that are left; none, and less, once it has passed."""
        return self._end - time.monotonic()
