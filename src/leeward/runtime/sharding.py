"""Sharding of a leader's work among shards, as the leader's own Lease says it.

The annotation `leeward.dev/shards` names the number of shards and the holder that says so, so that it means nothing
once somebody else holds the Lease: a leader that does all itself, or another program.
"""

from dataclasses import dataclass
from typing import ClassVar

from kubeapi.meta import Manifest
from leeward.api.core import Lease
from leeward.api.names import SHARDS_ANNOTATION
from leeward.api.resource import LEASES
from leeward.client import Client, NotFound


@dataclass(frozen=True, slots=True)
class Sharding:
    """`shards` of them do what the leader leaves to them."""

    WITHDRAWN: ClassVar[Manifest] = {SHARDS_ANNOTATION: None}
    shards: int

    def told_by(self, holder: str) -> dict[str, str]:
        return {SHARDS_ANNOTATION: f"{self.shards}/{holder}"}

    def is_told_on(self, lease: Lease) -> bool:
        """Tells whether the holder of a leader's Lease leaves work to just so many shards."""
        holder = lease.spec.holder_identity
        told = lease.metadata.annotations.get(SHARDS_ANNOTATION)
        return bool(holder) and told == self.told_by(holder)[SHARDS_ANNOTATION]

    def lease_of(self, index: int) -> str:
        """The name of a shard's Lease; `index` counts from 0."""
        return f"leeward-shard-{index}-of-{self.shards}"

    async def is_at_rest(self, client: Client, namespace: str) -> bool:
        """Tells whether nobody holds the Lease of a shard, be it one that has run out. Raises: WorldError."""
        for index in range(self.shards):
            try:
                lease = await client.get(LEASES, self.lease_of(index), namespace)
            except NotFound:
                continue
            if lease.spec.holder_identity:
                return False
        return True
