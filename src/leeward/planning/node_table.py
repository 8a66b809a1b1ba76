"""A member's Nodes as what they offer: a hundred bytes for each, and sums that a change adds to and takes from."""

from kubeapi import codec
from kubeapi.numbered_pool import UNKNOWN, NumberedPool, digest_of
from leeward.api.cluster import NodeSummary
from leeward.api.counted import CountedNode
from leeward.core.amounts import Doubts
from leeward.core.cluster_health.summary import is_ready_node, node_offers
from leeward.planning.absurd_numbers import AbsurdNumbers
from leeward.planning.changed_names import ChangedNames
from leeward.planning.resource_sums import ResourceShare, ResourceSums

ROW_BYTES = 200
"""Bytes of one node, beside its name; about."""
CLOSED = -1
"""Stand-in for the number of what a node offers, for one that offers nothing."""


class NodeTable:
    """Nodes by name. Nodes that are not Ready or not schedulable count, but offer nothing."""

    def __init__(self) -> None:
        self._rows: dict[str, tuple[bool, int]] = {}
        """Readiness of each, and the number of what it offers."""
        self._shares = NumberedPool[bytes, ResourceShare]()
        self._ready = 0
        self._size = 0
        self._absurd = AbsurdNumbers()
        self.offered = ResourceSums()
        self.changed = ChangedNames()
        self.revision = 0
        """Another number after each change."""

    @property
    def count(self) -> int:
        return len(self._rows)

    @property
    def size(self) -> int:
        """Bytes, about."""
        return self._size + self._absurd.size

    @property
    def summary(self) -> NodeSummary:
        return NodeSummary(total_num=len(self._rows), ready_num=self._ready)

    def names(self) -> list[str]:
        return list(self._rows)

    def offer_of(self, name: str) -> ResourceShare | None:
        """None for a node that offers nothing, or is not there."""
        _, number = self._rows.get(name, (False, CLOSED))
        return None if number == CLOSED else self._shares.value(number)

    def doubts(self) -> Doubts:
        return self._absurd.doubts()

    def put(self, node: CountedNode) -> None:
        name, is_ready = node.metadata.name, is_ready_node(node)
        number = CLOSED if not is_ready or node.spec.unschedulable else self._number(node)
        old = self._rows.get(name)
        if old == (is_ready, number):
            return
        self._add(name, is_ready, number)
        if old is not None:
            self._subtract(name, *old)
        self._rows[name] = is_ready, number
        self._tell_doubts(name, node, number)

    def remove(self, node: CountedNode) -> None:
        name = node.metadata.name
        row = self._rows.pop(name, None)
        if row is not None:
            self._subtract(name, *row)
            self._absurd.remove(name)

    def _number(self, node: CountedNode) -> int:
        digest = digest_of(codec.encode(node.status.allocatable))
        number = self._shares.number(digest)
        if number != UNKNOWN:
            return number
        doubts = Doubts()
        share = ResourceShare(node_offers(node, doubts), is_absurd=doubts.count > 0)
        self._size += share.size
        return self._shares.add(digest, share)

    def _tell_doubts(self, name: str, node: CountedNode, number: int) -> None:
        doubts = Doubts()
        if number != CLOSED and self._shares.value(number).is_absurd:
            node_offers(node, doubts)
        self._absurd.put(name, doubts)

    def _add(self, name: str, is_ready: bool, number: int) -> None:
        self._touch(name)
        self._ready += is_ready
        self._size += ROW_BYTES + len(name)
        if number != CLOSED:
            self._shares.take(number)
            self.offered.add(self._shares.value(number))

    def _subtract(self, name: str, is_ready: bool, number: int) -> None:
        self._touch(name)
        self._ready -= is_ready
        self._size -= ROW_BYTES + len(name)
        if number != CLOSED:
            self.offered.subtract(self._shares.value(number))
            unused = self._shares.release(number)
            self._size -= unused.size if unused is not None else 0

    def _touch(self, name: str) -> None:
        self.revision += 1
        self.changed.add(name)
