"""A real fleet of processes in a directory of its own, driven by the real kubectl and the leeward command."""

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

COMMAND_SECONDS = 60.0
POLL_SECONDS = 0.2

needs_kubectl = pytest.mark.skipif(
    shutil.which("kubectl") is None, reason="kubectl is not on PATH: the walkthrough on real processes is not tested"
)


class Fleet:
    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir
        self.kubeconfig = data_dir / "kubeconfig"

    def leeward(self, *arguments: str, fails: bool = False) -> str:
        """What `leeward ... --data-dir` prints. Fails the test unless it ends as expected."""
        command = [sys.executable, "-m", "leeward.cli", *arguments, "--data-dir", str(self.data_dir)]
        return _run(command, fails)

    def kubectl(self, *arguments: str, context: str = "karmada-apiserver", stdin: str = "", fails: bool = False) -> str:
        command = ["kubectl", "--kubeconfig", str(self.kubeconfig), "--context", context, *arguments]
        return _run(command, fails, stdin)

    def get(self, *arguments: str, context: str = "karmada-apiserver") -> dict[str, Any]:
        return json.loads(self.kubectl("get", *arguments, "-o", "json", context=context))

    def exists(self, *arguments: str, context: str = "karmada-apiserver") -> bool:
        return bool(self.kubectl("get", *arguments, "--ignore-not-found", "-o", "name", context=context))

    def ready(self, cluster: str) -> tuple[str, str]:
        """Status and reason of the Cluster's condition Ready."""
        conditions = self.get("cluster", cluster).get("status", {}).get("conditions", [])
        return next(((c["status"], c["reason"]) for c in conditions if c["type"] == "Ready"), ("", ""))

    def taints(self, cluster: str) -> set[str]:
        return {f"{t['key']}:{t['effect']}" for t in self.get("cluster", cluster)["spec"].get("taints", [])}

    def binding(self, name: str) -> dict[str, Any]:
        return self.get("resourcebinding", name)

    def assigned(self, name: str) -> dict[str, int]:
        return {t["name"]: t.get("replicas", 0) for t in self.binding(name)["spec"].get("clusters", [])}

    def eventually(self, holds: Callable[[], bool], what: str, within_seconds: float = 40) -> None:
        """Looks again and again. Real processes take real time; the bound only ends a test that would hang."""
        deadline = time.monotonic() + within_seconds
        while not holds():
            assert time.monotonic() < deadline, f"not within {within_seconds:g} s: {what}\n{self.leeward('status')}"
            time.sleep(POLL_SECONDS)


@contextmanager
def running_fleet(data_dir: Path, *options: str) -> Generator[Fleet]:
    """A fleet with `--timing fast`, which is stopped in the end."""
    fleet = Fleet(data_dir)
    fleet.leeward("up", "--timing", "fast", "--detach", *options)
    try:
        yield fleet
    finally:
        fleet.leeward("down")


def _run(command: list[str], fails: bool, stdin: str = "") -> str:
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=COMMAND_SECONDS, check=False)
    output = done.stdout + done.stderr if fails else done.stdout
    assert (done.returncode != 0) == fails, f"{' '.join(command)}\n{done.stdout}{done.stderr}"
    return output
