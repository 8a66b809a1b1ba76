"""The embedded API server under load: creates, a full list, watchers, memory; over TLS, with objects of 2.7 KB.

Beside it, in the same run, etcd with kube-apiserver, where `KUBEBUILDER_ASSETS` names the directory of their programs.
The client runs in this process, and has its part of the machine.
"""

import asyncio
import os
import ssl
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from itertools import count
from pathlib import Path

import uvloop

from bench.servers import TOKEN, Target, kubernetes, leeward
from leeward.api import codec
from leeward.client import Client
from leeward.loop.supervisor import Supervisor

OBJECTS = int(os.environ.get("BENCH_OBJECTS", "42000"))
WATCHERS = int(os.environ.get("BENCH_WATCHERS", "1000"))
CREATE_SECONDS = 3.0
EVENTS = 50
OBJECT_BYTES = 2_700
CLIENTS = (1, 16, 64)
LIST_TRIES = 3
MIB = 1024 * 1024

LISTED = "/api/v1/namespaces/default/configmaps"
WATCHED = "/api/v1/namespaces/kube-public/configmaps"
_FRAME = b'{"type":"ADDED"'

Figures = dict[str, float]


def run() -> None:
    figures = uvloop.run(_measure_all())
    names = list(figures)
    print(f"{'':<34}" + "".join(f"{name:>24}" for name in names))
    for row in figures[names[0]]:
        print(f"{row:<34}" + "".join(f"{figures[name][row]:>24,.2f}" for name in names))
    if len(names) == 1:
        print("(KUBEBUILDER_ASSETS is not set: etcd and kube-apiserver are not measured)")


async def _measure_all() -> dict[str, Figures]:
    figures = {"leeward": await _measure(leeward)}
    programs = os.environ.get("KUBEBUILDER_ASSETS", "")
    if programs:
        figures["etcd + kube-apiserver"] = await _measure(lambda directory: kubernetes(directory, Path(programs)))
    return figures


async def _measure(start: Callable[[Path], AbstractAsyncContextManager[Target]]) -> Figures:
    with tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_DIRECTORY"), ignore_cleanup_errors=True) as directory:
        async with start(Path(directory)) as target:
            return await _figures(target)


async def _figures(target: Target) -> Figures:
    client, numbers, figures = target.client(), count(), Figures()
    try:
        for clients in CLIENTS:
            made = await _create(client, LISTED, numbers, clients, _after(CREATE_SECONDS))
            figures[f"creates a second, {clients} clients"] = made / CREATE_SECONDS
        await _create(client, LISTED, numbers, CLIENTS[-1], _when_there_are(numbers))
        figures[f"list of {OBJECTS:,} objects, seconds"] = await _list_seconds(client)
        figures[f"memory with {OBJECTS:,} objects, MiB"] = target.memory_bytes() / MIB
        return figures | await _deliveries(target, client)
    finally:
        await client.close()


async def _create(
    client: Client, path: str, numbers: Iterator[int], clients: int, is_enough: Callable[[int], bool]
) -> int:
    """Creates objects with `clients` requests under way, until it is enough; how many."""
    made = 0

    async def work() -> None:
        nonlocal made
        while not is_enough(made):
            await _create_one(client, path, next(numbers))
            made += 1

    await _all_of([work] * clients)
    return made


async def _create_one(client: Client, path: str, number: int) -> None:
    name = f"object-{number:06}"
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"text": ""}}
    filling = OBJECT_BYTES - len(codec.encode(manifest)) - 180
    body = codec.encode({**manifest, "data": {"text": "x" * filling}})
    answer = await client.raw("POST", path, body=body, timeout_seconds=60)
    assert answer.code == 201, answer.body


async def _list_seconds(client: Client) -> float:
    times: list[float] = []
    for _ in range(LIST_TRIES):
        started = time.perf_counter()
        answer = await client.raw("GET", LISTED, timeout_seconds=60)
        times.append(time.perf_counter() - started)
        assert answer.code == 200
    return min(times)


async def _deliveries(target: Target, client: Client) -> Figures:
    """Events that reach watchers each second, while a few objects are created for many watchers; and what each costs.

    The processor's time is what tells on a machine that is shared: the server's is its own, the client's is that of
    this process, and both include the creates.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    watchers = [Watcher(target.port, context) for _ in range(WATCHERS)]
    for begin in range(0, WATCHERS, 50):
        await _all_of([watcher.open for watcher in watchers[begin : begin + 50]])
    started, server, own = time.perf_counter(), target.processor_seconds(), time.process_time()
    numbers = iter(range(EVENTS))
    await _all_of([lambda: _create_one(client, WATCHED, next(numbers))] * EVENTS)
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
        self._wanted = 0
        self._head = asyncio.Event()
        self._enough = asyncio.Event()

    async def open(self) -> None:
        loop = asyncio.get_running_loop()
        self._transport, _ = await loop.create_connection(lambda: self, "127.0.0.1", self._port, ssl=self._context)
        head = f"GET {WATCHED}?watch=1 HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: application/json"
        self._transport.write(f"{head}\r\nAuthorization: Bearer {TOKEN}\r\n\r\n".encode())
        await self._head.wait()

    async def seen(self, frames: int) -> None:
        """Returns when so many have come."""
        self._wanted = frames
        if self._frames < frames:
            await self._enough.wait()

    def data_received(self, data: bytes) -> None:
        if not self._head.is_set():
            assert data.startswith(b"HTTP/1.1 200"), data
            self._head.set()
        self._frames += data.count(_FRAME)
        between = self._tail + data[: len(_FRAME) - 1]
        self._frames += between.count(_FRAME)
        self._tail = data[-len(_FRAME) + 1 :] if len(data) >= len(_FRAME) else between[-len(_FRAME) + 1 :]
        if self._frames >= self._wanted:
            self._enough.set()

    def close(self) -> None:
        self._transport.abort()


def _after(seconds: float) -> Callable[[int], bool]:
    end = time.perf_counter() + seconds
    return lambda made: time.perf_counter() >= end


def _when_there_are(numbers: Iterator[int]) -> Callable[[int], bool]:
    there = next(numbers)
    return lambda made: there + made >= OBJECTS


async def _all_of(works: list[Callable[[], Awaitable[None]]]) -> None:
    async def run(work: Callable[[], Awaitable[None]]) -> None:
        await work()

    async with Supervisor("clients") as supervisor:
        for task in [supervisor.start(run(work), "client") for work in works]:
            await task
