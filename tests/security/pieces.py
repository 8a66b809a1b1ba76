"""Pieces of work on a virtual loop: each goes from a moment at which others may run to the next such moment.

A piece is measured in steps, so that it is as long on every machine and however busy that is. A step is a thousandth of
`walk`, which is measured beside. CPU time of this thread is what is counted: others of the machine add nothing to it.
Collecting garbage counts for nobody, and neither does work that a real loop has done in a thread.
"""

import asyncio
import gc
import signal
import time
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final, Literal
from unittest import mock

from kubeapi import codec
from kubeapi.loop import offloading, virtual
from kubeapi.loop.turns import Turns

MOST_STEPS: Final = 20_000
"""A quarter of a second of a machine that goes through `walk` in 12.5 ms."""
_SAMPLED_EVERY: Final = 0.02
_FRAMES: Final = 12


def walk() -> None:
    """Goes over twenty thousand small objects as a server does: writes, reads, and looks at each."""
    made = [{"name": f"x{number}", "value": str(number)} for number in range(20_000)]
    read: list[dict[str, str]] = codec.decode_any(codec.encode(made))
    for _ in range(3):
        assert sum(len(each["name"]) + len(each["value"]) for each in read) > 0


def steps_of(work: Callable[[], object]) -> float:
    """Steps that a work of this thread takes."""
    gc.collect()
    seconds = min(_seconds_of(walk) for _ in range(3))
    return _seconds_of(work) / seconds * 1000


def _seconds_of(work: Callable[[], object]) -> float:
    since = time.thread_time()
    work()
    return time.thread_time() - since


class Pieces:
    """Longest piece since `begin`, and where it was."""

    def __init__(self) -> None:
        self._unit = self._quiet = min(_seconds_of(walk) for _ in range(3)) / 1000
        self._longest = 0.0
        self._where: Counter[str] = Counter()
        self._since = time.thread_time()
        self._collecting = self._collected = 0.0
        self._samples: list[str] = []

    def begin(self) -> None:
        """Begins anew. The machine is as fast as it is now: others of it slow this thread down, too."""
        self._longest, self._where = 0.0, Counter()
        self._unit = max(self._quiet, min(_seconds_of(walk) for _ in range(2)) / 1000)
        self.pass_over()

    @property
    def longest(self) -> int:
        """Steps of the longest piece."""
        return round(self._longest / self._unit)

    @property
    def where(self) -> str:
        """Place at which it was seen most often: the innermost function first."""
        return next((place for place, _ in self._where.most_common(1)), "")

    def pass_over(self) -> None:
        """Begins a piece; all before it counts for nobody."""
        self._samples, self._collected = [], 0.0
        self._since = time.thread_time()

    def end(self) -> None:
        """Ends a piece and begins the next."""
        took = time.thread_time() - self._since - self._collected
        if took > self._longest:
            self._longest, self._where = took, Counter(self._samples)
        self.pass_over()

    def collect(self, phase: Literal["start", "stop"], _: dict[str, int]) -> None:
        if phase == "start":
            self._collecting = time.thread_time()
        else:
            self._collected += time.thread_time() - self._collecting

    def sample(self, _: int, frame: FrameType | None) -> None:
        names = list[str]()
        while frame is not None and len(names) < _FRAMES:
            file = frame.f_code.co_filename.rpartition("/src/")[2]
            names.append(f"{file}:{frame.f_lineno} {frame.f_code.co_name}")
            frame = frame.f_back
        self._samples.append("\n    ".join(names))


@contextmanager
def recorded() -> Generator[Pieces]:
    """Context in which pieces of virtual loops are measured."""
    pieces, take = Pieces(), Turns.take

    class Measured(virtual._Call):  # pyright: ignore[reportPrivateUsage]
        def __call__(self) -> object:
            pieces.pass_over()
            try:
                return super().__call__()
            finally:
                pieces.end()

    async def taken(turns: Turns, *, late: bool = False) -> None:
        pieces.end()
        await take(turns, late=late)

    async def beside(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        pieces.end()
        try:
            return function(*args, **kwargs)
        finally:
            pieces.pass_over()

    gc.callbacks.append(pieces.collect)
    before = signal.signal(signal.SIGVTALRM, pieces.sample)
    signal.setitimer(signal.ITIMER_VIRTUAL, _SAMPLED_EVERY, _SAMPLED_EVERY)
    try:
        with (
            mock.patch.object(virtual, "_Call", Measured),
            mock.patch.object(Turns, "take", taken),
            mock.patch.object(offloading, "VirtualLoop", type("NoLoop", (), {})),
            mock.patch.object(asyncio, "to_thread", beside),
        ):
            yield pieces
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
        gc.callbacks.remove(pieces.collect)
