"""One process for each piece of work, so many at a time: whatever becomes of one, the others go on.

A process may fail with an exception, die, use up its CPU seconds, or hang: each is an answer, too, with the argument
that it was about. Nothing is left behind of a process but what it answers, no memory and no state.

Processes are forked; the caller must have no threads.
"""

import faulthandler
import multiprocessing
import signal
import time
import traceback
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from typing import Any, Generic, TypeVar

A = TypeVar("A")
R = TypeVar("R")

_FORK = multiprocessing.get_context("fork")


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one process. `elapsed_seconds` is for one that hangs, and counts also while the machine does other
    things."""

    cpu_seconds: float = 120.0
    elapsed_seconds: float = 1_200.0


@dataclass(frozen=True, slots=True)
class Failure:
    """Reason for which there is no result."""

    reason: str


@dataclass(frozen=True, slots=True)
class _Child(Generic[A]):
    argument: A
    process: ForkProcess
    ends_at: float


def each_in_its_process(
    work: Callable[[A], R], arguments: Iterable[A], processes: int, limits: Limits | None = None
) -> Generator[tuple[A, R | Failure], None, None]:
    """Each argument with what came of it, in the order in which they are done."""
    limits = limits or Limits()
    left = iter(arguments)
    running: dict[Connection, _Child[A]] = {}
    try:
        while True:
            for argument in _some(left, processes - len(running)):
                connection, child = _start(work, argument, limits)
                running[connection] = child
            if not running:
                return
            for connection in _wait_for_some(running):
                child = running.pop(connection)
                yield child.argument, _answer(connection, child, limits)
    finally:
        for connection, child in running.items():
            _end(connection, child)


def _some(left: Iterator[A], count: int) -> Iterator[A]:
    for _, argument in zip(range(count), left, strict=False):
        yield argument


def _start(work: Callable[[A], R], argument: A, limits: Limits) -> tuple[Connection, _Child[A]]:
    ours, theirs = _FORK.Pipe(duplex=False)
    process = _FORK.Process(target=_serve, args=(work, argument, theirs, limits), daemon=True)
    process.start()
    theirs.close()
    return ours, _Child(argument, process, time.monotonic() + limits.elapsed_seconds)


def _serve(work: Callable[[A], R], argument: A, answer: Connection, limits: Limits) -> None:
    """Serves in the child. When its CPU seconds are used up, it says where it is, and dies."""
    faulthandler.register(signal.SIGPROF, chain=True)
    signal.setitimer(signal.ITIMER_PROF, limits.cpu_seconds)
    try:
        result = work(argument)
    except BaseException as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        answer.send(Failure(f"{type(error).__name__}: {error} ({place.filename}:{place.lineno})"))
    else:
        answer.send(result)


def _wait_for_some(running: dict[Connection, _Child[A]]) -> list[Connection]:
    """Waits for processes, and returns those that have answered, have died, or are overdue."""
    now = time.monotonic()
    patience = max(0.0, min(child.ends_at for child in running.values()) - now)
    done = {connection for connection in wait(list(running), patience) if isinstance(connection, Connection)}
    now = time.monotonic()
    return [connection for connection, child in running.items() if connection in done or child.ends_at <= now]


def _answer(connection: Connection, child: _Child[A], limits: Limits) -> Any:
    try:
        if not connection.poll():
            return Failure(f"it hangs: no answer within {limits.elapsed_seconds:g} s")
        return connection.recv()
    except EOFError:
        child.process.join()
        return _cause_of_death(child.process.exitcode or 0, limits)
    finally:
        _end(connection, child)


def _cause_of_death(exit_code: int, limits: Limits) -> Failure:
    if exit_code == -signal.SIGPROF:
        return Failure(f"it does not end: {limits.cpu_seconds:g} CPU seconds are used up")
    if exit_code < 0:
        return Failure(f"its process was killed by {signal.Signals(-exit_code).name}")
    return Failure(f"its process ended with {exit_code} and said nothing")


def _end(connection: Connection, child: _Child[A]) -> None:
    connection.close()
    child.process.kill()
    child.process.join()
    child.process.close()
