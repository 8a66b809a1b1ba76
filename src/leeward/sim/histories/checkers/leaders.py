"""S8: a replica begins no write after its lease has ended.

The lease is read from the journal, not asked of the replica: it lasts at most from when its renewal was durable, which
is later than the replica itself may count from.
"""

from collections.abc import Iterator

from kubeapi.codec import decode
from leeward.api.core import Lease
from leeward.api.names import SYSTEM_NAMESPACE
from leeward.client import Request
from leeward.sim.candidate import LEASE
from leeward.sim.histories.checkers.scene import Scene, Violation
from leeward.sim.histories.truth import HOME
from leeward.sim.journal import Journal, Write

KEY = f"/coordination.k8s.io/leases/{SYSTEM_NAMESPACE}/{LEASE}"


class LeadersChecker:
    """Knows who holds the lease, and until when at most."""

    def __init__(self, scene: Scene, journal: Journal) -> None:
        self._scene = scene
        self._holder = ""
        self._until = 0.0
        journal.on_write(self._note)
        journal.on_replaced(self._forget)

    def begins(self, replica: str, request: Request) -> Iterator[Violation]:
        """A replica is about to send a write."""
        now = self._scene.truth.now()
        if self._holder != replica or now >= self._until:
            what = f"{replica} begins {request.method} {request.path}"
            yield Violation(
                "S8", now, f"{what}; the lease is that of {self._holder or 'nobody'} until {self._until:.1f}"
            )

    def _forget(self, place: str) -> None:
        if place == HOME:
            self._holder, self._until = "", 0.0

    def _note(self, write: Write) -> None:
        """A lease that is restored is nobody's until somebody renews it."""
        if write.restored or write.place != HOME or write.record.key != KEY:
            return
        spec = decode(write.record.value, Lease).spec
        self._holder = spec.holder_identity
        self._until = write.seconds + (spec.lease_duration_seconds or 0)
