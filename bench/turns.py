"""Turns of the event loop: what each costs beside the work that is done in it, while many workers wait for theirs.

Seconds are of the processor.
"""

import asyncio
import time

import uvloop

from kubeapi.loop.turns import Turns

WORKERS = (16, 160, 1_600)
"""The last is what the members of a hundred clusters have together."""
PIECES, PIECE_SECONDS = 16_000, 0.0002


def run() -> None:
    for workers in WORKERS:
        spent = uvloop.run(_spent(workers))
        beside = (spent - PIECES * PIECE_SECONDS) / PIECES * 1e6
        print(
            f"{workers:>6} workers: {beside:6.1f} µs of the processor beside each {PIECE_SECONDS * 1e6:.0f} µs of work"
        )


async def _spent(workers: int) -> float:
    """Seconds of the processor until all pieces of work are done."""
    turns = Turns()

    async def work() -> None:
        for _ in range(PIECES // workers):
            await turns.take()
            ends = time.process_time() + PIECE_SECONDS
            while time.process_time() < ends:
                continue

    started = time.process_time()
    await asyncio.gather(*(work() for _ in range(workers)))
    return time.process_time() - started
