"""kill -9 at random instants, while several clients write and one watches: every acknowledged write is accounted for.

Each life of the server lasts until so many writes were acknowledged, and a moment more: on a busy machine it lasts
longer, but is no emptier.

`LEEWARD_CRASHES` says how often, and `LEEWARD_SEED` draws what is written and how long each life lasts (`make crash
N=500 SEED=7`); in which order it happens is up to the machine. Holds: D1, D3, D4, D5.
"""

import asyncio
import os
import random
from pathlib import Path

import pytest

from kubeapi.loop.supervisor import Supervisor
from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeclient import AlreadyExists, Client, Conflict, NotFound, WorldError
from kubeclient.decoding import WatchEvent
from tests.crash.ledger import Ledger, Lost
from tests.crash.server import Server

CRASHES = int(os.environ.get("LEEWARD_CRASHES", "3"))
SEED = int(os.environ.get("LEEWARD_SEED") or random.randrange(2**32))
WRITERS, OBJECTS = 8, 6
MOST_WRITES, MOMENT_SECONDS, PATIENCE_SECONDS = 200, 0.02, 60.0
NAMESPACE = "default"
CONFIG_MAPS: Resource[Manifest] = Resource.of_manifests("v1", "configmaps", "ConfigMap", True)

pytestmark = pytest.mark.processes


class Writer:
    """Creates, replaces and deletes its own objects, one after the other, as fast as it is answered."""

    def __init__(self, number: int, ledger: Ledger) -> None:
        self._names = [f"w{number}-{index}" for index in range(OBJECTS)]
        self._ledger = ledger
        self._random = random.Random(f"{SEED} {number}")
        self._count = 0

    async def run(self, client: Client) -> None:
        """Goes on until the server does not answer."""
        while True:
            name = self._random.choice(self._names)
            entry = self._ledger.entries.get(name)
            try:
                await self._write(client, name, there=entry is not None and entry.value is not None)
            except (NotFound, AlreadyExists, Conflict) as error:
                raise Lost(f"{name}: {error}, but the ledger says {entry}") from error
            except WorldError:
                return

    async def _write(self, client: Client, name: str, *, there: bool) -> None:
        self._count += 1
        value = f"{name}/{self._count}/{self._random.random()}"
        body: Manifest = {
            "metadata": {"name": name},
            "data": {"value": value, "filling": "x" * self._random.randrange(4000)},
        }
        if there and self._random.random() < 0.2:
            self._ledger.begin(name, None)
            await client.delete(CONFIG_MAPS, name, NAMESPACE)
            self._ledger.acknowledge(name, None, self._ledger.newest_of(name) + 1)
            return
        self._ledger.begin(name, value)
        if there:
            written = await client.update(CONFIG_MAPS, body, name, NAMESPACE)
        else:
            written = await client.create(CONFIG_MAPS, body, NAMESPACE)
        self._ledger.acknowledge(name, value, int(written["metadata"]["resourceVersion"]))


class Follower:
    """Watches through all crashes, and knows from the events alone what there is."""

    def __init__(self) -> None:
        self.objects: dict[str, str] = {}
        self.revision = 0

    async def run(self, client: Client) -> None:
        try:
            async for event in client.watch(CONFIG_MAPS, NAMESPACE, resource_version=str(self.revision)):
                self._take(event)
        except WorldError:
            return

    def _take(self, event: WatchEvent[Manifest]) -> None:
        revision = int(event.resource_version)
        if event.object is None:
            assert revision >= self.revision, f"bookmark {revision} after {self.revision}"
        elif event.type == "DELETED":
            assert revision > self.revision, f"event {revision} after {self.revision}"
            del self.objects[event.object["metadata"]["name"]]
        else:
            assert revision > self.revision, f"event {revision} after {self.revision}"
            self.objects[event.object["metadata"]["name"]] = event.object["data"]["value"]
        self.revision = revision


def test_d1_no_acknowledged_write_is_lost_when_the_server_is_killed(tmp_path: Path) -> None:
    async def main() -> Ledger:
        server, ledger, follower, lives = Server(tmp_path), Ledger(), Follower(), random.Random(SEED)
        writers = [Writer(number, ledger) for number in range(WRITERS)]
        try:
            for kills in range(CRASHES):
                if kills and kills % 50 == 0:
                    print(f"{kills} kills, {ledger}", flush=True)
                await server.start()
                await live_and_die(server, ledger, follower, writers, lives)
            await server.start()
            await account(server, ledger, follower)
        finally:
            await server.kill()
        return ledger

    print(f"again: make crash N={CRASHES} SEED={SEED}", flush=True)
    ledger = asyncio.run(main())
    print(f"{CRASHES} kills, {ledger}, all accounted for")
    assert ledger.acknowledged > 0


async def live_and_die(
    server: Server, ledger: Ledger, follower: Follower, writers: list[Writer], lives: random.Random
) -> None:
    client = server.client()
    try:
        await account(server, ledger, follower)
        async with Supervisor("clients") as clients:
            tasks = [clients.start(writer.run(client), "writer") for writer in writers]
            watching = clients.start(follower.run(client), "follower")
            await written(ledger, ledger.acknowledged + lives.randrange(MOST_WRITES))
            await asyncio.sleep(lives.uniform(0, MOMENT_SECONDS))
            await server.kill()
            for task in (*tasks, watching):
                async with asyncio.timeout(PATIENCE_SECONDS):
                    await task
    finally:
        await client.close()


async def written(ledger: Ledger, count: int) -> None:
    """Returns when the clients have been told of so many writes."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            if ledger.acknowledged >= count:
                return
            await asyncio.sleep(0.001)


async def account(server: Server, ledger: Ledger, follower: Follower) -> None:
    """Checks that all that is there is what the ledger expects, and what the follower comes to know."""
    client = server.client()
    try:
        page = await client.list(CONFIG_MAPS, NAMESPACE)
        revision = int(page.resource_version)
        ledger.account(list(page.items), revision)
        listed = {found["metadata"]["name"]: found["data"]["value"] for found in page.items}
        if not follower.revision:
            follower.revision, follower.objects = revision, listed
        await caught_up(client, follower, listed)
    finally:
        await client.close()


async def caught_up(client: Client, follower: Follower, listed: dict[str, str]) -> None:
    """The follower goes on where it was before the crash, and comes to the same end."""
    async with Supervisor("catching up") as watching:
        task = watching.start(follower.run(client), "follower")
        async with asyncio.timeout(PATIENCE_SECONDS):
            while follower.objects != listed:
                assert not task.done(), "the watch could not be resumed"
                await asyncio.sleep(0.01)
