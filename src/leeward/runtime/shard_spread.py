"""Spread of shards over machines: a machine that holds none, or fewer than another, asks for one.

    all candidates of a shard on one machine  ──▶  one of them holds the shard's Lease, the others stand by
    who stands by on a machine with fewer     ──▶  writes into that Lease that it asks for it
    who holds it on the machine with more     ──▶  ends its work, gives the Lease back, and is no candidate for a while

So `serve --shards N` on several machines comes to equal parts of the shards, one shard after the other. It says nothing
about who may act: that is decided by the Leases as before (`shard_leases.py`). Whoever asks and is gone when the Lease
is free has cost a pause of one lease; each time it is asked for, a shard moves once at most.

Nobody asks while a shard has no holder, or one that has not renewed since the look before: first comes who takes over.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Sequence
from datetime import datetime

from controller_runtime import LeaderElector, Trouble
from kubeapi.core import LEASES, Lease
from kubeclient import Client, WorldError
from leeward.api.names import SHARD_ASKED_FOR_ANNOTATION, host_of_leader
from leeward.runtime.sharding import Sharding

log = logging.getLogger(__name__)

LOOK_SECONDS = 60.0
"""Seconds between two looks, longer than a Lease lasts: a holder that lives has renewed it in between."""


def shard_to_ask_for(hosts: Sequence[str], own: str) -> int | None:
    """Shard that the machine `own` may ask for: the last one of the machine that has most, where that is two more than
    its own number. `hosts` are the machines that hold the shards, in their order."""
    counts = Counter(hosts)
    most = max(sorted(counts), key=counts.__getitem__)
    if counts[most] < counts[own] + 2:
        return None
    return max(index for index, host in enumerate(hosts) if host == most)


class ShardSpread:
    """One candidate for the shard `index`, elected by `slot` under its `identity`."""

    def __init__(
        self, client: Client, sharding: Sharding, index: int, identity: str, slot: LeaderElector, namespace: str
    ) -> None:
        self._client = client
        self._sharding = sharding
        self._index = index
        self._identity = identity
        self._slot = slot
        self._namespace = namespace
        self._renewed: list[datetime | None] = []
        self._trouble = Trouble(log, f"spread of {sharding.lease_of(index)}")

    async def run(self) -> None:
        """Looks until cancelled."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            try:
                await self._look()
            except WorldError as error:
                self._trouble.tell(error)
            else:
                self._trouble.is_over()

    async def _look(self) -> None:
        """Raises: WorldError; Conflict where the Lease was renewed meanwhile."""
        leases = [await self._client.get(LEASES, name, self._namespace) for name in self._sharding.leases]
        before, self._renewed = self._renewed, [lease.spec.renew_time for lease in leases]
        if not all(lease.spec.holder_identity for lease in leases):
            return
        if not before or any(then == now for then, now in zip(before, self._renewed, strict=True)):
            return
        hosts, own = [host_of_leader(lease.spec.holder_identity) for lease in leases], leases[self._index]
        asking = own.metadata.annotations.get(SHARD_ASKED_FOR_ANNOTATION, "")
        if own.spec.holder_identity == self._identity:
            if asking and shard_to_ask_for(hosts, host_of_leader(asking)) == self._index:
                self._slot.give_back()
        elif asking != self._identity and shard_to_ask_for(hosts, host_of_leader(self._identity)) == self._index:
            await self._ask(own)

    async def _ask(self, lease: Lease) -> None:
        log.info("%s asks for %s", self._identity, lease.name)
        patch = {"metadata": {"annotations": {SHARD_ASKED_FOR_ANNOTATION: self._identity}}}
        version = lease.metadata.resource_version
        await self._client.patch(LEASES, lease.name, patch, self._namespace, resource_version=version)
