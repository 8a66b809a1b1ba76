"""Division of the controllers' work among processes: the share of each, and which objects are whose.

    leader   what is decided for the whole fleet: clusters, brake, scheduling, dependencies, quotas
    shard    what is done for one binding, or in one cluster: detector, binding, namespaces, execution, work status

A binding, and a cluster, is one shard's by rendezvous hashing of its name over the number of shards, which is fixed
while they run: whose an object is needs no view of who lives. Who may act for a shard, a Lease says
(`shard_leases.py`); nothing here asks for one.
"""

from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b

from controller_runtime import Key

REMEMBERED = 100_000


@dataclass(frozen=True, slots=True)
class Shard:
    """`index` counts from 0, below `count`."""

    index: int
    count: int

    def owns(self, name: str) -> bool:
        return _owner(name, self.count) == self.index


@dataclass(frozen=True, slots=True)
class WorkShare:
    """Part of the work that a process does: all of it, the leader's, or that of one shard."""

    leads: bool = True
    works: bool = True
    """Does a shard's work: all of it where `shard` is None."""
    shard: Shard | None = None

    @staticmethod
    def of_leader() -> "WorkShare":
        return WorkShare(works=False)

    @staticmethod
    def of_shard(shard: Shard) -> "WorkShare":
        return WorkShare(leads=False, shard=shard)

    @property
    def processes(self) -> int:
        """Number of processes among which the bindings are divided that are worked on here."""
        return 1 if self.shard is None else self.shard.count

    def owns_cluster(self, name: str) -> bool:
        """Tells whether a shard's work in the cluster is done here."""
        return self.works and (self.shard is None or self.shard.owns(name))

    def owns_binding(self, key: Key) -> bool:
        """Tells whether a shard's work for the binding is done here."""
        return self.works and (self.shard is None or self.shard.owns(str(key)))


WHOLE = WorkShare()


@lru_cache(REMEMBERED)
def _owner(name: str, count: int) -> int:
    """Another number of shards moves as few names as can be: those that one shard gains, or loses."""
    return max(range(count), key=lambda index: blake2b(f"{index}/{name}".encode(), digest_size=8).digest())
