"""A fleet as the real kubectl shows it, through one kubeconfig with a context for the control plane and each member."""

import json
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

COMMAND_SECONDS = 60.0
POLL_SECONDS = 0.2
CONTROL_PLANE = "karmada-apiserver"

needs_kubectl = pytest.mark.skipif(
    shutil.which("kubectl") is None, reason="kubectl is not on PATH: the walkthrough on real processes is not tested"
)


class Kubectl:
    patience_seconds = 40.0

    def __init__(self, kubeconfig: Path) -> None:
        self.kubeconfig = kubeconfig

    def kubectl(self, *arguments: str, context: str = CONTROL_PLANE, stdin: str = "", fails: bool = False) -> str:
        command = ["kubectl", "--kubeconfig", str(self.kubeconfig), "--context", context, *arguments]
        return run_command(command, fails, stdin)

    def get(self, *arguments: str, context: str = CONTROL_PLANE) -> dict[str, Any]:
        return json.loads(self.kubectl("get", *arguments, "-o", "json", context=context))

    def exists(self, *arguments: str, context: str = CONTROL_PLANE) -> bool:
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

    def eventually(self, holds: Callable[[], bool], what: str, times: int = 1) -> None:
        """Looks again and again. Real processes take real time; the bound only ends a test that would hang.

        `times` as patient as otherwise: for what is large.
        """
        seconds = self.patience_seconds * times
        deadline = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < deadline, f"not within {seconds:g} s: {what}\n{self.overview()}"
            time.sleep(POLL_SECONDS)

    def overview(self) -> str:
        """What a reader of a failed test wants to see first."""
        return self.kubectl("get", "clusters,resourcebindings,works", "-A", "-o", "wide")


def run_command(command: list[str], fails: bool = False, stdin: str = "") -> str:
    """What a command prints. Fails the test unless it ends as expected."""
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=COMMAND_SECONDS, check=False)
    output = done.stdout + done.stderr if fails else done.stdout
    assert (done.returncode != 0) == fails, f"{' '.join(command)}\n{done.stdout}{done.stderr}"
    return output
