"""Seats that several users want at the same time: who finds none waits in a queue of their own, and the queues take
turns."""

import asyncio
from collections import OrderedDict, deque


class Crowded(Exception):
    """The user's queue is full, or its head did not move in time."""


class Seats:
    """`count` seats, and a queue for each user; users take turns."""

    def __init__(self, count: int, queued: int, waiting_seconds: float) -> None:
        self._free = count
        self._queued = queued
        self._waiting_seconds = waiting_seconds
        self._queues: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()

    async def take(self, user: str) -> None:
        """Returns with a seat. Raises: Crowded."""
        if self._free and not self._queues:
            self._free -= 1
            await self._let_others_come()
            return
        turn = self._queue(user)
        try:
            async with asyncio.timeout(self._waiting_seconds):
                await turn
        except BaseException as error:
            self._withdraw(user, turn)
            if isinstance(error, TimeoutError):
                raise Crowded from None
            raise

    def give_back(self) -> None:
        """The seat goes to the user whose turn it is."""
        while self._queues:
            user, queue = self._queues.popitem(last=False)
            turn = queue.popleft()
            if queue:
                self._queues[user] = queue
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1

    async def _let_others_come(self) -> None:
        """Reads never wait on their own: without this, nobody would ever find all seats taken."""
        try:
            await asyncio.sleep(0)
        except BaseException:
            self.give_back()
            raise

    def _queue(self, user: str) -> asyncio.Future[None]:
        queue = self._queues.setdefault(user, deque())
        if len(queue) >= self._queued:
            raise Crowded
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        queue.append(turn)
        return turn

    def _withdraw(self, user: str, turn: asyncio.Future[None]) -> None:
        """Gives up a place in the queue, or the seat that came at the very moment."""
        if turn.done() and not turn.cancelled():
            self.give_back()
            return
        queue = self._queues.get(user)
        if queue is not None and turn in queue:
            queue.remove(turn)
            if not queue:
                del self._queues[user]
