"""The one law: what may be taken away, for every truth within the bounds."""

from collections.abc import Iterator, Mapping
from itertools import product

from leeward.core.copies.disruption import CopyTable, KnownCopy

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
