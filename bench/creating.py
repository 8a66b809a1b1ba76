"""Rates at which servers take durable creates: with few clients and with many, all servers taking turns.

On a machine that is shared, what others do meanwhile falls on all of them alike; and the processor's time of a create
tells more than how long it took.
"""

import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import count

from bench.posting import Poster
from bench.servers import Figures, Target, trusting
from kubeapi import codec
from kubeapi.loop.supervisor import Supervisor

CLIENTS = (1, 16, 64)
TURNS = 4
TURN_SECONDS = 1.0
WARM_UP_SECONDS = 2.0
"""Seconds of load before anything is measured: a server that has just begun is not the one that answers all day."""
OBJECT_BYTES = 2_700
_FILLING = "x" * (OBJECT_BYTES - 270)


@dataclass
class Creator:
    """Creates objects in one server, in the collection `path`; so many clients at a time as there are `posters`."""

    target: Target
    path: str
    posters: Sequence[Poster]
    numbers: Iterator[int] = field(default_factory=count)

    async def create(self, clients: int, is_enough: Callable[[int], bool]) -> int:
        """Each client creates one after the other, until so many are begun that it is enough; how many."""
        begun = 0

        async def work(poster: Poster) -> None:
            nonlocal begun
            while not is_enough(begun):
                begun += 1
                await poster.create(self.path, _object(next(self.numbers)))

        await all_of([partial(work, poster) for poster in self.posters[:clients]])
        return begun

    async def fill(self, objects: int) -> None:
        """Returns when there are so many."""
        there = next(self.numbers)
        await self.create(len(self.posters), lambda begun: there + begun >= objects)


@asynccontextmanager
async def creating(target: Target, path: str, clients: int) -> AsyncGenerator[Creator]:
    context = trusting()
    posters = [Poster(target.port, context) for _ in range(clients)]
    await all_of([poster.open for poster in posters])
    yield Creator(target, path, posters)
    for poster in posters:
        poster.close()


async def measure_creates(creators: Sequence[Creator]) -> dict[str, Figures]:
    """The figures of each server, by its name."""
    for creator in creators:
        await creator.create(CLIENTS[-1], _after(WARM_UP_SECONDS))
    figures = {creator.target.name: Figures() for creator in creators}
    for clients in CLIENTS:
        accounts = [_Account(creator, clients) for creator in creators]
        for account in accounts * TURNS:
            await account.take_turn()
        for account in accounts:
            figures[account.creator.target.name] |= account.figures()
    return figures


@dataclass
class _Account:
    """Creates that one server took in all of its turns."""

    creator: Creator
    clients: int
    made: int = 0
    seconds: float = 0.0
    server_seconds: float = 0.0
    client_seconds: float = 0.0

    async def take_turn(self) -> None:
        target = self.creator.target
        begun, server, client = time.perf_counter(), target.processor_seconds(), time.process_time()
        self.made += await self.creator.create(self.clients, _after(TURN_SECONDS))
        self.seconds += time.perf_counter() - begun
        self.server_seconds += target.processor_seconds() - server
        self.client_seconds += time.process_time() - client

    def figures(self) -> Figures:
        title = f"creates a second, {self.clients} client{'s' if self.clients > 1 else ''}"
        return {
            title: self.made / self.seconds,
            f"  server's processor, µs ({self.clients})": self.server_seconds / self.made * 1e6,
            f"  client's processor, µs ({self.clients})": self.client_seconds / self.made * 1e6,
        }


async def all_of(works: Sequence[Callable[[], Awaitable[None]]]) -> None:
    async def run(work: Callable[[], Awaitable[None]]) -> None:
        await work()

    async with Supervisor("clients") as supervisor:
        for task in [supervisor.start(run(work), "client") for work in works]:
            await task


def _object(number: int) -> bytes:
    name = f"object-{number:06}"
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"text": _FILLING}}
    return codec.encode(manifest)


def _after(seconds: float) -> Callable[[int], bool]:
    end = time.perf_counter() + seconds
    return lambda begun: time.perf_counter() >= end
