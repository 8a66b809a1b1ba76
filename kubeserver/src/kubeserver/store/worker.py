"""A thread beside the event loop that does one piece of work after the other.

    loop ──queue──▶ thread ──one callback──▶ loop

Every durable write goes through here, and a lone writer waits for nothing else: so there is one switch to the thread
and one back, and none of the locks and conditions that an executor has for several threads.

Never does two pieces at once, and never outlives the process: a piece that is cut off there is a killed process's.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")


class _Piece(NamedTuple):
    work: Callable[[], Any]
    done: asyncio.Future[Any]
    loop: asyncio.AbstractEventLoop


class Worker:
    """One thread, which begins with the first piece of work."""

    def __init__(self, name: str) -> None:
        self._pieces: SimpleQueue[_Piece | None] = SimpleQueue()
        self._thread = Thread(target=_serve, args=(self._pieces,), name=name, daemon=True)

    def run(self, work: Callable[[], T]) -> asyncio.Future[T]:
        """Future of what `work` gives or raises, once the thread has come to it. Cancelling the future does not stop
        it."""
        if self._thread.ident is None:
            self._thread.start()
        loop = asyncio.get_running_loop()
        piece = _Piece(work, loop.create_future(), loop)
        self._pieces.put(piece)
        return piece.done

    def end(self) -> None:
        """Lets the thread end after the work that it has; there must be no more."""
        self._pieces.put(None)


def _serve(pieces: "SimpleQueue[_Piece | None]") -> None:
    while (piece := pieces.get()) is not None:
        _carry_out(piece)
        del piece


def _carry_out(piece: _Piece) -> None:
    """Leaves nothing behind that an error could hold on to: a statement that is not let go keeps its file locked."""
    result, error = None, None
    try:
        result = piece.work()
    except BaseException as raised:
        error = raised
    with suppress(RuntimeError):  # the loop is closed: nobody waits any more
        piece.loop.call_soon_threadsafe(_tell, piece.done, result, error)
    del piece, error


def _tell(done: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    if done.done():
        return
    if error is not None:
        done.set_exception(error)
    else:
        done.set_result(result)
