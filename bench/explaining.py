"""`leeward explain` and `status` from a cold start against live control planes, beside Python alone and kubectl."""

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from shutil import which

from bench.dashboard import BINDINGS, CLUSTERS, fill
from bench.foresight import fleet_state
from bench.servers import leeward

ROUNDS = 7
START_SECONDS = 60.0
APPLICATION = Path(__file__).parent.parent / "examples" / "divided.yaml"


def run() -> None:
    print(f"seconds of the processor, the least of {ROUNDS}; compiled to bytecode: {_keeps_bytecode()}")
    _of_a_fleet()
    asyncio.run(_at_size())


def _of_a_fleet() -> None:
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
                "leeward status": [*fleet, "status"],
            }
            _print(commands)
        finally:
            up.terminate()
            with suppress(subprocess.TimeoutExpired):
                up.wait(START_SECONDS)


async def _at_size() -> None:
    """Fleets as they are in an outage of a few clusters, of a server without controllers."""
    for bindings, clusters in ((29, 6), (BINDINGS, CLUSTERS)):
        with tempfile.TemporaryDirectory(prefix="leeward-bench-") as name:
            async with leeward(Path(name), "karmada") as target:
                await fill(target, fleet_state(bindings, clusters).recorded)
                config = ["--kubeconfig", str(target.kubeconfig(Path(name)))]
                kubectl = [which("kubectl") or "kubectl", *config, "get", "rb", "-A", "-o", "json"]
                print(f"{bindings} applications, {clusters} clusters")
                commands = {
                    "kubectl get rb -A -o json": kubectl,
                    "leeward status": [sys.executable, "-m", "leeward.cli", "status", *config],
                }
                await asyncio.to_thread(_print, commands)


def _print(commands: Mapping[str, Sequence[str]]) -> None:
    """Prints the least that each command takes; their rounds are in turns, so that all meet the same machine."""
    took = {name: list[float]() for name in commands}
    for _ in range(ROUNDS):
        for name, command in commands.items():
            took[name].append(_seconds(command))
    for name, seconds in took.items():
        print(f"  {name:<30}{min(seconds):>6.3f}")


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
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    after = os.times()
    spent = after.children_user - before.children_user, after.children_system - before.children_system
    return sum(spent)
