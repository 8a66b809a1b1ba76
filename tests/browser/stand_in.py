"""The built page with a stand-in for its server (web/dev/serve.js): each state of it at will, ten thousand rows too."""

import shutil
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

WEB = Path(__file__).parents[2] / "web"
OUTAGE = "/outages/fra-2-20261122-022947"
LEDGER = "/applications/payments/Deployment/ledger"
STOP_SECONDS = 10


class StandIn:
    def __init__(self) -> None:
        node = shutil.which("node")
        assert node is not None, "Node 20 is missing; on Debian: apt-get install nodejs npm"
        self._process = subprocess.Popen([node, "dev/serve.js"], cwd=WEB, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.origin = f"http://127.0.0.1:{int(self._process.stdout.readline())}"

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(STOP_SECONDS)
        if self._process.stdout is not None:
            self._process.stdout.close()


@contextmanager
def standing_in() -> Generator[StandIn]:
    server = StandIn()
    try:
        yield server
    finally:
        server.stop()
