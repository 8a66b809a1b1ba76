"""Writes of large objects: others run between their steps, and those of one object come one after the other.

Otherwise each would be overtaken between its steps, and be made again. Waiting has an end: where somebody holds the
turn for long, since a webhook is asked, one goes on without it, and the store tells who was faster.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

LARGE_BYTES = 64 * 1024
"""Size from which on each step with an object may take long."""
TURN_SECONDS = 5.0


async def pause(size: int) -> None:
    """Lets others run before the next step with an object of so many bytes."""
    if size > LARGE_BYTES:
        await asyncio.sleep(0)


class WriteTurns:
    """Turns of those who write one large object, by its key."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def turn(self, key: str, size: int) -> AsyncGenerator[None]:
        """Context in which no other large write of the key goes on."""
        if size <= LARGE_BYTES:
            yield
            return
        lock = self._locks.get(key) or self._locks.setdefault(key, asyncio.Lock())
        has_turn = await _acquired(lock)
        try:
            yield
        finally:
            if has_turn:
                lock.release()


async def _acquired(lock: asyncio.Lock) -> bool:
    try:
        async with asyncio.timeout(TURN_SECONDS):
            return await lock.acquire()
    except TimeoutError:
        return False
