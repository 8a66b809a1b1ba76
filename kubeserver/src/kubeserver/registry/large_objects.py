"""Large objects: others run between the steps of a write, and writes of one object come one after the other.

Of all steps with something large one is made in a round of the loop: many of them hold up others no longer than one.
Writes of one object would be overtaken between their steps, and be made again: so they wait for each other. Where one
holds the turn for long, since a webhook is asked, the next goes on without it, and the store tells who was faster.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from weakref import WeakKeyDictionary, WeakValueDictionary

LARGE_BYTES = 64 * 1024
"""Size from which on each step with an object may take long."""
TURN_SECONDS = 5.0


class _Steps:
    """Steps with large objects that wait: one of them is made in each round of the loop, whoever they are of."""

    def __init__(self) -> None:
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._goes_on = False

    async def wait(self) -> None:
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[None] = loop.create_future()
        self._waiting.append(turn)
        if not self._goes_on:
            self._goes_on = True
            loop.call_soon(self._next, loop)
        await turn

    def _next(self, loop: asyncio.AbstractEventLoop) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                loop.call_soon(self._next, loop)
                return
        self._goes_on = False


_steps: WeakKeyDictionary[asyncio.AbstractEventLoop, _Steps] = WeakKeyDictionary()


async def pause(size: int) -> None:
    """Lets others run before the next step with something of so many bytes."""
    if size > LARGE_BYTES:
        await _steps.setdefault(asyncio.get_running_loop(), _Steps()).wait()


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
