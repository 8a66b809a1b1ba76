"""Dividing replicas by weight: Webster's method (Sainte-Laguë), one replica at a time.

Each replica goes to the party with the greatest weight / (2 * replicas + 1). A tie goes to the one with fewer replicas,
then by name, in the direction of the hash of the template's uid. So not every template favours `a`.

Karmada: pkg/util/helper/webster.go; same. Weights are compared as IEEE doubles, as there.
"""

import heapq
from collections.abc import Collection, Mapping

from leeward.api.names import fnv1a_32

NOBODY: Mapping[str, int] = {}


def divide(
    replicas: int,
    weights: Mapping[str, int],
    initial: Mapping[str, int] | None = None,
    uid: str = "",
    first: Mapping[str, int] = NOBODY,
) -> dict[str, int]:
    """`replicas` more on top of `initial`, by weight; unchanged when no party has weight. Ranks in `first` break ties.

    Holds: S3 (the sum grows by exactly `replicas`, when there is weight at all).
    """
    held = dict(initial or {})
    if sum(weights.values()) == 0 or (replicas == 0 and held):
        return held
    return allocate_seats(replicas, weights, held, names_descend(uid), first)


def names_descend(uid: str) -> bool:
    """Tells in which direction names break ties for the template with this uid."""
    return bool(uid) and fnv1a_32(uid) % 2 == 1


def first_seats(
    replicas: int, weights: Mapping[str, int], used: Collection[str], first: Mapping[str, int]
) -> dict[str, int]:
    """One replica for each party of `first` that is not `used`, the greatest rank first, as long as there are any."""
    ranked = sorted(first, key=lambda party: (-first[party], party))
    return dict.fromkeys([party for party in ranked if weights.get(party) and party not in used][:replicas], 1)


def allocate_seats(
    seats: int,
    votes: Mapping[str, int],
    initial: Mapping[str, int],
    descend: bool = False,
    first: Mapping[str, int] = NOBODY,
) -> dict[str, int]:
    """The pure method: parties only in `initial` take part without votes."""
    parties = sorted({*votes, *initial}, reverse=descend)
    if first:
        parties.sort(key=lambda party: -first.get(party, 0))
    held = {party: max(0, initial.get(party, 0)) for party in parties}
    remaining = seats - _seat_the_certain(seats, votes, held)
    order = {party: position for position, party in enumerate(parties)}
    heap = [_claim(party, votes, held, order) for party in parties]
    heapq.heapify(heap)
    for _ in range(remaining if heap else 0):
        party = parties[heap[0][2]]
        held[party] += 1
        heapq.heapreplace(heap, _claim(party, votes, held, order))
    return held


def _claim(
    party: str, votes: Mapping[str, int], held: Mapping[str, int], order: Mapping[str, int]
) -> tuple[float, int, int]:
    seats = held[party]
    return (-(float(votes.get(party, 0)) / float(2 * seats + 1)), seats, order[party])


def _seat_the_certain(seats: int, votes: Mapping[str, int], held: dict[str, int]) -> int:
    """Gives the seats that every party gets in any case, so that huge numbers take no longer than small ones.

    With the divisor chosen low enough, rounding cannot hand out more than `seats`; the last of each party's seats is
    left to the exact method. A party that holds more than its share keeps that, and the others share the rest. Returns
    how many were given.
    """
    sharing = {party: share for party, share in votes.items() if share > 0}
    left = (
        seats + sum(held.values()) - (len(votes) + 1) // 2 - sum(held[party] for party in held.keys() - sharing.keys())
    )
    while sharing and left > 0:
        total = sum(sharing.values())
        fair = {party: share * left // total for party, share in sharing.items()}
        over = [party for party, share in fair.items() if held[party] > share]
        if not over:
            more = {party: max(0, share - 1 - held[party]) for party, share in fair.items()}
            held.update({party: held[party] + count for party, count in more.items()})
            return sum(more.values())
        for party in over:
            left -= held[party]
            del sharing[party]
    return 0
