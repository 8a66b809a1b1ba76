"""The built page with a stand-in for its server (web/dev/serve.js): each state of it at will, ten thousand rows too."""

import json
import shutil
import subprocess
import urllib.request
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

    def tell(self, collection: str, key: str, value: object) -> None:
        """One object has changed, for all pages that look."""
        change = {"id": "", "at": "2026-11-22T02:41:20Z", "more": False, "set": {collection: {key: value}}, "unset": {}}
        address = f"{self.origin}/api/stand-in/change"
        with urllib.request.urlopen(address, json.dumps(change).encode(), timeout=STOP_SECONDS) as answer:
            assert json.load(answer) > 0, "no page looks"

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
