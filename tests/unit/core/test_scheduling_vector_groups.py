"""The best groups are chosen on arrays as cluster by cluster, whatever the clusters weigh."""

import random
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest

from leeward.core.scheduling.groups import groupings
from leeward.core.scheduling.model import Candidate, Request, Unplaceable
from leeward.core.scheduling.spread_fields import cluster_constraint
from leeward.core.scheduling.spreading import select_by_groups
from leeward.core.scheduling.vector_groups import best_by_group
from tests.placements import binding_spec, cluster

DUPLICATED = {"replicaSchedulingType": "Duplicated"}
DIVIDED = {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"}


class Member(NamedTuple):
    """A cluster that passed the filters."""

    region: str
    room: int
    score: int = 0
    held: int = 0


def asking(replicas: int, divides: bool, constraints: Sequence[dict[str, Any]], members: Sequence[Member]) -> Request:
    """A failover, where something is held."""
    placement = {"replicaScheduling": DIVIDED if divides else DUPLICATED, "spreadConstraints": constraints}
    held = {f"m{at}": member.held for at, member in enumerate(members) if member.held}
    return Request(binding_spec(placement, replicas, held), keep_assigned=bool(held))


def one_by_one(request: Request, members: Sequence[Member]) -> list[int] | None:
    """Positions of the members that are selected, sorted; None when the constraints cannot be met."""
    constraints = request.placement.spread_constraints
    candidates = [
        Candidate(cluster(f"m{at}", region=member.region), 0, member.score, member.room, member.held)
        for at, member in enumerate(members)
    ]
    ranked = sorted(candidates, key=lambda each: (not request.keeps(each.name), each.rank))
    chosen = select_by_groups(request, ranked, groupings(constraints), cluster_constraint(constraints))
    return None if isinstance(chosen, Unplaceable) else [int(each.name[1:]) for each in chosen]


def on_arrays(request: Request, members: Sequence[Member]) -> list[int] | None:
    constraints = request.placement.spread_constraints
    names = sorted({member.region for member in members if member.region})
    codes = np.array([names.index(member.region) if member.region else -1 for member in members])
    available = np.array([member.room + member.held for member in members])
    score = np.array([member.score for member in members])
    held = np.array([request.keeps(f"m{at}") for at in range(len(members))])
    order = np.lexsort((-available, -score, ~held))
    grouping, constraint = groupings(constraints)[0], cluster_constraint(constraints)
    chosen = best_by_group(request, grouping, constraint, (codes, names), order, available, score, held)
    return None if chosen is None else chosen.tolist()


def over(by: str, low: int, high: int) -> dict[str, Any]:
    return {"spreadByField": by, "minGroups": low, "maxGroups": high}


def drawn(random_: random.Random) -> tuple[Request, list[Member]]:
    regions = ["", *(f"r{n}" for n in range(random_.randint(1, 5)))]
    held = random_.choice([0, 0, 3])
    members = [
        Member(
            random_.choice(regions),
            random_.choice([0, 1, 2, 3, 5, 9]),
            random_.choice([0, 0, 33, 34, 100]),
            random_.choice([0, held]),
        )
        for _ in range(random_.randint(1, 7))
    ]
    low = random_.randint(0, 3)
    constraints = [over("region", low, low + random_.randint(0, 2))]
    if random_.random() < 0.6:
        fewest = random_.randint(0, 4)
        constraints.append(over("cluster", fewest, fewest + random_.randint(0, 3)))
    return asking(random_.choice([0, 1, 2, 3, 5, 9, 14]), random_.random() < 0.5, constraints, members), members


@pytest.mark.parametrize("seed", range(8))
def test_groups_are_chosen_on_arrays_as_one_by_one(seed: int) -> None:
    random_ = random.Random(seed)
    met = 0
    for _ in range(300):
        request, members = drawn(random_)
        expected = one_by_one(request, members)
        assert on_arrays(request, members) == expected, (request.spec, members)
        met += expected is not None
    assert 75 <= met <= 290, "constraints that are always met, or never, show nothing"


@pytest.mark.parametrize(
    ("replicas", "divides", "constraints", "members", "chosen"),
    [
        (4, False, [over("region", 1, 1)], [Member("a", 3), Member("b", 4)], [1]),
        (4, False, [over("region", 1, 1)], [Member("a", 4), Member("b", 4, 100)], [1]),
        (4, True, [over("region", 2, 2)], [Member("a", 1), Member("b", 2), Member("c", 3)], [1, 2]),
        (4, True, [over("region", 2, 2)], [Member("a", 2), Member("b", 2), Member("", 90)], [0, 1]),
        (4, True, [over("region", 3, 3)], [Member("a", 9), Member("b", 9)], None),
        (
            4,
            True,
            [over("region", 1, 1), over("cluster", 2, 2)],
            [Member("a", 9), Member("b", 2), Member("b", 1)],
            [1, 2],
        ),
    ],
    ids=["room for all copies", "a score", "room for a share", "outside of all groups", "too few", "too few clusters"],
)
def test_the_heaviest_groups_that_are_large_enough_are_chosen(
    replicas: int, divides: bool, constraints: list[dict[str, Any]], members: list[Member], chosen: list[int] | None
) -> None:
    request = asking(replicas, divides, constraints, members)
    assert on_arrays(request, members) == chosen == one_by_one(request, members)


def test_the_mean_score_of_a_group_is_a_whole_number() -> None:
    """A third of a point decides nothing: the name does."""
    thirds = [Member("b", 4, 34), Member("b", 4, 33), Member("b", 4, 33)]
    even = [Member("a", 4, 33)] * 3
    for divides in (False, True):
        request = asking(12 if divides else 4, divides, [over("region", 1, 1)], [*thirds, *even])
        assert on_arrays(request, [*thirds, *even]) == [3] == one_by_one(request, [*thirds, *even])


def test_the_share_of_a_group_is_a_whole_number() -> None:
    """Each of two groups is to take three of five replicas: three and none are as good as two and one."""
    members = [Member("a", 3), *[Member("b", 0)] * 3, Member("c", 1), Member("c", 1), Member("d", 1), Member("d", 0)]
    request = asking(5, True, [over("region", 2, 2), over("cluster", 4, 4)], members)
    assert on_arrays(request, members) == [0, 1, 2, 3] == one_by_one(request, members)


def test_a_group_that_cannot_take_all_copies_weighs_nothing() -> None:
    """Several of them do not outweigh a group that is a little better."""
    small = [Member("a", 9), Member("b", 1), Member("c", 1)]
    large = [Member("d", 9, 1), Member("d", 1), Member("d", 1)]
    request = asking(9, False, [over("region", 1, 3), over("cluster", 3, 3)], [*small, *large])
    assert on_arrays(request, [*small, *large]) == [3, 4, 5] == one_by_one(request, [*small, *large])
