"""Connections to one server that stay open between requests: at most so many, the latest used first."""

import asyncio
from collections import deque

from kubeclient.http_connection import HttpConnection, ServerAddress, connect

MAX_IDLE_SECONDS = 15.0
"""Seconds for which a connection is kept idle, less than servers and what stands before them wait: a request shall not
meet a connection that is being closed."""


class ConnectionPool:
    """`take` and `give_back` belong together; who is cancelled between them gives back, too."""

    def __init__(self, endpoint: ServerAddress, most: int) -> None:
        self._endpoint = endpoint
        self._turns = asyncio.Semaphore(most)
        self._idle: deque[HttpConnection] = deque()
        self._taken: set[HttpConnection] = set()
        self._sweep: asyncio.TimerHandle | None = None

    async def take(self, *, fresh: bool = False) -> HttpConnection:
        """A connection for one request; a new one where none is idle, or it is to be `fresh`. Raises: OSError."""
        await self._turns.acquire()
        try:
            connection = None if fresh else self._latest_idle()
            if connection is None:
                connection = await connect(self._endpoint)
        except BaseException:
            self._turns.release()
            raise
        self._taken.add(connection)
        return connection

    def give_back(self, connection: HttpConnection) -> None:
        self._turns.release()
        is_open = connection.finish()
        if connection in self._taken:
            self._taken.remove(connection)
            if is_open:
                self._keep(connection)
        elif is_open:
            connection.abort()

    def close(self) -> None:
        """Closes all connections at once; a request that waits for an answer gets none."""
        if self._sweep is not None:
            self._sweep.cancel()
            self._sweep = None
        for connection in (*self._idle, *self._taken):
            connection.abort()
        self._idle.clear()
        self._taken.clear()

    def _latest_idle(self) -> HttpConnection | None:
        oldest = asyncio.get_running_loop().time() - MAX_IDLE_SECONDS
        while self._idle:
            connection = self._idle.pop()
            if connection.is_open and connection.idle_since > oldest:
                return connection
            connection.abort()
        return None

    def _keep(self, connection: HttpConnection) -> None:
        loop = asyncio.get_running_loop()
        connection.idle_since = loop.time()
        self._idle.append(connection)
        if self._sweep is None:
            self._sweep = loop.call_later(MAX_IDLE_SECONDS, self._close_old)

    def _close_old(self) -> None:
        self._sweep = None
        loop = asyncio.get_running_loop()
        oldest = loop.time() - MAX_IDLE_SECONDS
        while self._idle and (self._idle[0].idle_since <= oldest or not self._idle[0].is_open):
            self._idle.popleft().abort()
        if self._idle:
            self._sweep = loop.call_at(self._idle[0].idle_since + MAX_IDLE_SECONDS, self._close_old)
