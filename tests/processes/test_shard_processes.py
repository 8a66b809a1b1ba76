"""`serve --shards` as real processes beside an API server: a shard that dies is started again, and none outlives its
leader's process."""

import os
import signal
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.kubectl import Kubectl, needs_kubectl
from tests.processes.lone_server import AS_SINCE_1_34, LoneServer

SECONDS = 60
QUICK = ("--leader-elect-lease-duration=10s", "--leader-elect-renew-deadline=8s", "--leader-elect-retry-period=500ms")
UNSERVED = ("--metrics-bind-address=0", "--health-probe-bind-address=0")
SHARDS = ("leeward-shard-0-of-2", "leeward-shard-1-of-2")

pytestmark = [pytest.mark.processes, needs_kubectl]


class Serving(Kubectl):
    """`serve` with two shards, and kubectl."""

    def __init__(self, directory: Path, server: LoneServer) -> None:
        kubeconfig = directory / "kubeconfig"
        server.write_kubeconfig(kubeconfig)
        super().__init__(kubeconfig)
        self.leeward("init")
        command = self._command("serve", "--shards=2", *QUICK, *UNSERVED)
        with (directory / "serve.log").open("wb") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def leeward(self, *arguments: str) -> None:
        subprocess.run(self._command(*arguments), check=True, timeout=SECONDS, capture_output=True)

    def _command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "leeward.cli", *arguments, "--kubeconfig", str(self.kubeconfig)]

    def holder(self, lease: str) -> str:
        return self.get("lease", lease, "-n", "karmada-system", context="admin")["spec"]["holderIdentity"]

    @property
    def shards(self) -> dict[str, int]:
        """Process of each shard by its flag."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        lines = {int(child): Path(f"/proc/{child}/cmdline").read_bytes().decode().split("\0") for child in children}
        return {word: child for child, line in lines.items() for word in line if word.startswith("--shard=")}


@pytest.fixture
def serving(tmp_path: Path) -> Generator[Serving]:
    server = LoneServer(tmp_path, *AS_SINCE_1_34)
    server.start()
    try:
        running = Serving(tmp_path, server)
        try:
            running.eventually(lambda: all(map(running.holder, SHARDS)), "each shard is held")
            yield running
        finally:
            running.process.kill()
            running.process.wait(SECONDS)
    finally:
        server.stop()


def is_gone(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def test_a_shard_that_dies_is_started_again_and_takes_its_lease(serving: Serving) -> None:
    before, holder = serving.shards, serving.holder(SHARDS[0])
    os.kill(before["--shard=0"], signal.SIGKILL)
    serving.eventually(lambda: serving.holder(SHARDS[0]) not in ("", holder), "another process holds the shard")
    assert serving.shards["--shard=1"] == before["--shard=1"], "the other one was left alone"


def test_shards_end_with_a_leader_that_is_killed_and_give_their_leases_back(serving: Serving) -> None:
    shards = serving.shards
    serving.process.kill()
    serving.eventually(lambda: all(map(is_gone, shards.values())), "no shard is left behind")
    assert [serving.holder(lease) for lease in SHARDS] == ["", ""]


def test_a_leader_that_stops_gives_its_lease_back_after_its_shards(serving: Serving) -> None:
    shards = serving.shards
    serving.process.terminate()
    assert serving.process.wait(SECONDS) == 0
    assert all(map(is_gone, shards.values()))
    assert [serving.holder(lease) for lease in (*SHARDS, "karmada-controller-manager")] == ["", "", ""]
