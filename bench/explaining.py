"""`leeward explain` from a cold start against a live control plane, beside Python alone and kubectl."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from shutil import which

ROUNDS = 7
START_SECONDS = 60.0
APPLICATION = Path(__file__).parent.parent / "examples" / "divided.yaml"


def run() -> None:
    with tempfile.TemporaryDirectory(prefix="leeward-bench-") as directory:
        fleet = [sys.executable, "-m", "leeward.cli", "--data-dir", directory]
        up = subprocess.Popen([*fleet, "up", "--member", "member1", "--timing", "fast"], stdout=subprocess.DEVNULL)
        try:
            kubectl = [which("kubectl") or "kubectl", "--kubeconfig", f"{directory}/kubeconfig"]
            _until([*kubectl, "apply", "-f", str(APPLICATION)])
            _until([*fleet, "explain", "deploy/nginx"])
            commands = {
                "python -c pass": [sys.executable, "-c", "pass"],
                "kubectl get rb": [*kubectl, "get", "rb"],
                "leeward --version": [*fleet, "--version"],
                "leeward explain deploy/nginx": [*fleet, "explain", "deploy/nginx"],
            }
            print(f"seconds of the processor, the least of {ROUNDS}; compiled to bytecode: {_keeps_bytecode()}")
            for name, command in commands.items():
                print(f"  {name:<30}{min(_seconds(command) for _ in range(ROUNDS)):>6.3f}")
        finally:
            up.terminate()
            with suppress(subprocess.TimeoutExpired):
                up.wait(START_SECONDS)


def _until(command: Sequence[str]) -> None:
    """Tries until it ends well."""
    end = time.monotonic() + START_SECONDS
    while subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode:
        if time.monotonic() > end:
            sys.exit(f"{' '.join(command)} does not end well")
        time.sleep(0.5)


def _keeps_bytecode() -> str:
    return "no (PYTHONDONTWRITEBYTECODE)" if sys.dont_write_bytecode else "yes"


def _seconds(command: Sequence[str]) -> float:
    """Seconds of the processor, the kernel's included, in the process and what it starts."""
    before = os.times()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
    after = os.times()
    spent = after.children_user - before.children_user, after.children_system - before.children_system
    return sum(spent)
