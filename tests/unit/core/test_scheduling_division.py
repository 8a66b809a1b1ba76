"""Division by Webster's method: shortcuts give what one seat after the other gives, in a time that knows no numbers."""

import random
from collections.abc import Mapping

import numpy as np
import pytest

from leeward.core.scheduling.division import allocate_seats, divide, names_descend
from leeward.core.scheduling.vector_allocation import allocate

MOST = 2**31 - 1


def one_by_one(seats: int, votes: Mapping[str, int], initial: Mapping[str, int], *, descend: bool) -> dict[str, int]:
    parties = sorted({*votes, *initial}, reverse=descend)
    held = {party: initial.get(party, 0) for party in parties}
    for _ in range(seats):
        first = min(parties, key=lambda p: (-(votes.get(p, 0) / (2 * held[p] + 1)), held[p], parties.index(p)))
        held[first] += 1
    return held


def test_seats_on_top_of_others_are_those_of_the_exact_method() -> None:
    draw = random.Random(15)
    for _ in range(2_000):
        votes = {f"p{n}": draw.choice([1, 1, 2, 3, 7, 50, 1_000]) for n in range(draw.randint(1, 6))}
        initial = {f"p{n}": draw.choice([0, 0, 1, 2, 9, 40]) for n in range(draw.randint(0, 7))}
        seats, descend = draw.choice([0, 1, 2, 5, 17, 60]), draw.random() < 0.5
        exact = one_by_one(seats, votes, initial, descend=descend)
        assert allocate_seats(seats, votes, initial, descend) == exact, (seats, votes, initial)


def test_many_parties_at_once_get_what_each_gets_alone() -> None:
    draw = random.Random(16)
    for _ in range(200):
        count = draw.randint(24, 60)
        votes = np.array([draw.choice([1, 1, 2, 3, 7, 50, 1_000]) for _ in range(count)])
        initial = np.array([draw.choice([0, 0, 1, 2, 9, 40]) for _ in range(count)])
        seats, descend = draw.choice([1, 5, 17, 60, 500, 5_000]), draw.random() < 0.5
        names = [f"{n:02}" for n in range(count)]
        alone = allocate_seats(
            seats,
            dict(zip(names, votes.tolist(), strict=True)),
            dict(zip(names, initial.tolist(), strict=True)),
            descend,
        )
        assert allocate(seats, votes, initial, descend).tolist() == [alone[name] for name in names]


def test_the_most_replicas_that_can_be_asked_for_take_no_time() -> None:
    """One after the other they would take a quarter of an hour, in which nobody else is decided for."""
    assert allocate_seats(MOST // 2 + 1, {"b": 1}, {"b": MOST // 2}) == {"b": MOST}
    shared = allocate_seats(MOST, {"a": 1, "b": 5}, {"a": MOST, "c": MOST})
    assert shared == {"a": MOST, "b": MOST, "c": MOST}
    initial = np.arange(49) * 10**7
    assert int(allocate(MOST, np.arange(1, 50), initial, False).sum()) == MOST + int(initial.sum())


@pytest.mark.parametrize("count", [3, 24])
@pytest.mark.parametrize("before", [0, MOST])
def test_weights_that_are_beyond_64_bits_together_are_divided_exactly(count: int, before: int) -> None:
    votes = [2**40 + 12_345 * n for n in range(count)]
    names = [f"p{n:02}" for n in range(count)]
    alone = allocate_seats(MOST, dict(zip(names, votes, strict=True)), dict.fromkeys(names, before))
    together = allocate(MOST, np.array(votes), np.full(count, before), False)
    assert together.tolist() == [alone[name] for name in names]


def test_a_count_below_nothing_is_nothing() -> None:
    assert allocate_seats(3, {"a": 1}, {"a": -MOST}) == {"a": 3}
    assert allocate(48, np.ones(24, dtype=np.int64), np.full(24, -MOST), False).tolist() == [2] * 24


def test_many_light_parties_may_take_more_than_their_quota_from_a_heavy_one() -> None:
    """Each of sixty has a quota of a little more than half a seat: by Webster's rounding they win one each."""
    light = [f"light-{n:02}" for n in range(60)]
    votes = {"heavy": 16_940, **dict.fromkeys(light, 51)}
    assert allocate_seats(226, votes, {}) == {"heavy": 166, **dict.fromkeys(light, 1)}
    assert allocate(226, np.array(list(votes.values())), np.zeros(61, dtype=np.int64), False).tolist() == [
        166,
        *[1] * 60,
    ]


@pytest.mark.parametrize(
    ("replicas", "weights", "initial", "expected"),
    [
        (3, {"a": 0, "b": 0}, {"c": 2}, {"c": 2}),
        (3, {}, None, {}),
        (0, {"a": 1}, {"c": 2}, {"c": 2}),
        (0, {"a": 1, "b": 0}, None, {"a": 0, "b": 0}),
        (1, {"a": 1}, {"c": 2}, {"a": 1, "c": 2}),
    ],
)
def test_nothing_is_shared_out_where_nothing_is_to_be_or_nobody_has_weight(
    replicas: int, weights: Mapping[str, int], initial: Mapping[str, int] | None, expected: Mapping[str, int]
) -> None:
    assert divide(replicas, weights, initial) == expected


@pytest.mark.parametrize(("uid", "first"), [("", "a"), ("u", "a"), ("b", "c")])
def test_the_uid_gives_the_direction_in_which_names_break_ties(uid: str, first: str) -> None:
    assert divide(1, {"a": 1, "b": 1, "c": 1}, None, uid)[first] == 1
    assert names_descend(uid) is (first == "c")
