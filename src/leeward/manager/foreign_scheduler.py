"""Evictions beside a scheduler that is not Leeward's.

Ours evicts and places in one decision; Karmada's only places, and its controller manager evicts. A controller manager
of ours that runs beside Karmada's scheduler therefore has to evict itself, or a dead cluster would keep everything, and
nobody would say so. Which scheduler is at work tells the Lease that both take turns in. While nobody renews it, or it
cannot be read, all stays as it is: that a scheduler cannot be seen is no reason to evict, nor to stop.

Karmada: cmd/controller-manager/app (taint-manager, gracefulEviction and applicationFailover are controllers of it).
"""

import asyncio
import logging
from collections.abc import Callable, Sequence

from controller_runtime import Trouble
from kubeapi.core import LEASES, Lease
from kubeapi.loop import Supervisor
from kubeclient import NotFound, WorldError
from leeward.api.names import SCHEDULER_LEASE, SYSTEM_NAMESPACE, is_our_leader
from leeward.runtime.controller_context import ControlPlane

log = logging.getLogger(__name__)

LOOK_SECONDS = 5.0
"""Longer than a leader waits between two renewals: a Lease that does not change meanwhile says nothing."""
UNLED_SECONDS = 60.0
"""Seconds without a leader after which that is a warning: nobody places, and nobody evicts."""
COMPONENT = "taint-manager"

Begin = Callable[[Supervisor], None]
"""Starts the controllers that evict; they end with the supervisor."""


class ForeignSchedulerEvictions:
    """Runs the halves of the decision that `names` lists as long as another scheduler than ours is at work."""

    def __init__(self, plane: ControlPlane, names: Sequence[str], begin: Begin) -> None:
        self._plane = plane
        self._names = ", ".join(names)
        self._begin = begin
        self._running: Supervisor | None = None
        self._recorder = plane.recorder(COMPONENT)
        self._trouble = Trouble(log, f"lease {SCHEDULER_LEASE}")

    def start(self) -> None:
        self._plane.supervisor.start(self._watch(), "foreign scheduler")

    async def close(self) -> None:
        running, self._running = self._running, None
        if running is not None:
            await running.close()

    async def _watch(self) -> None:
        """Watches until cancelled."""
        before: Lease | None = None
        unled_since: float | None = self._plane.clock.monotonic()
        while True:
            lease = await self._look()
            if lease is not None and before is not None and _is_renewed(before, lease):
                unled_since = None
                await self._led_by(lease)
            elif unled_since is None:
                unled_since = self._plane.clock.monotonic()
            elif self._plane.clock.monotonic() - unled_since >= UNLED_SECONDS and self._running is None:
                self._trouble.tell(f"no scheduler renews it: nobody places, and nobody evicts ({self._names})")
            before = lease or before
            await asyncio.sleep(LOOK_SECONDS)

    async def _look(self) -> Lease | None:
        """None while there is none, or it cannot be read."""
        try:
            return await self._plane.client.get(LEASES, SCHEDULER_LEASE, SYSTEM_NAMESPACE)
        except NotFound:
            return None
        except WorldError as error:
            self._trouble.tell(error)
            return None

    async def _led_by(self, lease: Lease) -> None:
        self._trouble.is_over()
        holder = lease.spec.holder_identity
        if is_our_leader(holder):
            if self._running is not None:
                log.info("%s leads %s: the evictions are its own again", holder, SCHEDULER_LEASE)
                await self.close()
        elif self._running is None:
            said = (
                f"{holder} leads {SCHEDULER_LEASE}: it is no scheduler of Leeward's, and only places. So {self._names} "
                "run in the controller manager; --controllers=-taint-manager,... leaves them out"
            )
            log.warning("%s", said)
            self._recorder.warning(LEASES, lease, "ForeignScheduler", said)
            self._running = Supervisor("evictions beside a foreign scheduler")
            self._begin(self._running)


def _is_renewed(before: Lease, now: Lease) -> bool:
    """Tells whether it has a holder that has renewed it between two looks; the time in it is not believed."""
    return bool(now.spec.holder_identity) and now.spec.renew_time != before.spec.renew_time
