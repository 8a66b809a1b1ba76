"""Processes of the shards of one machine: started by their leader's process, started again when one ends or hangs, and
ended with it."""

import asyncio
import logging
import os
import sys
from asyncio.subprocess import Process
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from controller_runtime import Backoff
from kubeapi.core import LEASES
from kubeapi.loop import Supervisor
from kubeclient import Client, NotFound, WorldError
from leeward.app.flags.parsing import Address
from leeward.app.flags.settings import Serving
from leeward.app.shard import ENDS_WITH_INPUT
from leeward.runtime.sharding import LeaderSettings, Sharding

log = logging.getLogger(__name__)

FIRST_PAUSE_SECONDS, LAST_PAUSE_SECONDS = 1.0, 60.0
STEADY_SECONDS = 300.0
"""A process that has run for so long ends for a new reason: the pauses are short again."""
STOP_SECONDS = 1.5
PORTS_APART = 100


class ShardProcesses:
    """Runs `count` processes, with the command line of this one. Their Leases are read with `client`."""

    def __init__(self, count: int, serving: Serving, client: Client, settings: LeaderSettings) -> None:
        self._count = count
        self._serving = serving
        self._client = client
        self._settings = settings

    async def run(self) -> None:
        """Runs them until cancelled, and ends them then."""
        async with Supervisor("shards") as supervisor:
            for index in range(self._count):
                supervisor.start(self._keep(index), f"shard {index}")
            await asyncio.Event().wait()

    def command(self, index: int) -> Sequence[str]:
        serving = self._serving
        return (
            *(sys.executable, "-m", "leeward.cli", *sys.argv[1:], f"--shard={index}"),
            f"--metrics-bind-address={_beside(serving.metrics, index)}",
            f"--health-probe-bind-address={_beside(serving.health, index)}",
        )

    async def _keep(self, index: int) -> None:
        loop, pauses = asyncio.get_running_loop(), Backoff(FIRST_PAUSE_SECONDS, LAST_PAUSE_SECONDS)
        while True:
            started = loop.time()
            status = await self._run_until_end(index)
            if loop.time() - started > STEADY_SECONDS:
                pauses = Backoff(FIRST_PAUSE_SECONDS, LAST_PAUSE_SECONDS)
            pause = pauses.next_seconds()
            log.error("shard %d has ended with %d: it is started again in %g s", index, status, pause)
            await asyncio.sleep(pause)

    async def _run_until_end(self, index: int) -> int:
        """Returns its exit status. Ends it when it hangs, or this is cancelled: asked first, so that its lease can be
        taken at once."""
        process = await asyncio.create_subprocess_exec(
            *self.command(index),
            stdin=asyncio.subprocess.PIPE,
            start_new_session=True,
            env={**os.environ, ENDS_WITH_INPUT: "true"},
        )
        try:
            async with Supervisor(f"shard {index}") as supervisor:
                ended = supervisor.start(process.wait(), "end")
                lease = Sharding(self._count).lease_of(index)
                silent = supervisor.start(goes_silent(self._client, lease, self._settings), "silence")
                await asyncio.wait((ended, silent), return_when=asyncio.FIRST_COMPLETED)
                if not ended.done():
                    silent.result()
                    log.error("nobody renews the lease %s any more: process %d hangs, and is ended", lease, process.pid)
        finally:
            await _end(process)
        return process.returncode or 0


async def _end(process: Process) -> None:
    if process.returncode is not None:
        return
    with suppress(ProcessLookupError):
        process.terminate()
    try:
        async with asyncio.timeout(STOP_SECONDS):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()


def _beside(address: Address | None, index: int) -> str:
    """Address of a shard, so many ports above its leader's; 0 where nothing is served."""
    return "0" if address is None else f"{address.host}:{address.port + PORTS_APART * (index + 1)}"


LEASES_MISSED = 4
"""Looks in a row, each a whole Lease after the one before, that find it as it was: whoever worked, or stood by, would
have renewed or taken it meanwhile."""


async def goes_silent(client: Client, lease: str, settings: LeaderSettings) -> None:
    """Returns when nobody has renewed the Lease for so long.

    It is looks that are counted, and not time: while nobody could look, because the control plane was away or this
    process stood still, nothing is known of the shard.
    """
    known: Any = None
    missed = -1
    while missed < LEASES_MISSED:
        await asyncio.sleep(settings.lease_seconds)
        try:
            async with asyncio.timeout(settings.renew_seconds):
                seen = (await client.get(LEASES, lease, settings.namespace)).spec
        except NotFound:
            seen = None
        except (WorldError, TimeoutError):
            missed = -1
            continue
        missed = missed + 1 if seen == known or missed < 0 else 0
        known = seen
