"""When two ends of a history agree on where something runs."""

import pytest

from leeward.sim.histories.places import Place


@pytest.mark.parametrize(
    ("here", "there", "divided", "choosy", "agree"),
    [
        ({"m1": 2, "m2": 2}, {"m1": 2, "m2": 2}, False, False, True),
        ({"m1": 2}, {"m2": 2}, False, False, False),
        ({"m1": 2, "m2": 1}, {"m1": 1, "m2": 2}, True, False, True),
        ({"m1": 3}, {"m1": 1, "m2": 2}, True, False, False),
        ({"m1": 3}, {"m2": 3}, True, True, True),
        ({"m1": 3}, {"m1": 2, "m2": 1}, True, True, False),
    ],
)
def test_ends_agree_but_for_ties(
    here: dict[str, int], there: dict[str, int], divided: bool, choosy: bool, agree: bool
) -> None:
    one, other = Place(here, divided, choosy), Place(there, divided, choosy)
    assert (one.agrees(other), other.agrees(one)) == (agree, agree)
