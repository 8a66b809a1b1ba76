"""Which groups take part: every set of groups of a legal size with enough clusters is a *path*; the heaviest wins.

Unless a part of it is legal by itself: fewer groups are better then. The search is exact for as many groups as a fleet
has in practice; beyond `MAX_STEPS` it keeps to what it has seen, and to the heaviest groups and the largest.

Karmada: spreadconstraint/select_groups.go; same.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field

from leeward.core.scheduling.groups import Group, cluster_count

MAX_STEPS = 50_000

Path = tuple[Group, ...]


def ranked_paths(groups: Sequence[Group], least: int, most: int, min_clusters: int) -> list[Path]:
    """The legal sets of `least` to `most` groups with `min_clusters`, best first; each in the order of weight."""
    search = _Search(least, most, min_clusters)
    ordered = sorted(groups, key=_growing_order)
    if len(ordered) == least:
        found = [tuple(ordered)] if len(ordered) <= most and search.is_legal(ordered) else []
    else:
        found = list(search.grow((), ordered))
        if search.is_exhausted:
            found += search.greedy(groups)
    return _best_first(found)


def paths_that_keep(held: Set[str], groups: Sequence[Group], least: int, most: int, min_clusters: int) -> list[Path]:
    """In a failover: the paths in which all groups stay that hold replicas; none when these are too many. Holds: C2."""
    kept = tuple(group for group in groups if group.name in held)
    if len(kept) > most:
        return []
    search = _Search(least, most, min_clusters)
    others = sorted((group for group in groups if group.name not in held), key=_growing_order)
    return _best_first(search.grow(kept, others))


@dataclass(slots=True)
class _Search:
    least: int
    most: int
    min_clusters: int
    steps: int = field(default=0)

    @property
    def is_exhausted(self) -> bool:
        return self.steps >= MAX_STEPS

    def is_legal(self, path: Sequence[Group]) -> bool:
        return len(path) >= self.least and cluster_count(path) >= max(1, self.min_clusters)

    def grow(self, path: Path, rest: Sequence[Group]) -> Iterator[Path]:
        """Depth first; a path that is legal grows no further."""
        self.steps += 1
        if path and self.is_legal(path):
            yield path
            return
        if len(path) >= self.most:
            return
        for position, group in enumerate(rest):
            if self.is_exhausted:
                return
            yield from self.grow((*path, group), rest[position + 1 :])

    def greedy(self, groups: Sequence[Group]) -> Iterator[Path]:
        orders: tuple[Callable[[Group], tuple[int, int, str]], ...] = (
            lambda g: (-g.weight, -g.size, g.name),
            lambda g: (-g.size, -g.weight, g.name),
        )
        for order in orders:
            first = sorted(groups, key=order)[: self.most]
            legal = (tuple(first[:size]) for size in range(max(1, self.least), len(first) + 1))
            yield from [path for path in legal if self.is_legal(path)][:1]


def _growing_order(group: Group) -> tuple[int, int, str]:
    return (group.size, -group.weight, group.name)


def _best_first(found: Iterable[Path]) -> list[Path]:
    """Each in the order of weight; the heaviest first, then those with more clusters."""
    by_weight = [tuple(sorted(path, key=lambda g: g.rank)) for path in found]
    return _shortest_first(sorted(by_weight, key=lambda p: (-sum(g.weight for g in p), -cluster_count(p))))


def _shortest_first(ranked: list[Path]) -> list[Path]:
    """Of the paths after the heaviest, each that is a beginning of the best so far replaces it."""
    best: Path = ranked[0] if ranked else ()
    for path in ranked[1:]:
        if path == best[: len(path)]:
            best = path
    return [best, *(path for path in ranked if path != best)] if ranked else []
