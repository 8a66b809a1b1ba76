"""Costs of a request to the client: over its own connections of HTTP/1.1, and over aiohttp, taking turns in one run.

Both ask the embedded API server, over TLS, for an object of 2.7 KB, and write one. CPU times of this process alone, of
the quickest of some turns.
"""

import asyncio
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import uvloop

from bench.servers import TOKEN, Target, leeward, trusting
from kubeapi import codec
from kubeapi.transport import Request, Transport
from kubeclient.credentials import FixedToken
from kubeclient.http import HttpTransport
from kubeclient.proxied import ProxiedTransport

REQUESTS, TURNS = 200, 4
CLIENTS = (1, 16)
PATH = "/api/v1/namespaces/default/configmaps"
GOAL_RATIO = 1.5
_HEADERS = {"accept": "application/json", "user-agent": "bench", "content-type": "application/json"}


def run() -> None:
    uvloop.run(_measure())


async def _measure() -> None:
    with tempfile.TemporaryDirectory() as directory:
        async with leeward(Path(directory)) as target:
            own, library = _transports(target)
            await _ask(own, _create("read"))
            numbers = iter(range(1_000_000))
            print(f"{'µs of a request':<24}{'own':>8}{'aiohttp':>9}{'ratio':>7}{'goal':>6}")
            read, written = _named("read"), lambda: _create(f"written-{next(numbers)}")
            for what, request in (("GET", lambda: read), ("POST", written)):
                for clients in CLIENTS:
                    ours = theirs = float("inf")
                    for _ in range(TURNS):
                        ours = min(ours, await _microseconds(own, request, clients))
                        theirs = min(theirs, await _microseconds(library, request, clients))
                    head = f"{what}, {clients} at once"
                    print(f"{head:<24}{ours:>8.0f}{theirs:>9.0f}{theirs / ours:>7.2f}{GOAL_RATIO:>6g}")
            await own.close()
            await library.close()


def _transports(target: Target) -> tuple[Transport, Transport]:
    url, token = f"https://127.0.0.1:{target.port}", FixedToken(TOKEN)
    own = HttpTransport(url, trusting(), token_source=token)
    return own, ProxiedTransport(url, trusting(), token_source=token, proxy="")


async def _microseconds(transport: Transport, request: Callable[[], Request], clients: int) -> float:
    left = iter(range(REQUESTS))

    async def work() -> None:
        for _ in left:
            await _ask(transport, request())

    started = time.process_time()
    await asyncio.gather(*(work() for _ in range(clients)))
    return (time.process_time() - started) / REQUESTS * 1e6


async def _ask(transport: Transport, request: Request) -> None:
    answer = await transport.send(request, timeout_seconds=60)
    assert answer.code in (200, 201), answer


def _named(name: str) -> Request:
    return Request("GET", f"{PATH}/{name}", headers=_HEADERS)


def _create(name: str) -> Request:
    made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"filling": "x" * 2_500}}
    return Request("POST", PATH, headers=_HEADERS, body=codec.encode(made))
