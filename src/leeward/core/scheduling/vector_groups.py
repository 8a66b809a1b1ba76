"""Select by group on arrays: the same choice as `spreading` makes, for one grouping of clusters that do not overlap."""

from functools import lru_cache
from itertools import pairwise

import numpy as np

from leeward.api.policy import SpreadConstraint
from leeward.core.scheduling.groups import WEIGHT_UNIT, Group, Grouping, weight_of_claims
from leeward.core.scheduling.model import Request
from leeward.core.scheduling.paths import paths_that_keep, ranked_paths
from leeward.core.scheduling.selection import divides
from leeward.core.scheduling.vector_allocation import Bools, Ints, listed


def best_by_group(
    request: Request,
    grouping: Grouping,
    cluster: SpreadConstraint | None,
    codes: tuple[Ints, list[str]],
    order: Ints,
    available: Ints,
    score: Ints,
    held: Bools,
    claims: Ints | None = None,
) -> Ints | None:
    """Positions of the chosen clusters, in the order in which they count on a tie; None when there is no choice.

    `codes` are each position's group and the groups' names; `order` has the positions from the best on; `held` are
    those that keep their replicas; `claims` is above 0 where claims are held.
    """
    constraint = grouping.constraint
    at_least, at_most = (cluster.min_groups, cluster.max_groups) if cluster else (0, 0)
    members = _members(codes[0][order], order, len(codes[1]))
    weigh = _weigh_shares if divides(request.placement.replica_scheduling) else _weigh_copies
    ranks = np.zeros_like(available) if claims is None else claims

    def weight(at: Ints) -> int:
        by_room = weigh(request, constraint.min_groups, at_least, available[at], score[at])
        return by_room + weight_of_claims(request, int(ranks[at].max()))

    groups = tuple((name, len(at), weight(at)) for name, at in zip(codes[1], members, strict=True) if len(at))
    kept = frozenset(codes[1][code] for code in listed(codes[0][held]) if code >= 0)
    path = _best_path(groups, constraint, at_least, kept)
    if len(groups) < constraint.min_groups or not path:
        return None
    chosen = [members[codes[1].index(name)] for name in path]
    firsts = np.array([at[0] for at in chosen], dtype=np.int64)
    more = max(0, at_most - len(firsts))
    if not more:
        return firsts
    inside = np.zeros(len(order), dtype=np.bool_)
    inside[np.concatenate([at[1:] for at in chosen])] = True
    return np.concatenate([firsts, order[inside[order]][:more]])


@lru_cache(maxsize=4_096)
def _best_path(
    parts: tuple[tuple[str, int, int], ...], constraint: SpreadConstraint, min_clusters: int, held: frozenset[str]
) -> tuple[str, ...]:
    """The names of the best set of groups, which have a name, a size and a weight."""
    groups = [Group(*part, {}) for part in parts]
    if held:
        paths = paths_that_keep(held, groups, constraint.min_groups, constraint.max_groups, min_clusters)
    else:
        paths = ranked_paths(groups, constraint.min_groups, constraint.max_groups, min_clusters)
    return tuple(group.name for group in paths[0]) if paths else ()


def _members(codes: Ints, order: Ints, count: int) -> list[Ints]:
    """The positions of each group, best first."""
    by_group = np.argsort(codes, kind="stable")
    bounds = listed(np.searchsorted(codes[by_group], np.arange(count + 1)))
    return [order[by_group[start:end]] for start, end in pairwise(bounds)]


def _weigh_copies(request: Request, min_groups: int, at_least: int, available: Ints, score: Ints) -> int:
    valid = score[available >= request.spec.replicas]
    return len(valid) * WEIGHT_UNIT + int(valid.sum()) // len(valid) if len(valid) else 0


def _weigh_shares(request: Request, min_groups: int, at_least: int, available: Ints, score: Ints) -> int:
    target = -(-request.spec.replicas // max(1, min_groups))
    room = np.cumsum(available)
    taken = max(int(np.searchsorted(room, target)) + 1 if target else 0, at_least, min_groups)
    taken = min(taken, len(available))
    return min(int(room[taken - 1]), target) * WEIGHT_UNIT + int(score[:taken].sum()) // max(1, taken)
