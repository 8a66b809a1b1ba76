"""Standby of a replica: its controllers are made before it leads, so that their caches are full when it does.

    wait ──▶ controllers are made, and follow what they will read ──▶ leads ──▶ caught up ──▶ started
      ▲                                                                                         │
      └──────────────────────────────── the lease is lost: all ends ◀──────────────────────────┘

Nothing is started before, and nothing is written: the fence refuses it. Who begins reads what its predecessor wrote
last before it decides anything (`Informers.catch_up`). A process that stood still, or whose wall clock has stepped,
forgets what it had read, since the control plane may be another by now, restored from a backup; it lists all again.

Karmada: controller-runtime fills the caches of a replica that stands by, too; it starts without having caught up.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime

from controller_runtime import Trouble
from kubeapi.loop import Clock, Supervisor
from kubeclient import WorldError
from leeward.core.cluster_health.watched_time import was_away
from leeward.manager.control_plane import ControllerManager

log = logging.getLogger(__name__)

LOOK_SECONDS, LONGEST_STALL_SECONDS = 1.0, 10.0
Make = Callable[[Supervisor, AsyncExitStack], ControllerManager]
"""Makes the controllers on a plane of that supervisor, and does not start them. What is to be closed after them, and
before the supervisor, is for the stack."""


@dataclass(frozen=True, slots=True)
class _Made:
    manager: ControllerManager
    ends: AsyncExitStack


class Standby:
    """`run` keeps controllers ready while `work` is not under way. `name` is that of their supervisor."""

    def __init__(self, name: str, make: Make, clock: Clock) -> None:
        self._name = name
        self._make = make
        self._clock = clock
        self._ready: _Made | None = None
        self._works = False
        self._looked: tuple[datetime, float] | None = None
        self._trouble = Trouble(log, f"{name}: caught up with the control plane")

    async def run(self) -> None:
        """Runs until cancelled."""
        try:
            while True:
                await self._look()
                await asyncio.sleep(LOOK_SECONDS)
        finally:
            await self._discard()

    async def work(self) -> None:
        """Works until cancelled, with the prepared controllers. To be called when the lease is held."""
        self._works = True
        try:
            await self._look()
            ready, self._ready = self._ready, None
            made = ready or self._made()
            try:
                if ready is not None:
                    await self._catch_up(made.manager)
                made.manager.start()
                await asyncio.Event().wait()
            finally:
                await made.ends.aclose()
        finally:
            self._works = False

    @asynccontextmanager
    async def resting(self) -> AsyncGenerator[None]:
        """Keeps nothing ready within the body: other controllers of this process have caches of their own there."""
        self._works = True
        try:
            await self._discard()
            yield
        finally:
            self._works = False

    async def _look(self) -> None:
        """Makes controllers ready, where somebody may need them, and those away that are doubtful."""
        before, self._looked = self._looked, (self._clock.now(), self._clock.monotonic())
        if self._ready is not None and before is not None and was_away(before, self._looked, LONGEST_STALL_SECONDS):
            log.warning("%s stood still: what it had read is read again", self._name)
            await self._discard()
        if self._ready is None and not self._works:
            self._ready = self._made()
            self._ready.manager.stand_by()

    def _made(self) -> _Made:
        supervisor, ends = Supervisor(self._name), AsyncExitStack()
        ends.push_async_callback(supervisor.close)
        manager = self._make(supervisor, ends)
        ends.push_async_callback(manager.close)
        return _Made(manager, ends)

    async def _catch_up(self, manager: ControllerManager) -> None:
        """Returns when the control plane has said how far it is, and the caches are as far, or are listed again."""
        while True:
            try:
                await manager.catch_up()
            except WorldError as error:
                self._trouble.tell(error)
                await asyncio.sleep(LOOK_SECONDS)
            else:
                self._trouble.is_over()
                return

    async def _discard(self) -> None:
        made, self._ready = self._ready, None
        if made is not None:
            await made.ends.aclose()
