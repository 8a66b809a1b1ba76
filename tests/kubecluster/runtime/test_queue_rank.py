"""The most urgent key comes out first."""

from controller_runtime.queue import WorkQueue
from kubeapi.loop.clock import VirtualClock
from kubeapi.loop.randomness import Randomness
from kubeapi.loop.virtual import run_virtual

RANKS = {"low": -1, "high": -9, "also low": -1}


def test_keys_come_out_by_rank_and_then_in_turn() -> None:
    async def story() -> None:
        queue = WorkQueue[str](VirtualClock(), Randomness(0), RANKS.__getitem__)
        for key in RANKS:
            queue.add(key)
        assert [await queue.get() for _ in RANKS] == ["high", "low", "also low"]

    run_virtual(story())
