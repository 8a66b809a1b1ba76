"""A real control plane as a process of its own, to be killed and started again on the same directory."""

import asyncio
import signal
import sys
from asyncio.subprocess import DEVNULL, Process
from pathlib import Path

from kubeapi.loop.randomness import Randomness
from kubeclient import Client
from kubeclient.connection import transport_of
from kubeclient.kubeconfig import load
from leeward.app.local.credentials import issue_credentials
from leeward.app.local.fleet import LocalFleet, save_fleet
from leeward.app.local.layout import CONTROL_PLANE, CONTROL_PLANE_CONTEXT, Layout
from leeward.app.local.ports import pick_port

START_SECONDS = 180.0
TOLD = 6_000
"""Length of the part of a server's log that is shown when it does not start, in characters."""


class Server:
    """Nothing but the directory outlives a kill."""

    def __init__(self, directory: Path) -> None:
        self.layout = Layout(directory)
        self._process: Process | None = None
        randomness = Randomness()
        fleet = LocalFleet(pick_port(randomness))
        save_fleet(self.layout, fleet)
        issue_credentials(self.layout, fleet, randomness)

    def client(self) -> Client:
        return Client(transport_of(load(self.layout.kubeconfig, CONTROL_PLANE_CONTEXT)), "crash-test")

    async def start(self) -> None:
        """Returns when everything is served."""
        ready = self.layout.ready_file(CONTROL_PLANE)
        ready.unlink(missing_ok=True)
        command = ["-X", "faulthandler", "-m", "leeward.cli", "run", CONTROL_PLANE]
        log = self.layout.root / "server.log"
        with log.open("ab") as output:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                *command,
                "--data-dir",
                str(self.layout.root),
                stdin=DEVNULL,
                stdout=output,
                stderr=output,
            )
        try:
            async with asyncio.timeout(START_SECONDS):
                while not ready.exists():
                    assert self._process.returncode is None, log.read_text()[-TOLD:]
                    await asyncio.sleep(0.02)
        except TimeoutError:
            self._process.send_signal(signal.SIGABRT)
            await self._process.wait()
            raise AssertionError(f"not served after {START_SECONDS:g} s: {log.read_text()[-TOLD:]}") from None

    async def kill(self) -> None:
        """kill -9, at whatever instruction it is."""
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            process.send_signal(signal.SIGKILL)
            await process.wait()
