"""The one law: what may be taken away, for every truth within the bounds."""

from collections.abc import Iterator, Mapping
from itertools import product

import msgspec
import pytest

from leeward.api.work import GracefulEvictionTask, Work
from leeward.core.copies.disruption import CopyTable, KnownCopy
from tests.builders import at, binding, cluster, divided, fleet, table, targets, wanting, work

NAMES = ("a", "b", "c")
BOUNDS = [(least, most) for most in range(3) for least in range(most + 1)]
STAYS = 9
"""Number that stays of a copy that is not taken: all of it."""


def tables() -> Iterator[tuple[CopyTable, Mapping[str, int]]]:
    """All tables of three copies that may serve 2 each, with all that may be taken of them."""
    for bounds, asked in product(product(BOUNDS, repeat=3), range(1, 6)):
        rows = {name: KnownCopy(most, most, least, most) for name, (least, most) in zip(NAMES, bounds, strict=True)}
        for left in product((STAYS, 0, 1), repeat=3):
            taken = {name: stays for name, stays in zip(NAMES, left, strict=True) if stays < STAYS}
            if taken:
                yield CopyTable(rows, asked), taken


def is_safe(copies: CopyTable, taken: Mapping[str, int]) -> bool:
    """Tells whether no truth within the bounds loses what is asked for, and was there."""
    rows = copies.rows.items()
    for truth in product(*(range(row.at_least, row.at_most + 1) for _, row in rows)):
        after = sum(min(serves, taken.get(name, STAYS)) for serves, (name, _) in zip(truth, rows, strict=True))
        if after < min(copies.asked, sum(truth)):
            return False
    return True


def test_s1_the_law_is_exact_for_all_tables_of_three_copies() -> None:
    """Nothing goes that may be missed, and nothing else is kept."""
    judged = [(copies.may_disrupt(taken), is_safe(copies, taken)) for copies, taken in tables()]
    assert len(judged) == 28_080
    assert all(may is safe for may, safe in judged)


@pytest.mark.parametrize(("made", "may_go"), [(149, False), (150, True)])
def test_s1_a_part_that_is_older_than_one_of_the_evictions_has_a_load_of_its_own(made: int, *, may_go: bool) -> None:
    """One eviction was held for long when the other began. The cluster wants four of eight."""
    tasks = tuple(
        GracefulEvictionTask(name, "TaintUntolerated", "someone", replicas=4, creation_timestamp=at(seconds))
        for name, seconds in (("a", 0), ("b", 150))
    )
    names = ("a", "b", "c")
    bound = binding(divided(dict.fromkeys(names, 1)), 8, targets(c=8), tasks)
    works = {"b": wanting(4, _made(work("b", 4), -100)), "c": wanting(4, _made(work("c", 4), made))}
    copies = table(bound, fleet(*map(cluster, names)), works, at(200))
    assert copies.may_disrupt({"a": 0, "b": 0}) is may_go


def _made(copy: Work, seconds: float) -> Work:
    return msgspec.structs.replace(
        copy, metadata=msgspec.structs.replace(copy.metadata, creation_timestamp=at(seconds))
    )
