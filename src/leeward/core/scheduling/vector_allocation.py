"""Division in bulk: Webster's method on arrays, with the very results of `division.allocate_seats`.

A party's claims fall with every seat, so the winners of all seats are the greatest claims of all. They are found by a
threshold, not one after the other.
"""

from typing import cast

import numpy as np
from numpy.typing import NDArray

from leeward.core.scheduling.division import allocate_seats

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

FEW = 24
"""Number of parties below which a heap is faster."""
_SAFE = 2**62


def listed(numbers: Ints) -> list[int]:
    return cast(list[int], numbers.tolist())


def allocate(seats: int, votes: Ints, initial: Ints, descend: bool) -> Ints:
    """Seats per party after `seats` more; parties are in the order of their names, and each has votes."""
    count, greatest = len(votes), int(votes.max(initial=0))
    if seats == 0:
        return initial.copy()
    initial = np.maximum(initial, 0)
    if count < FEW or greatest * max(count, seats + int(initial.sum())) >= _SAFE:
        return _one_by_one(seats, votes, initial, descend)
    held = initial + _certain(seats, votes, initial)
    left = seats - int((held - initial).sum())
    depth = min(left, 2 + 2 * left // count)
    while True:
        won = _winners(left, votes, held, depth, descend)
        if won is not None:
            return held + won
        depth = min(left, depth * 4)


def _certain(seats: int, votes: Ints, initial: Ints) -> Ints:
    """The seats that every party gets in any case, see `division`."""
    sharing = votes > 0
    left = seats + int(initial.sum()) - (len(votes) + 1) // 2
    while True:
        shared = left - int(initial[~sharing].sum())
        if shared <= 0 or not sharing.any():
            return np.zeros_like(votes)
        fair = np.where(sharing, votes * shared // int(votes[sharing].sum()), 0)
        over = sharing & (initial > fair)
        if not over.any():
            return np.where(sharing, np.maximum(0, fair - 1 - initial), 0)
        sharing &= ~over


def _winners(left: int, votes: Ints, held: Ints, depth: int, descend: bool) -> Ints | None:
    """Number of the `left` seats that each party wins; None when `depth` claims per party were too few to tell."""
    seats = held[:, None] + np.arange(depth)
    claims = votes.astype(np.float64)[:, None] / (2 * seats + 1).astype(np.float64)
    if left > claims.size:
        return None
    threshold = np.partition(claims, claims.size - left, axis=None)[claims.size - left]
    better = claims > threshold
    won = better.sum(axis=1)
    parties, columns = np.nonzero(claims == threshold)
    names = -parties if descend else parties
    first = np.lexsort((names, seats[parties, columns]))[: left - int(won.sum())]
    np.add.at(won, parties[first], 1)
    return won if depth >= left or int(won.max()) < depth else None


def _one_by_one(seats: int, votes: Ints, initial: Ints, descend: bool) -> Ints:
    width = len(str(len(votes)))
    names = [f"{position:0{width}}" for position in range(len(votes))]
    held = dict(zip(names, initial.tolist(), strict=True))
    won = allocate_seats(seats, dict(zip(names, votes.tolist(), strict=True)), held, descend)
    return np.array([won[name] for name in names], dtype=np.int64)
