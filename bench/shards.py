"""Shards: what each process of `serve --shards N` spends on a Deployment that is propagated to two clusters.

The fleet is that of `bench.binding`, made anew for each number of shards. What bounds the throughput is the process
that spends most on a binding: the ratio is that of one process that does all to it, so that it holds also where the
machine has fewer cores than there are processes.

BENCH_BINDINGS says how many Deployments there are, BENCH_SHARDS the numbers of shards, with commas between.
"""

import asyncio
import os
import tempfile
import time
from pathlib import Path

from bench.binding import Fleet, propagate, serving_fleet
from bench.servers import spent_by

IDLE_SECONDS = 15.0


def run() -> None:
    bindings = int(os.environ.get("BENCH_BINDINGS", "200"))
    numbers = [int(text) for text in os.environ.get("BENCH_SHARDS", "1,2").split(",")]
    alone = 0.0
    for shards in numbers:
        with tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_DIRECTORY")) as directory:
            spent = asyncio.run(_spent(Path(directory), shards, bindings))
        most = max(spent)
        alone = alone or most
        each = ", ".join(f"{seconds * 1e3:.1f}" for seconds in spent)
        print(
            f"{shards} shards: {each} ms of a core for a binding; {alone / most:.2f} times the throughput", flush=True
        )


async def _spent(directory: Path, shards: int, bindings: int) -> list[float]:
    """Seconds for each binding by process, the leader first; what they spend when idle is no part of it."""
    async with serving_fleet(directory, f"--shards={shards}") as fleet:
        processes = _processes(fleet)
        assert len(processes) == (shards + 1 if shards > 1 else 1), "a shard has not been started, or has died"
        before, idle = await _read(processes, IDLE_SECONDS)
        started = time.monotonic()
        await propagate(fleet, 0, bindings)
        seconds = time.monotonic() - started
        assert _processes(fleet) == processes, "a shard was started again"
        return [
            (spent_by([process]) - already - rate * seconds) / bindings
            for process, already, rate in zip(processes, before, idle, strict=True)
        ]


async def _read(processes: list[int], seconds: float) -> tuple[list[float], list[float]]:
    """Seconds that each has spent, and the part of a core that it spends while nothing happens."""
    before = [spent_by([process]) for process in processes]
    await asyncio.sleep(seconds)
    after = [spent_by([process]) for process in processes]
    return after, [(now - then) / seconds for now, then in zip(after, before, strict=True)]


def _processes(fleet: Fleet) -> list[int]:
    """`serve`, and those of its shards; not the jails of their scripts."""
    serve = fleet.serve.processes[0].pid
    children = map(int, Path(f"/proc/{serve}/task/{serve}/children").read_text().split())
    return [serve, *(child for child in children if b"--shard=" in Path(f"/proc/{child}/cmdline").read_bytes())]
