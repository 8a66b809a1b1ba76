"""Costs of telling a thousand watchers of new objects: of many that are created at once, and one by one.

Events of a control plane come one by one: the next object is created when all have seen the last one, so that each
watcher is woken for each event, and nothing can be told together. Beside our server, in turns, etcd with
kube-apiserver (`servers.py`). The processor's time is what tells on a machine that is shared: the server's is its own,
the client's is that of this process, and both include the creates.
"""

import asyncio
import os
import ssl
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

import uvloop

from bench.creating import Creator, all_of, creating
from bench.servers import TOKEN, Figures, Target, print_beside, started, trusting

WATCHERS = int(os.environ.get("BENCH_WATCHERS", "1000"))
AT_ONCE = 50
"""Objects that are created at once, by as many clients."""
ONE_BY_ONE = 25
TURNS = 3

WATCHED = "/api/v1/namespaces/kube-public/configmaps"
_FRAME = b'{"type":"ADDED"'


def run() -> None:
    print_beside(uvloop.run(_measure_all()))


async def _measure_all() -> dict[str, Figures]:
    async with started() as targets, AsyncExitStack() as stack:
        crowds = [await stack.enter_async_context(_crowd(target)) for target in targets]
        accounts = [(_Account(crowd, AT_ONCE), _Account(crowd, 1)) for crowd in crowds]
        for crowd in crowds:
            await crowd.tell(AT_ONCE)
        for _ in range(TURNS):
            for at_once, one_by_one in accounts:
                await at_once.take_turn(AT_ONCE)
                await one_by_one.take_turn(ONE_BY_ONE)
    return {
        one.crowd.creator.target.name: many.figures("at once") | one.figures("one by one") for many, one in accounts
    }


@dataclass
class _Crowd:
    """The watchers of one server, and who creates what they watch."""

    creator: Creator
    watchers: Sequence["Watcher"]
    created: int = 0

    async def tell(self, objects: int) -> None:
        """Creates so many at once; returns when all watchers have seen them."""
        self.created += await self.creator.create(objects, lambda begun: begun >= objects)
        for watcher in self.watchers:
            await watcher.seen(self.created)


@dataclass
class _Account:
    """Costs of one way to tell a crowd, in all of its turns."""

    crowd: _Crowd
    at_once: int
    deliveries: int = 0
    seconds: float = 0.0
    server_seconds: float = 0.0
    client_seconds: float = 0.0

    async def take_turn(self, objects: int) -> None:
        target = self.crowd.creator.target
        begun, server, client = time.perf_counter(), target.processor_seconds(), time.process_time()
        for _ in range(0, objects, self.at_once):
            await self.crowd.tell(self.at_once)
        self.deliveries += objects * len(self.crowd.watchers)
        self.seconds += time.perf_counter() - begun
        self.server_seconds += target.processor_seconds() - server
        self.client_seconds += time.process_time() - client

    def figures(self, way: str) -> Figures:
        return {
            f"deliveries a second, {way}": self.deliveries / self.seconds,
            f"  server's processor, µs ({way})": self.server_seconds / self.deliveries * 1e6,
            f"  client's processor, µs ({way})": self.client_seconds / self.deliveries * 1e6,
        }


@asynccontextmanager
async def _crowd(target: Target) -> AsyncGenerator[_Crowd]:
    context = trusting()
    watchers = [Watcher(target.port, context) for _ in range(WATCHERS)]
    for begin in range(0, WATCHERS, AT_ONCE):
        await all_of([watcher.open for watcher in watchers[begin : begin + AT_ONCE]])
    async with creating(target, WATCHED, AT_ONCE) as creator:
        yield _Crowd(creator, watchers)
    for watcher in watchers:
        watcher.close()


class Watcher(asyncio.Protocol):
    """A watch that only counts its frames: what the client does must cost little."""

    def __init__(self, port: int, context: ssl.SSLContext) -> None:
        self._port = port
        self._context = context
        self._tail = b""
        self._frames = 0
        self._head = asyncio.Event()
        self._more = asyncio.Event()

    async def open(self) -> None:
        loop = asyncio.get_running_loop()
        self._transport, _ = await loop.create_connection(lambda: self, "127.0.0.1", self._port, ssl=self._context)
        head = f"GET {WATCHED}?watch=1 HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: application/json"
        self._transport.write(f"{head}\r\nAuthorization: Bearer {TOKEN}\r\n\r\n".encode())
        await self._head.wait()

    async def seen(self, frames: int) -> None:
        """Returns when so many have come."""
        while self._frames < frames:
            self._more.clear()
            await self._more.wait()

    def data_received(self, data: bytes) -> None:
        if not self._head.is_set():
            assert data.startswith(b"HTTP/1.1 200"), data
            self._head.set()
        self._frames += data.count(_FRAME)
        between = self._tail + data[: len(_FRAME) - 1]
        self._frames += between.count(_FRAME)
        self._tail = data[-len(_FRAME) + 1 :] if len(data) >= len(_FRAME) else between[-len(_FRAME) + 1 :]
        self._more.set()

    def close(self) -> None:
        self._transport.abort()
