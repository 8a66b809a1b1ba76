"""Jails: where scripts are called from. One in this process, for virtual time, and one of processes, for real life.

A script that does not end is ended with its process, from outside: `pcall` catches nothing of that. It then answers
with an error, the calls that waited behind it are made again in a new process, and from now on it shares a process with
none but its like, so that it costs its own object an answer and no other object time. Holds: L4.
"""

import asyncio
import contextlib
import os
import sys
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from hashlib import sha256
from typing import Any, Protocol

from kubeapi import codec
from kubeapi.loop import Supervisor
from leeward.core.interpreter import InterpretationError
from leeward.core.interpreter.thirdparty.pod_templates import without_nulls
from leeward.lua.sandbox import Sandbox

INSTRUCTIONS = 20_000_000
"""Most instructions of one call on virtual time: about as many as a second allows."""
DEADLINE_SECONDS = 10.0
"""Deadline of the call that a process works on, whatever else the machine does; its own limit is a second of CPU."""
MOST_WAITING = 2_000
"""Calls that wait for one process; more are refused."""
MOST_SUSPECTS = 1_000
LARGEST_FRAME, CHUNK = 64 * 1024 * 1024, 1024 * 1024
STOPPED = "the script was stopped: it took more than a second of CPU, or more memory than it may have"


class Jail(Protocol):
    async def call(self, script: str, function: str, arguments: Sequence[Any], now: int) -> list[Any]:
        """The results of the script's function. Raises: InterpretationError with the reason why there are none."""
        ...


class LocalJail:
    """Runs scripts in this process, at once: calls are answered in their order.

    For simulation and tests, whose scripts are their own. The limits are the same, but counted in instructions.
    """

    @cached_property
    def _sandbox(self) -> Sandbox:
        return Sandbox(INSTRUCTIONS)

    async def call(self, script: str, function: str, arguments: Sequence[Any], now: int) -> list[Any]:
        return results_of(self._sandbox.call(script, function, [without_nulls(each) for each in arguments], now))


def results_of(answer: bytes) -> list[Any]:
    """Raises: InterpretationError when a script has written texts that are none."""
    try:
        return codec.decode(answer, list[Any])
    except codec.DecodeError as error:
        raise InterpretationError(f"the result cannot be read: {error}") from error


@dataclass(slots=True)
class _Call:
    script: str
    frame: bytes
    answer: "asyncio.Future[list[Any]]"
    trusted: bool


class ProcessJail:
    """Runs scripts in processes of their own: one for those that behave, one for those that had to be stopped."""

    def __init__(self, supervisor: Supervisor) -> None:
        self._suspects: OrderedDict[bytes, None] = OrderedDict()
        self._cells = {trusted: _Cell(supervisor, self._suspect) for trusted in (True, False)}
        supervisor.on_close(self.close)

    async def call(self, script: str, function: str, arguments: Sequence[Any], now: int) -> list[Any]:
        cell = self._cells[_digest(script) not in self._suspects]
        frame = codec.encode([script, function, list(arguments), now]) + b"\n"
        return await cell.call(script, frame)

    def close(self) -> None:
        for cell in self._cells.values():
            cell.close()

    def _suspect(self, script: str) -> None:
        self._suspects[_digest(script)] = None
        if len(self._suspects) > MOST_SUSPECTS:
            self._suspects.popitem(last=False)


@dataclass(slots=True, eq=False)
class _Cell:
    """One process, and the calls that it has been given, in their order."""

    supervisor: Supervisor
    on_stopped: Callable[[str], None]
    waiting: "deque[_Call]" = field(default_factory=lambda: deque[_Call]())
    unsent: list[bytes] = field(default_factory=list[bytes])
    """Frames of this turn of the loop."""
    process: asyncio.subprocess.Process | None = None
    running: bool = False

    async def call(self, script: str, frame: bytes) -> list[Any]:
        """Raises: InterpretationError."""
        if len(self.waiting) >= MOST_WAITING:
            raise InterpretationError(f"{MOST_WAITING} scripts wait already")
        loop = asyncio.get_running_loop()
        call = _Call(script, frame, loop.create_future(), True)
        self.waiting.append(call)
        self.unsent.append(frame)
        if len(self.unsent) == 1:
            loop.call_soon(self._send)
        if not self.running:
            self.running = True
            self.supervisor.start(self._run(), "lua")
        return await call.answer

    def _send(self) -> None:
        """Sends the calls of one turn of the loop in one write: each write wakes the process."""
        frames, self.unsent = self.unsent, []
        if self.process is not None and self.process.stdin is not None:
            self.process.stdin.write(b"".join(frames))

    async def _run(self) -> None:
        """Keeps a process as long as calls wait for one, and reads its answers."""
        while True:
            process = await self._start()
            try:
                assert process.stdin is not None
                process.stdin.write(b"".join(call.frame for call in self.waiting))
                self.unsent = []
                self.process = process
                await self._read(process)
            finally:
                self.process = None
                await _end(process)
            if self.waiting:
                stopped = self.waiting.popleft()
                self.on_stopped(stopped.script)
                _settle(stopped, InterpretationError(STOPPED))
            if not self.waiting:
                self.running = False
                return

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        """Reads until the process ends, takes too long for one call, or answers too much."""
        assert process.stdout is not None
        loop, begun = asyncio.get_running_loop(), bytearray()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(None) as limit:
                while len(begun) <= LARGEST_FRAME:
                    limit.reschedule(loop.time() + DEADLINE_SECONDS if self.waiting else None)
                    chunk = await process.stdout.read(CHUNK)
                    if not chunk:
                        return
                    first, *others = chunk.split(b"\n")
                    begun += first
                    for part in others:
                        _settle(self.waiting.popleft(), _answer_in(bytes(begun)))
                        begun = bytearray(part)

    async def _start(self) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "leeward.lua.worker",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            limit=LARGEST_FRAME,
            cwd="/",
            env={"PATH": os.defpath, "TZ": "UTC"},
        )

    def close(self) -> None:
        """Tells those that wait that no script is run any more; the process ends with the task that reads from it."""
        while self.waiting:
            _settle(self.waiting.popleft(), InterpretationError("scripts are not run any more"))


async def _end(process: asyncio.subprocess.Process) -> None:
    """Ends the process, and waits until nothing of it is left."""
    if process.returncode is None:
        process.kill()
    await process.communicate()


def _settle(call: _Call, answer: Any) -> None:
    if call.answer.done():
        return
    if isinstance(answer, InterpretationError):
        call.answer.set_exception(answer)
    else:
        call.answer.set_result(answer)


def _answer_in(line: bytes) -> Any:
    """Result that a call returns, or the error that it raises."""
    try:
        fine, answer = codec.decode(line, tuple[bool, Any])
    except codec.DecodeError as error:
        return InterpretationError(f"the result cannot be read: {error}")
    return answer if fine else InterpretationError(str(answer))


@lru_cache(maxsize=MOST_SUSPECTS)
def _digest(script: str) -> bytes:
    return sha256(script.encode()).digest()
