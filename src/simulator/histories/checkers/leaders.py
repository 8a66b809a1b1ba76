"""S8: a replica begins no write after its lease has ended, and a shard none either when its leader's has.

Leases are read from the journal, not asked of the replicas: one lasts at most from when its renewal was durable, which
is later than a replica itself may count from. A shard's strength ends with the last renewal by a leader that said how
many shards there are, at once when somebody else holds the lease, and when it is given back.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from kubeapi.codec import decode
from kubeapi.core import Lease
from kubeclient import Request
from kubecluster.journal import Journal, Write
from leeward.api.names import SYSTEM_NAMESPACE
from leeward.runtime.sharding import Sharding
from simulator.candidate import LEASE
from simulator.histories.checkers.scene import Scene, Violation
from simulator.histories.ground_truth import HOME

SHARDINGS = tuple(map(Sharding, range(2, 5)))
SHARD_LEASE = re.compile(r"leeward-shard-\d+-of-(\d+)")
LEASES = f"/coordination.k8s.io/leases/{SYSTEM_NAMESPACE}/"


@dataclass(frozen=True, slots=True)
class _Held:
    holder: str = ""
    until: float = 0.0


class LeadersChecker:
    """Knows who holds each lease, and until when at most."""

    def __init__(self, scene: Scene, journal: Journal) -> None:
        self._scene = scene
        self._held: dict[str, _Held] = {}
        self._told: dict[Sharding, _Held] = {}
        """Holder that told of a sharding last, and until when that lasts."""
        self._shards: dict[str, tuple[str, Sharding]] = {}
        """Lease of a shard by who has held it: its name, and the sharding."""
        journal.on_write(self._note)
        journal.on_replaced(self._forget)

    def begins(self, replica: str, request: Request) -> Iterator[Violation]:
        """A replica is about to send a write."""
        now = self._scene.truth.now()
        lease, sharding = self._shards.get(replica, (LEASE, None))
        held, what = self._held.get(lease, _Held()), f"{replica} begins {request.method} {request.path}"
        if held.holder != replica or now >= held.until:
            yield Violation("S8", now, f"{what}; the lease is that of {held.holder or 'nobody'} until {held.until:.1f}")
        told = self._told.get(sharding, _Held()) if sharding is not None else None
        if told is not None and now >= told.until:
            yield Violation(
                "S8", now, f"{what}; {told.holder or 'nobody'} left shards their work until {told.until:.1f}"
            )

    def _forget(self, place: str) -> None:
        if place == HOME:
            self._held.clear()
            self._told.clear()

    def _note(self, write: Write) -> None:
        """A lease that is restored is nobody's until somebody renews it."""
        if write.restored or write.place != HOME or not write.record.key.startswith(LEASES):
            return
        name = write.record.key.removeprefix(LEASES)
        shard = SHARD_LEASE.fullmatch(name)
        if shard is None and name != LEASE:
            return
        lease = decode(write.record.value, Lease)
        spec = lease.spec
        held = self._held[name] = _Held(spec.holder_identity, write.seconds + (spec.lease_duration_seconds or 0))
        if shard is not None:
            self._shards[held.holder] = name, Sharding(int(shard[1]))
            return
        self._told = {sharding: told for sharding, told in self._told.items() if told.holder == held.holder}
        for sharding in SHARDINGS:
            if sharding.is_told_on(lease):
                self._told[sharding] = held
