"""Seats for many parties at once are those that are given one after the other."""

import random

import numpy as np
import pytest

from leeward.core.scheduling import vector_allocation
from leeward.core.scheduling.division import allocate_seats
from leeward.core.scheduling.vector_allocation import FEW, allocate, listed


def one_by_one(seats: int, votes: list[int], held: list[int], descend: bool) -> list[int]:
    labels = [f"m{position:03}" for position in range(len(votes))]
    by_name = dict(zip(labels, votes, strict=True)), dict(zip(labels, held, strict=True))
    given = allocate_seats(seats, *by_name, descend)
    return [given[label] for label in labels]


def drawn(random_: random.Random, parties: int) -> tuple[int, list[int], list[int], bool]:
    """Equal votes, a few heavy parties, or all kinds; who holds something holds little or much."""
    greatest = random_.choice([1, 3, 100, 2**40])
    votes = [random_.randint(1, greatest) for _ in range(parties)]
    votes[random_.randrange(parties)] *= random_.choice([1, 1, 50])
    most = random_.choice([0, 0, 2, 40])
    held = [random_.randint(0, most) for _ in range(parties)]
    return random_.choice([0, 1, parties // 2, parties, 400]), votes, held, random_.random() < 0.5


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("parties", [FEW - 1, FEW, 40])
def test_seats_in_bulk_are_those_given_one_after_the_other(seed: int, parties: int) -> None:
    random_ = random.Random(seed)
    for _ in range(10):
        seats, votes, held, descend = drawn(random_, parties)
        got = allocate(seats, np.array(votes), np.array(held), descend)
        assert got.dtype == np.int64
        assert got.tolist() == one_by_one(seats, votes, held, descend), (seats, votes, held, descend)


def test_what_many_small_parties_round_up_to_is_not_given_to_a_heavy_one() -> None:
    """Each of the many has a claim to a seat before the heavy one has one to its fifty-first."""
    votes = np.array([1] * 39 + [100])
    given = allocate(89, votes, np.zeros_like(votes), False)
    assert listed(given) == [1] * 39 + [50]


def test_what_is_given_leaves_what_was_held_as_it_was() -> None:
    held = np.array([1] * FEW)
    for seats in (0, 5):
        given = allocate(seats, np.array([2] * FEW), held, False)
        given += 1
        assert held.tolist() == [1] * FEW


def test_votes_beyond_what_a_number_holds_are_counted_one_by_one() -> None:
    votes = [2**61, *[2**60] * FEW]
    held = [0] * len(votes)
    assert allocate(9, np.array(votes), np.array(held), False).tolist() == one_by_one(9, votes, held, False)


def test_few_parties_and_numbers_that_are_too_large_go_the_slow_way_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of clusters are divided among without a heap."""
    slow: list[int] = []
    counted = vector_allocation.allocate_seats

    def noted(seats: int, *more: object) -> dict[str, int]:
        slow.append(seats)
        return counted(seats, *more)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(vector_allocation, "allocate_seats", noted)
    many = np.array([5] * FEW)
    for seats, votes, held in (
        (1, many[1:], 0 * many[1:]),
        (2, many, 0 * many),
        (3, many * 2**58, 0 * many),
        (4, many * 2**38, 0 * many),
        (5, many * 2**38, many * 2**30),
    ):
        allocate(seats, votes, held, False)
    assert slow == [1, 3, 5]
