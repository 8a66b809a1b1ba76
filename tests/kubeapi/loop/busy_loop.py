"""BusyLoop: a virtual loop on which computing takes time, so that work can be late, and last longer than a turn."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from kubeapi.loop.virtual import VirtualLoop


class BusyLoop(VirtualLoop):
    """Loop whose clock moves while somebody computes."""

    steps = 0
    """Number of callbacks that were put into its queue."""

    def compute(self, seconds: float) -> None:
        self._now += seconds

    def call_soon(self, *arguments: Any, **named: Any) -> asyncio.Handle:
        self.steps += 1
        return super().call_soon(*arguments, **named)


def run_busy(story: Coroutine[Any, Any, None]) -> None:
    with asyncio.Runner(loop_factory=BusyLoop) as runner:
        runner.run(story)


def busy() -> BusyLoop:
    """The running loop."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, BusyLoop)
    return loop
