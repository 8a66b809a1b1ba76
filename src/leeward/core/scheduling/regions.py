"""Select by region: first the regions, then the clusters in them.

Every set of regions of a legal size with enough clusters is a *path*; the heaviest wins, unless a part of it is
legal by itself: fewer regions are better then. Karmada: spreadconstraint/{group_clusters,select_groups}.go; same.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from leeward.api.policy import SpreadConstraint
from leeward.core.scheduling.model import Candidate, Request, Unplaceable

WEIGHT_UNIT = 1000
"""One fulfilled replica outweighs any score."""


@dataclass(frozen=True, slots=True)
class Region:
    name: str
    clusters: tuple[Candidate, ...]
    weight: int

    @property
    def rank(self) -> tuple[int, str]:
        return (-self.weight, self.name)


Path = tuple[Region, ...]


def select_by_region(
    request: Request, candidates: Sequence[Candidate], region: SpreadConstraint, cluster: SpreadConstraint | None
) -> tuple[Candidate, ...] | Unplaceable:
    at_least = cluster.min_groups if cluster else 0
    regions = _regions_of(request, candidates, region.min_groups, at_least)
    if len(regions) < region.min_groups:
        return Unplaceable("Error", "the number of feasible region is less than spreadConstraint.MinGroups", {})
    path = _best_path(list(_paths(regions, region, at_least)))
    if not path:
        message = "the number of clusters is less than the cluster spreadConstraint.MinGroups"
        return Unplaceable("Error", message, {})
    firsts = tuple(chosen.clusters[0] for chosen in path)
    rest = sorted((c for chosen in path for c in chosen.clusters[1:]), key=lambda c: c.rank)
    at_most = cluster.max_groups if cluster else 0
    return (*firsts, *rest[: max(0, at_most - len(firsts))])


def _regions_of(
    request: Request, candidates: Sequence[Candidate], min_regions: int, min_clusters: int
) -> tuple[Region, ...]:
    members: dict[str, list[Candidate]] = {}
    for candidate in candidates:
        if candidate.cluster.spec.region:
            members.setdefault(candidate.cluster.spec.region, []).append(candidate)
    strategy = request.placement.replica_scheduling
    if strategy is None or strategy.replica_scheduling_type == "Duplicated":
        weights = {name: _weight_of_copies(request.spec.replicas, group) for name, group in members.items()}
    else:
        target = -(-request.spec.replicas // max(1, min_regions))
        enough = max(min_clusters, min_regions)
        weights = {name: _weight_of_shares(target, enough, group) for name, group in members.items()}
    return tuple(Region(name, tuple(group), weights[name]) for name, group in members.items())


def _weight_of_copies(replicas: int, group: Sequence[Candidate]) -> int:
    valid = [candidate.score for candidate in group if candidate.available >= replicas]
    return len(valid) * WEIGHT_UNIT + sum(valid) // len(valid) if valid else 0


def _weight_of_shares(target: int, enough: int, group: Sequence[Candidate]) -> int:
    room = scores = taken = 0
    for candidate in group:
        if taken >= enough and room >= target:
            break
        room += candidate.available
        scores += candidate.score
        taken += 1
    return min(room, target) * WEIGHT_UNIT + scores // taken


def _paths(regions: Sequence[Region], constraint: SpreadConstraint, min_clusters: int) -> Iterator[Path]:
    """The legal sets of regions, in depth-first order; one that is legal grows no further."""
    ordered = sorted(regions, key=lambda r: (len(r.clusters), -r.weight, r.name))
    if len(ordered) == constraint.min_groups:
        if len(ordered) <= constraint.max_groups and _cluster_count(ordered) >= min_clusters:
            yield tuple(ordered)
        return
    yield from _grow((), ordered, constraint, min_clusters)


def _grow(path: Path, rest: Sequence[Region], constraint: SpreadConstraint, min_clusters: int) -> Iterator[Path]:
    if len(path) >= constraint.min_groups and path and _cluster_count(path) >= min_clusters:
        yield path
        return
    if len(path) >= constraint.max_groups:
        return
    for position, region in enumerate(rest):
        yield from _grow((*path, region), rest[position + 1 :], constraint, min_clusters)


def _best_path(paths: Sequence[Path]) -> Path:
    """The heaviest; then, of those after it, each that is a beginning of the best so far replaces it."""
    ranked = sorted(
        (tuple(sorted(path, key=lambda r: r.rank)) for path in paths),
        key=lambda path: (-sum(r.weight for r in path), -_cluster_count(path)),
    )
    best: Path = ranked[0] if ranked else ()
    for path in ranked[1:]:
        if path == best[: len(path)]:
            best = path
    return best


def _cluster_count(regions: Sequence[Region]) -> int:
    return sum(len(region.clusters) for region in regions)
