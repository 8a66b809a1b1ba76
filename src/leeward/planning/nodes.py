"""A cluster as nodes of known grades: each counts as the smallest of its grade, with 110 pods.

Nodes that are alike are held as one group, so that thousands cost no more than a few. Replicas go to the first node
in which they fit. Karmada: pkg/modeling, pkg/estimator/client/general.go; same results.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from kubeapi.quantity import LONGEST_REMEMBERED, Quantity, milli, whole
from leeward.api.cluster import ResourceModel
from leeward.core.amounts import LONGEST_NAME

PODS_PER_NODE = 110
MAX_STEPS = 1_000_000
"""A count of sets is looked for in no more steps than this: a member that claims a million nodes stops nobody."""

MAX_ASKS = 256

Sizes = tuple[tuple[str, int], ...]
"""Amounts that one replica takes, by resource: CPU in milli, the rest in whole units."""

_MOST_REMEMBERED = 32
"""Resources of a request that is remembered."""
_NATIVE = frozenset({"cpu", "memory", "ephemeral-storage", "pods"})


@dataclass(frozen=True, slots=True, eq=False)
class _CountedRequest:
    """Amounts that nodes keep account of: native resources, extended and attachable ones, huge pages; and one pod."""

    sizes: Sizes


class _Group:
    """`count` nodes with this much free on each; how many replicas fit is found once for each ask."""

    __slots__ = ("_fits", "count", "free")

    def __init__(self, count: int, free: Mapping[str, int]) -> None:
        self.count = count
        self.free = free
        self._fits: dict[_CountedRequest, int] = {}

    def fit(self, ask: _CountedRequest) -> int:
        """Replicas per node."""
        fits = self._fits.get(ask)
        if fits is None:
            free = self.free
            fits = self._fits[ask] = max(0, min([free.get(name, 0) // size for name, size in ask.sizes]))
        return fits

    def less(self, ask: _CountedRequest, replicas: int, count: int) -> "_Group":
        """`count` such nodes after each has taken `replicas`."""
        free = self.free
        taken = {name: free.get(name, 0) - size * replicas for name, size in ask.sizes}
        return _Group(count, {**free, **taken})

    def times(self, count: int) -> "_Group":
        """`count` such nodes."""
        other = _Group(count, self.free)
        other._fits = self._fits
        return other


class Nodes:
    """All nodes of a cluster, in the order in which replicas are offered to them.

    Nodes only ever get fuller: what does not fit into the groups before `_first` of an ask will never fit there.
    `_fitting` is how many replicas of an ask fit into all nodes; taking renews it for the nodes that were touched.
    """

    def __init__(self, groups: list[_Group]) -> None:
        self._groups = groups
        self._first: dict[_CountedRequest, int] = {}
        self._fitting: dict[_CountedRequest, int] = {}

    @staticmethod
    def of(models: tuple[ResourceModel, ...], counts: Mapping[int, int]) -> "Nodes | None":
        """None when there are no models, or the counts make no sense."""
        if not models or not counts or any(count < 0 for count in counts.values()):
            return None
        return Nodes([_Group(counts[grade], free) for grade, free in _grades(models) if counts.get(grade)])

    def fit(self, sizes: Sizes) -> int:
        ask = _ask(sizes)
        fitting = self._fitting.get(ask)
        if fitting is None:
            if len(self._fitting) >= MAX_ASKS:
                self._fitting.clear()
            fitting = self._fitting[ask] = sum([group.count * group.fit(ask) for group in self._groups])
        return fitting

    def take(self, sizes: Sizes, replicas: int) -> None:
        """Places up to `replicas`; those that fit nowhere take nothing."""
        ask = _ask(sizes)
        position = self._start(ask)
        while replicas > 0 and position < len(self._groups):
            group = self._groups[position]
            per_node = group.fit(ask)
            if per_node:
                parts = list(_split(group, ask, per_node, replicas))
                replicas -= min(replicas, per_node * group.count)
                position = self._replace(position, parts)
            else:
                position += 1

    def _start(self, ask: _CountedRequest) -> int:
        """The first group in which a replica fits."""
        position = self._first.get(ask, 0)
        while position < len(self._groups) and not self._groups[position].fit(ask):
            position += 1
        if len(self._first) >= MAX_ASKS:
            self._first.clear()
        self._first[ask] = position
        return position

    def fit_sets(self, components: Sequence[tuple[Sizes, int]], most: int) -> int:
        """Number of sets of all components that fit together, replica by replica in turn; at most `most`."""
        trial = Nodes(list(self._groups))
        parts = [(sizes, replicas) for sizes, replicas in components if replicas]
        for found in range(min(most, MAX_STEPS // max(1, sum(replicas for _, replicas in parts)))):
            for sizes, replicas in parts:
                if trial.fit(sizes) < replicas:
                    return found
                trial.take(sizes, replicas)
        return most

    def _replace(self, position: int, parts: list[_Group]) -> int:
        """Puts `parts` in the place of one group, together with the nodes before them where they are alike now.

        Returns the position after them.
        """
        before = self._groups[position - 1] if position else None
        merges = before is not None and before.free == parts[0].free
        if before is not None and merges:
            parts[0] = before.times(before.count + parts[0].count)
        start = position - 1 if merges else position
        for ask, fitting in self._fitting.items():
            gone = sum([group.count * group.fit(ask) for group in self._groups[start : position + 1]])
            self._fitting[ask] = fitting - gone + sum([group.count * group.fit(ask) for group in parts])
        self._groups[start : position + 1] = parts
        more = start + len(parts) - (position + 1)
        for ask, first in self._first.items() if more else ():
            if first > position:
                self._first[ask] = first + more
        return start + len(parts)


def _split(group: _Group, ask: _CountedRequest, per_node: int, replicas: int) -> Iterator[_Group]:
    """The group after up to `replicas` were placed: nodes that are full, one that is begun, and those not touched."""
    full = min(group.count, replicas // per_node)
    begun = replicas - full * per_node if full < group.count else 0
    if full:
        yield group.less(ask, per_node, full)
    if begun:
        yield group.less(ask, begun, 1)
    rest = group.count - full - (1 if begun else 0)
    if rest:
        yield group.times(rest)


def is_small(items: Collection[tuple[str, Quantity]]) -> bool:
    """Tells whether a request is remembered: containers ask for a few resources, with names and amounts of their
    ordinary length. Of others each may take megabytes."""
    return len(items) <= _MOST_REMEMBERED and all(
        len(name) <= LONGEST_NAME and len(str(amount)) <= LONGEST_REMEMBERED for name, amount in items
    )


def _ask(sizes: Sizes) -> _CountedRequest:
    return _remembered_ask(sizes) if is_small(sizes) else _ask_of(sizes)


def _ask_of(sizes: Sizes) -> _CountedRequest:
    return _CountedRequest((*(size for size in sizes if is_counted(size[0])), ("pods", 1)))


_remembered_ask = lru_cache(maxsize=4_096)(_ask_of)


def is_counted(name: str) -> bool:
    return name in _NATIVE or "/" in name or name.startswith(("hugepages-", "attachable-volumes-"))


@lru_cache(maxsize=1_024)
def _grades(models: tuple[ResourceModel, ...]) -> tuple[tuple[int, Mapping[str, int]], ...]:
    return tuple((model.grade, _smallest(model)) for model in models)


def _smallest(model: ResourceModel) -> Mapping[str, int]:
    sizes = {each.name: (milli if each.name == "cpu" else whole)(each.min) for each in model.ranges}
    return {**sizes, "pods": PODS_PER_NODE}
