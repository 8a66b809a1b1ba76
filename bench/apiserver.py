"""The embedded API server under load: creates, a full list, watchers, memory; over TLS, with objects of 2.7 KB.

Beside it, in the same run, etcd with kube-apiserver, where `KUBEBUILDER_ASSETS` names the directory of their programs.
The client runs in this process, and has its part of the machine.
"""

import asyncio
import os
import ssl
import tempfile
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path

import uvloop

from bench.creating import CLIENTS, Creator, Figures, all_of, creating, measure_creates
from bench.servers import TOKEN, Target, kubernetes, leeward, trusting
from leeward.client import Client

OBJECTS = int(os.environ.get("BENCH_OBJECTS", "42000"))
WATCHERS = int(os.environ.get("BENCH_WATCHERS", "1000"))
EVENTS = 50
LIST_TRIES = 3
MIB = 1024 * 1024

LISTED = "/api/v1/namespaces/default/configmaps"
WATCHED = "/api/v1/namespaces/kube-public/configmaps"
_FRAME = b'{"type":"ADDED"'

Start = Callable[[Path], AbstractAsyncContextManager[Target]]


def run() -> None:
    figures = uvloop.run(_measure_all())
    names = list(figures)
    print(f"{'':<34}" + "".join(f"{name:>24}" for name in names))
    for row in figures[names[0]]:
        print(f"{row:<34}" + "".join(f"{figures[name][row]:>24,.2f}" for name in names))
    if len(names) == 1:
        print("(KUBEBUILDER_ASSETS is not set: etcd and kube-apiserver are not measured)")


async def _measure_all() -> dict[str, Figures]:
    async with AsyncExitStack() as stack:
        targets = [await stack.enter_async_context(_started(start)) for start in _starts()]
        creators = [await stack.enter_async_context(creating(target, LISTED, CLIENTS[-1])) for target in targets]
        figures = await measure_creates(creators)
        for creator in creators:
            figures[creator.target.name] |= await _others(creator)
        return figures


def _starts() -> list[Start]:
    programs = os.environ.get("KUBEBUILDER_ASSETS", "")
    beside = partial(kubernetes, programs=Path(programs))
    return [leeward, beside] if programs else [leeward]


@asynccontextmanager
async def _started(start: Start) -> AsyncGenerator[Target]:
    with tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_DIRECTORY"), ignore_cleanup_errors=True) as directory:
        async with start(Path(directory)) as target:
            yield target


async def _others(creator: Creator) -> Figures:
    """Figures that take a server that is full."""
    target, figures = creator.target, Figures()
    await creator.fill(OBJECTS)
    client = target.client()
    try:
        figures[f"list of {OBJECTS:,} objects, seconds"] = await _list_seconds(client)
    finally:
        await client.close()
    figures[f"memory with {OBJECTS:,} objects, MiB"] = target.memory_bytes() / MIB
    return figures | await _deliveries(target)


async def _list_seconds(client: Client) -> float:
    times: list[float] = []
    for _ in range(LIST_TRIES):
        started = time.perf_counter()
        answer = await client.raw("GET", LISTED, timeout_seconds=60)
        times.append(time.perf_counter() - started)
        assert answer.code == 200
    return min(times)


async def _deliveries(target: Target) -> Figures:
    """Events that reach watchers each second, while a few objects are created for many watchers; and what each costs.

    The processor's time is what tells on a machine that is shared: the server's is its own, the client's is that of
    this process, and both include the creates.
    """
    context = trusting()
    watchers = [Watcher(target.port, context) for _ in range(WATCHERS)]
    for begin in range(0, WATCHERS, 50):
        await all_of([watcher.open for watcher in watchers[begin : begin + 50]])
    async with creating(target, WATCHED, EVENTS) as creator:
        started, server, own = time.perf_counter(), target.processor_seconds(), time.process_time()
        await creator.create(EVENTS, lambda begun: begun >= EVENTS)
        for watcher in watchers:
            await watcher.seen(EVENTS)
        seconds, deliveries = time.perf_counter() - started, WATCHERS * EVENTS
    figures = {
        f"deliveries a second, {WATCHERS:,} watchers": deliveries / seconds,
        "  server's processor, µs a delivery": (target.processor_seconds() - server) / deliveries * 1e6,
        "  client's processor, µs a delivery": (time.process_time() - own) / deliveries * 1e6,
    }
    for watcher in watchers:
        watcher.close()
    return figures


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
