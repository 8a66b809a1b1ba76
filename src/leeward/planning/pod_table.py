"""A member's Pods as what they take: some tens of bytes for each, and sums that a change adds to and takes from.

Of a Pod is kept on which Node it is (or that it waits for one) and what it requests, both as small numbers: Pods of one
application request the same, and share it. A Pod that is finished takes nothing and is not kept.
"""

from collections.abc import Mapping
from decimal import Decimal

from kubeapi import codec
from kubeapi.compact_map import CompactMap
from kubeapi.numbered_pool import UNKNOWN, NumberedPool, digest_of
from leeward.api.counted import CountedPod
from leeward.core.amounts import Amount, Amounts, Doubts
from leeward.core.cluster_health.modeling import PODS
from leeward.core.cluster_health.summary import pod_requests, state_of
from leeward.planning.absurd_numbers import AbsurdNumbers
from leeward.planning.changed_names import ChangedNames
from leeward.planning.resource_sums import NANO_DIGITS, ResourceShare, ResourceSums

ONE_POD = 10**NANO_DIGITS
ROW_BYTES, NODE_BYTES, TAKEN_BYTES = 48, 500, 60
"""Bytes of a Pod; of a Node that has some; of what a Pod takes there of one resource. About, and rather more."""
_SHARE_BITS = 32
_SHARE = (1 << _SHARE_BITS) - 1

Taken = dict[str, int]
"""Nanos by resource of what is taken of one Node; of Pods their number."""


class PodTable:
    """Pods by namespace and name."""

    def __init__(self) -> None:
        self._rows = CompactMap()
        self._nodes = NumberedPool[str, Taken]()
        """Nodes by name; the one without a name is where Pods wait."""
        self._requests = NumberedPool[bytes, ResourceShare]()
        self._placed, self._waiting = ResourceSums(), ResourceSums()
        self._waiting_pods = 0
        self._size = 0
        self._absurd = AbsurdNumbers()
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
    def allocated(self) -> Amounts:
        """Amounts that Pods take of Nodes."""
        return _with_pods(self._placed.amounts(), self.count - self._waiting_pods)

    @property
    def allocating(self) -> Amounts:
        """Amounts that Pods ask for that have no Node."""
        return _with_pods(self._waiting.amounts(), self._waiting_pods)

    def taken_of(self, node: str) -> Mapping[str, int]:
        """Nanos by resource."""
        number = self._nodes.number(node)
        return {} if number == UNKNOWN else self._nodes.value(number)

    def doubts(self) -> Doubts:
        return self._absurd.doubts()

    def put(self, pod: CountedPod) -> None:
        key = _key(pod)
        if state_of(pod) == "finished":
            self._forget(key)
            return
        row = self._node(pod.spec.node_name) << _SHARE_BITS | self._request(pod)
        old = self._rows.put(key, row)
        if row == old:
            return
        self._add(row)
        if old is not None:
            self._subtract(old)
        if self._requests.value(row & _SHARE).is_absurd or self._absurd.has(key):
            self._tell_doubts(key, pod)

    def remove(self, pod: CountedPod) -> None:
        self._forget(_key(pod))

    def _forget(self, key: str) -> None:
        row = self._rows.pop(key)
        if row is not None:
            self._subtract(row)
            self._absurd.remove(key)

    def _node(self, name: str) -> int:
        number = self._nodes.number(name)
        if number == UNKNOWN:
            self._size += NODE_BYTES + len(name)
            number = self._nodes.add(name, {})
        return number

    def _request(self, pod: CountedPod) -> int:
        spec = pod.spec
        digest = digest_of(codec.encode((spec.containers, spec.init_containers, spec.overhead)))
        number = self._requests.number(digest)
        if number == UNKNOWN:
            doubts = Doubts()
            amounts = pod_requests(spec, "", doubts)
            amounts.pop(PODS, None)
            share = ResourceShare(amounts, is_absurd=doubts.count > 0)
            self._size += share.size
            number = self._requests.add(digest, share)
        return number

    def _tell_doubts(self, key: str, pod: CountedPod) -> None:
        doubts = Doubts()
        pod_requests(pod.spec, f"Pod {key}", doubts)
        self._absurd.put(key, doubts)

    def _add(self, row: int) -> None:
        node, request = row >> _SHARE_BITS, row & _SHARE
        share = self._requests.value(request)
        self._nodes.take(node)
        self._requests.take(request)
        self._size += ROW_BYTES + TAKEN_BYTES * len(share.nanos)
        self._change(self._nodes.key(node), self._nodes.value(node), share, 1)

    def _subtract(self, row: int) -> None:
        node, request = row >> _SHARE_BITS, row & _SHARE
        name, share = self._nodes.key(node), self._requests.value(request)
        self._size -= ROW_BYTES + TAKEN_BYTES * len(share.nanos)
        self._change(name, self._nodes.value(node), share, -1)
        if self._nodes.release(node) is not None:
            self._size -= NODE_BYTES + len(name)
        if self._requests.release(request) is not None:
            self._size -= share.size

    def _change(self, node: str, taken: Taken, share: ResourceShare, sign: int) -> None:
        self.revision += 1
        sums = self._placed if node else self._waiting
        (sums.add if sign > 0 else sums.subtract)(share)
        if not node:
            self._waiting_pods += sign
            return
        self.changed.add(node)
        _change(taken, PODS, sign * ONE_POD)
        for (name, _), nanos in zip(share.columns, share.nanos, strict=True):
            _change(taken, name, sign * nanos)


def _change(taken: Taken, name: str, nanos: int) -> None:
    """Changes what is taken of a resource; nothing is left of one of which nothing is taken."""
    left = taken.get(name, 0) + nanos
    if left:
        taken[name] = left
    else:
        taken.pop(name, None)


def _key(pod: CountedPod) -> str:
    return f"{pod.metadata.namespace}/{pod.metadata.name}"


def _with_pods(amounts: Amounts, pods: int) -> Amounts:
    """Amounts with Pods: each takes one of its Node's Pods, whatever it requests."""
    return {**amounts, PODS: Amount(Decimal(pods), False)} if pods else amounts
