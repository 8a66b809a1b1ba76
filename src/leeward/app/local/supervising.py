"""Supervision of a local fleet: a process that died by itself is started again. One that a verb stopped stays so."""

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from leeward.app.local import processes
from leeward.app.local.errors import FleetError
from leeward.app.local.layout import Layout
from leeward.app.local.lock import FleetLocked, fleet_lock
from leeward.app.local.processes import State
from leeward.app.local.starting import WATCH_SECONDS, Tell, start_components

FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 1.0, 60.0
STEADY_SECONDS = 300.0
"""Seconds after which a process that dies does so for a new reason: the pauses are short again."""


@dataclass(slots=True)
class _Restarts:
    """Restarts of one component, in seconds of the monotonic clock; `due_at` is when it is started again, None while it
    runs."""

    started_at: float = float("-inf")
    pause: float = 0.0
    due_at: float | None = None

    def died(self, now: float) -> None:
        is_steady = now - self.started_at >= STEADY_SECONDS
        self.pause = FIRST_PAUSE_SECONDS if is_steady else min(self.pause * 2, LONGEST_PAUSE_SECONDS)
        self.due_at = now + self.pause

    def started(self, now: float) -> None:
        self.started_at, self.due_at = now, None


def supervise_fleet(
    layout: Layout, tell: Tell, pause: Callable[[float], None] = time.sleep, now: Callable[[], float] = time.monotonic
) -> None:
    """Returns when `leeward down` has stopped the fleet. A process that cannot be started is tried again."""
    restarts: dict[str, _Restarts] = {}
    while remembered := processes.remembered_components(layout):
        if any(processes.state_of(layout, name) is State.STOPPED for name in remembered):
            with suppress(FleetLocked):
                _start_what_died(layout, restarts, tell, now)
        pause(WATCH_SECONDS)


def _start_what_died(layout: Layout, restarts: dict[str, _Restarts], tell: Tell, now: Callable[[], float]) -> None:
    """Starts dead processes, under the lock: a verb that stops a process forgets it before it gives the lock back.
    Raises: FleetLocked."""
    with fleet_lock(layout):
        for name in processes.remembered_components(layout):
            if processes.state_of(layout, name) is not State.STOPPED:
                continue
            known = restarts.setdefault(name, _Restarts())
            if known.due_at is None:
                known.died(now())
                tell(f"{name} has died; {layout.log(name)} may say why")
            if known.due_at is None or now() < known.due_at:
                continue
            known.started(now())
            try:
                start_components(layout, [name])
                tell(f"{name} was started again")
            except (FleetError, OSError) as error:
                tell(str(error))
