"""The parts of a process that it leads, worked on as one.

Each part has a lease of its own, since another process may lead it. Those that are led here share what they read and
what they have to say of an object. When one is gained or lost, the work ends, and is begun anew with those that are
led then. It never asks for a lease: `controller_runtime/leader.py` does.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from typing import Generic, TypeVar

from controller_runtime.leader import FencedTransport, Leadership
from kubeapi.loop import Supervisor
from kubeclient import Transport

P = TypeVar("P", bound=str)

SETTLING_SECONDS = 0.5
"""Leases that are gained together begin one work, not one after the other."""
Led = Mapping[P, Leadership | None]
"""The parts that are led, each with what proves it; None where no lease is asked for."""


class LedComponents(Generic[P]):
    """`work` runs until it is cancelled, on at least one part."""

    def __init__(self, names: Iterable[P], work: Callable[[Led[P]], Awaitable[None]]) -> None:
        self._names = frozenset(names)
        self._work = work
        self._led: dict[P, Leadership | None] = {}
        self._changed = asyncio.Event()

    async def lead(self, part: P, leadership: Leadership | None) -> None:
        """Has the part worked on until this is cancelled."""
        self._led[part] = leadership
        self._changed.set()
        try:
            await asyncio.Event().wait()
        finally:
            del self._led[part]
            self._changed.set()

    async def run(self) -> None:
        """Works on what is led, until cancelled. Raises: what the work raises."""
        while True:
            await self._settle()
            self._changed.clear()
            led = dict(self._led)
            async with Supervisor("parts") as supervisor:
                changing = supervisor.start(_as_coroutine(self._changed.wait()), "a part gained or lost")
                working = supervisor.start(self._work_on(led), "work")
                await asyncio.wait((changing, working), return_when=asyncio.FIRST_COMPLETED)
                if working.done():
                    working.result()

    async def _work_on(self, led: Led[P]) -> None:
        if led:
            await self._work(led)
        else:
            await asyncio.Event().wait()

    async def _settle(self) -> None:
        """Waits a moment for the other parts, where some are led."""
        with suppress(TimeoutError):
            async with asyncio.timeout(SETTLING_SECONDS):
                while self._led and self._led.keys() != self._names:
                    self._changed.clear()
                    await self._changed.wait()


def fenced(transport: Transport, led: Led[P]) -> Transport:
    """Begins no write unless every lease holds (Holds: S8)."""
    for leadership in led.values():
        if leadership is not None:
            transport = FencedTransport(transport, leadership)
    return transport


async def _as_coroutine(awaitable: Awaitable[object]) -> None:
    await awaitable
