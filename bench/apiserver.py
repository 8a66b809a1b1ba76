"""The embedded API server under load: creates, a full list, memory; over TLS, with objects of 2.7 KB.

Beside it, in the same run, etcd with kube-apiserver (`servers.py`). The client runs in this process, and has its part
of the machine.
"""

import os
import time
from contextlib import AsyncExitStack

import uvloop

from bench.creating import CLIENTS, Creator, creating, measure_creates
from bench.servers import Figures, print_beside, started
from kubeclient import Client

OBJECTS = int(os.environ.get("BENCH_OBJECTS", "42000"))
LIST_TRIES = 3
MIB = 1024 * 1024

LISTED = "/api/v1/namespaces/default/configmaps"


def run() -> None:
    print_beside(uvloop.run(_measure_all()))


async def _measure_all() -> dict[str, Figures]:
    async with started() as targets, AsyncExitStack() as stack:
        creators = [await stack.enter_async_context(creating(target, LISTED, CLIENTS[-1])) for target in targets]
        figures = await measure_creates(creators)
        for creator in creators:
            figures[creator.target.name] |= await _others(creator)
        return figures


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
    return figures


async def _list_seconds(client: Client) -> float:
    times: list[float] = []
    for _ in range(LIST_TRIES):
        started = time.perf_counter()
        answer = await client.raw("GET", LISTED, timeout_seconds=60)
        times.append(time.perf_counter() - started)
        assert answer.code == 200
    return min(times)
