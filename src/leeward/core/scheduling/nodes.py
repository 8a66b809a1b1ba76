"""A cluster as nodes of known grades: each counts as the smallest of its grade, with 110 pods.

Nodes that are alike are held as one group, so that thousands cost no more than a few. Replicas go to the first node
in which they fit. Karmada: pkg/modeling, pkg/estimator/client/general.go; same results.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from leeward.api.cluster import ResourceModel
from leeward.api.quantity import milli, whole

PODS_PER_NODE = 110
MAX_STEPS = 1_000_000
"""A count of sets is looked for in no more steps than this: a member that claims a million nodes stops nobody."""

Sizes = Sequence[tuple[str, int]]
"""Per resource what one replica takes: CPU in milli, the rest in whole units."""

_NATIVE = frozenset({"cpu", "memory", "ephemeral-storage", "pods"})


@dataclass(slots=True)
class _Group:
    """`count` nodes with this much free on each."""

    count: int
    free: Mapping[str, int]

    def fit(self, sizes: Sizes) -> int:
        """Replicas per node."""
        return max(0, min(self.free.get(name, 0) // size for name, size in sizes))

    def less(self, sizes: Sizes, replicas: int) -> Mapping[str, int]:
        """What a node has left that takes `replicas`."""
        return {**self.free, **{name: self.free.get(name, 0) - size * replicas for name, size in sizes}}


@dataclass(slots=True)
class Nodes:
    groups: list[_Group]

    @staticmethod
    def of(models: tuple[ResourceModel, ...], counts: Mapping[int, int]) -> "Nodes | None":
        """None when there are no models, or the counts make no sense."""
        if not models or not counts or any(count < 0 for count in counts.values()):
            return None
        return Nodes([_Group(counts[grade], free) for grade, free in _grades(models) if counts.get(grade)])

    def fit(self, sizes: Sizes) -> int:
        counted = _counted(sizes)
        return sum(group.count * group.fit(counted) for group in self.groups)

    def take(self, sizes: Sizes, replicas: int) -> None:
        """Places up to `replicas`; those that fit nowhere take nothing."""
        counted, after = _counted(sizes), list[_Group]()
        for group in self.groups:
            per_node = group.fit(counted) if replicas else 0
            after.extend(_split(group, counted, per_node, replicas) if per_node else [group])
            replicas -= min(replicas, per_node * group.count)
        self.groups = after

    def fit_sets(self, components: Sequence[tuple[Sizes, int]], most: int) -> int:
        """How often all components fit together, replica by replica in turn; at most `most`."""
        trial = Nodes(list(self.groups))
        parts = [(_counted(sizes), replicas) for sizes, replicas in components if replicas]
        for found in range(min(most, MAX_STEPS // max(1, sum(replicas for _, replicas in parts)))):
            for sizes, replicas in parts:
                if trial.fit(sizes) < replicas:
                    return found
                trial.take(sizes, replicas)
        return most


def _split(group: _Group, sizes: Sizes, per_node: int, replicas: int) -> Iterable[_Group]:
    """The group after up to `replicas` were placed: nodes that are full, one that is begun, and those not touched."""
    full = min(group.count, replicas // per_node)
    begun = replicas - full * per_node if full < group.count else 0
    if full:
        yield _Group(full, group.less(sizes, per_node))
    if begun:
        yield _Group(1, group.less(sizes, begun))
    rest = group.count - full - (1 if begun else 0)
    if rest:
        yield _Group(rest, group.free)


def _counted(sizes: Sizes) -> Sizes:
    """What nodes keep account of: native resources, extended and attachable ones, huge pages; and one pod."""
    return [*(size for size in sizes if _is_counted(size[0])), ("pods", 1)]


def _is_counted(name: str) -> bool:
    return name in _NATIVE or "/" in name or name.startswith(("hugepages-", "attachable-volumes-"))


@lru_cache(maxsize=1_024)
def _grades(models: tuple[ResourceModel, ...]) -> tuple[tuple[int, Mapping[str, int]], ...]:
    return tuple((model.grade, _smallest(model)) for model in models)


def _smallest(model: ResourceModel) -> Mapping[str, int]:
    sizes = {each.name: (milli if each.name == "cpu" else whole)(each.min) for each in model.ranges}
    return {**sizes, "pods": PODS_PER_NODE}
