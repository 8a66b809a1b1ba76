"""Choice of the groups that take part: every set of groups of a legal size with enough clusters is a *path*; the
heaviest wins.

Unless a part of it is legal by itself: fewer groups are better then.

There are as many paths as ways to choose groups: 160,000 for 3 of 100 zones. Beyond `MAX_STEPS` the search keeps to the
groups that it has seen, to the heaviest, and to the largest. If no cluster is in two groups, that finds a path wherever
there is one. It finds the heaviest wherever each group has enough clusters for its part (no minimum of clusters, or
none above that of groups). Otherwise a heavier one may be missed.

Karmada: spreadconstraint/select_groups.go; same, but without a bound.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field

from leeward.core.scheduling.groups import Group, cluster_count, covered_count

MAX_STEPS = 50_000

Path = tuple[Group, ...]


def ranked_paths(
    groups: Sequence[Group], least: int, most: int, min_clusters: int, max_steps: int = MAX_STEPS
) -> list[Path]:
    """The legal sets of `least` to `most` groups with `min_clusters`, best first; each in the order of weight."""
    search = _Search(least, most, min_clusters, max_steps)
    ordered = sorted(groups, key=_growing_order)
    if len(ordered) == least:
        found = [tuple(ordered)] if len(ordered) <= most and search.is_legal(ordered) else []
    else:
        found = search.run((), ordered)
    return _best_first(found)


def paths_that_keep(
    held: Set[str], groups: Sequence[Group], least: int, most: int, min_clusters: int, max_steps: int = MAX_STEPS
) -> list[Path]:
    """Paths, in a failover, in which all groups stay that hold replicas; none when these are too many. Holds: C2."""
    kept = tuple(group for group in groups if group.name in held)
    if len(kept) > most:
        return []
    search = _Search(least, most, min_clusters, max_steps)
    others = sorted((group for group in groups if group.name not in held), key=_growing_order)
    return _best_first(search.run(kept, others))


@dataclass(slots=True)
class _Search:
    least: int
    most: int
    min_clusters: int
    max_steps: int
    steps: int = field(default=0)

    @property
    def is_exhausted(self) -> bool:
        return self.steps >= self.max_steps

    def run(self, start: Path, rest: Sequence[Group]) -> list[Path]:
        """The legal paths that begin with `start`."""
        found = list(self.grow(start, rest))
        return [*found, *self.greedy(start, rest)] if self.is_exhausted else found

    def is_legal(self, path: Sequence[Group]) -> bool:
        """Tells whether it has enough clusters, in enough groups: one may be in groups beside these, too."""
        enough = len(path) >= self.least and cluster_count(path) >= max(1, self.min_clusters)
        return enough and covered_count(path) >= self.least

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

    def greedy(self, start: Path, rest: Sequence[Group]) -> Iterator[Path]:
        orders: tuple[Callable[[Group], tuple[int, int, str]], ...] = (
            lambda g: (-g.weight, -g.size, g.name),
            lambda g: (-g.size, -g.weight, g.name),
        )
        for order in orders:
            first = (*start, *sorted(rest, key=order)[: max(0, self.most - len(start))])
            legal = (first[:size] for size in range(max(1, self.least, len(start)), len(first) + 1))
            yield from [path for path in legal if self.is_legal(path)][:1]


def _growing_order(group: Group) -> tuple[int, int, str]:
    return (group.size, -group.weight, group.name)


def _best_first(found: Iterable[Path]) -> list[Path]:
    """Paths in the order of weight; the heaviest first, then those with more clusters."""
    by_weight = [tuple(sorted(path, key=lambda g: g.rank)) for path in found]
    return _shortest_first(sorted(by_weight, key=lambda p: (-sum(g.weight for g in p), -cluster_count(p))))


def _shortest_first(ranked: list[Path]) -> list[Path]:
    """Puts the shortest first: of the paths after the heaviest, each that is a beginning of the best so far replaces
    it."""
    best: Path = ranked[0] if ranked else ()
    for path in ranked[1:]:
        if path == best[: len(path)]:
            best = path
    return [best, *(path for path in ranked if path != best)] if ranked else []
