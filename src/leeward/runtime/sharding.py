"""Sharding of a leader's work among shards, as the leader's own Lease says it.

The annotation `leeward.dev/shards` names the number of shards and the holder that says so, so that it means nothing
once somebody else holds the Lease: a leader that does all itself, or another program.
"""

from dataclasses import dataclass
from typing import ClassVar

from controller_runtime import ElectionSettings
from kubeapi.core import LEASES, Lease
from kubeapi.meta import Manifest
from kubeclient import Client
from leeward.api.names import SHARD_ASKED_FOR_ANNOTATION, SHARD_LEASE_PREFIX, SHARDS_ANNOTATION, SYSTEM_NAMESPACE


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderSettings(ElectionSettings):
    """Settings of an election among the replicas of a component, or of a shard."""

    namespace: str = SYSTEM_NAMESPACE
    asked_for_by: str = SHARD_ASKED_FOR_ANNOTATION


@dataclass(frozen=True, slots=True)
class Sharding:
    """`shards` of them do what the leader leaves to them."""

    WITHDRAWN: ClassVar[Manifest] = {SHARDS_ANNOTATION: None}
    shards: int

    def told_by(self, holder: str) -> dict[str, str]:
        return {SHARDS_ANNOTATION: f"{self.shards}/{holder}"}

    @staticmethod
    def told_on(lease: Lease) -> "Sharding | None":
        """Sharding that the holder of a leader's Lease leaves work to; None where it does all itself."""
        shards, _, holder = lease.metadata.annotations.get(SHARDS_ANNOTATION, "").partition("/")
        is_told = shards.isdecimal() and bool(holder) and holder == lease.spec.holder_identity
        return Sharding(int(shards)) if is_told else None

    def is_told_on(self, lease: Lease) -> bool:
        """Tells whether the holder of a leader's Lease leaves work to just so many shards."""
        return Sharding.told_on(lease) == self

    @property
    def leases(self) -> list[str]:
        """Names of the Leases of all shards."""
        return [self.lease_of(index) for index in range(self.shards)]

    def lease_of(self, index: int) -> str:
        """The name of a shard's Lease; `index` counts from 0."""
        return f"{SHARD_LEASE_PREFIX}{index}-of-{self.shards}"

    async def is_at_rest(self, client: Client, namespace: str) -> bool:
        """Tells whether nobody holds the Lease of a shard, be it one that has run out. Raises: WorldError."""
        for name in self.leases:
            lease = await client.find(LEASES, name, namespace)
            if lease is None:
                continue
            if lease.spec.holder_identity:
                return False
        return True
