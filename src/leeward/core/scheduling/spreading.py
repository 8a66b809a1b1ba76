"""Select by group: first the groups, then the clusters in them.

With one grouping this is Karmada's algorithm for regions, for whatever property it groups by. With several, the
clusters are narrowed down by one after the other (region, provider, zone, labels), so that no maximum is exceeded. The
result must reach every minimum; paths are tried from the best on until one does.

Karmada: spreadconstraint/select_clusters_by_region.go; the same for regions. Karmada does not spread by anything else.
Holds: S2.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from leeward.api.policy import SpreadConstraint
from leeward.api.spread_field import SpreadField
from leeward.core.scheduling.groups import Grouping, overlap
from leeward.core.scheduling.model import Candidate, Request, Unplaceable
from leeward.core.scheduling.paths import Path, paths_that_keep, ranked_paths

MAX_CHOICES = 200
"""Number of combinations of groups that are tried when several constraints have to agree."""

Choice = tuple[Candidate, ...]


def select_by_groups(
    request: Request,
    candidates: Sequence[Candidate],
    by: Sequence[Grouping],
    cluster: SpreadConstraint | None,
    takes_all: Callable[[Choice], bool] | None = None,
) -> Choice | Unplaceable:
    """`candidates` best first; `by` has at least one grouping. With `takes_all`, the first legal choice that it
    accepts, also with more groups than the least."""
    at_least, alone = cluster.min_groups if cluster else 0, len(by) == 1 and takes_all is None
    for grouping in by:
        least = grouping.constraint.min_groups
        if len(grouping.groups(request, candidates, at_least)) < least:
            message = f"the number of feasible {grouping.title} is less than spreadConstraint.MinGroups"
            return Unplaceable("Error", message, {})
    found_any, is_regions = False, alone and by[0].title == SpreadField.REGION
    for allowed, firsts in islice(_choices(request, candidates, by, at_least, alone), MAX_CHOICES):
        found_any = True
        chosen = _fill(allowed, firsts, by, cluster)
        if request.trace is not None:
            request.trace.groups = {grouping.title: grouping.weights(request, chosen, at_least) for grouping in by}
        if is_regions or (_is_legal(chosen, by, at_least) and (takes_all is None or takes_all(chosen))):
            return chosen
    if not found_any and len(by) == 1 and (at_least or not overlap(by[0].groups(request, candidates, at_least))):
        message = "the number of clusters is less than the cluster spreadConstraint.MinGroups"
        return Unplaceable("Error", message, {})
    fields = ", ".join(grouping.title for grouping in by)
    return Unplaceable("Error", f"no clusters satisfy the spread constraints by {fields} together", {})


def _choices(
    request: Request, candidates: Sequence[Candidate], by: Sequence[Grouping], at_least: int, alone: bool
) -> Iterator[tuple[Choice, Choice]]:
    """Clusters that are allowed by a choice of groups, and the first cluster of each group of the first grouping."""
    first, *others = by
    for path in _paths(request, candidates, first, at_least, alone):
        members = {candidate.name for group in path for candidate in group.clusters}
        names = {group.name for group in path}
        inside = tuple(c for c in candidates if c.name in members and names.issuperset(first.covered([c])))
        narrowed = (
            (allowed for allowed, _ in _choices(request, inside, others, at_least, False)) if others else (inside,)
        )
        for allowed in narrowed:
            yield allowed, _heads(path, allowed)


def _paths(
    request: Request, candidates: Sequence[Candidate], grouping: Grouping, at_least: int, alone: bool
) -> Iterator[Path]:
    """The best choices of groups; where other constraints have to agree, larger ones after smaller ones."""
    groups, constraint = grouping.groups(request, candidates, at_least), grouping.constraint
    held = grouping.covered(c for c in candidates if request.keeps(c.name))
    most = min(constraint.max_groups, len(groups))
    for least in range(constraint.min_groups, constraint.min_groups + 1 if alone else most + 1):
        if held:
            yield from paths_that_keep(held, groups, least, constraint.max_groups, at_least)
        else:
            yield from ranked_paths(groups, least, constraint.max_groups, at_least)


def _heads(path: Path, allowed: Choice) -> Choice:
    """The best allowed cluster of each group."""
    kept = {candidate.name for candidate in allowed}
    heads: dict[str, Candidate] = {}
    for group in path:
        head = next((candidate for candidate in group.clusters if candidate.name in kept), None)
        if head is not None:
            heads[head.name] = head
    return tuple(heads.values())


def _fill(
    allowed: Sequence[Candidate], firsts: Choice, by: Sequence[Grouping], cluster: SpreadConstraint | None
) -> Choice:
    """One cluster of each group, then those that the other minima need, then the best up to the clusters' maximum."""
    chosen = list(firsts)
    for grouping in by[1:]:
        _cover(chosen, allowed, grouping)
    taken = {candidate.name for candidate in chosen}
    rest = [candidate for candidate in allowed if candidate.name not in taken]
    at_most = cluster.max_groups if cluster else 0
    return (*chosen, *rest[: max(0, at_most - len(chosen))])


def _cover(chosen: list[Candidate], allowed: Sequence[Candidate], grouping: Grouping) -> None:
    covered = grouping.covered(chosen)
    for candidate in allowed:
        if len(covered) >= grouping.constraint.min_groups:
            return
        if more := grouping.covered([candidate]) - covered:
            chosen.append(candidate)
            covered |= more


def _is_legal(chosen: Choice, by: Sequence[Grouping], at_least: int) -> bool:
    def is_within(grouping: Grouping) -> bool:
        return grouping.constraint.min_groups <= len(grouping.covered(chosen)) <= grouping.constraint.max_groups

    return bool(chosen) and len(chosen) >= at_least and all(is_within(grouping) for grouping in by)
