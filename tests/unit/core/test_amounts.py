"""Amounts that members report, and those that are absurd. Holds: S10."""

from decimal import Decimal

from leeward.core.amounts import Amount, Doubts, greatest, read_amounts, render_amounts, sum_amounts

MOST = 2**63 - 1


def test_an_amount_of_none_and_the_greatest_are_no_doubt_and_what_is_beyond_them_is_cut_down() -> None:
    doubts = Doubts()
    given = {"none": "0", "most": str(MOST), "less": "-1", "more": str(MOST + 1), "text": "many", "half": "500m"}
    read = read_amounts(given, "Node n1", doubts)
    assert read == {
        "none": Amount(Decimal(0), False),
        "most": Amount(Decimal(MOST), False),
        "less": Amount(Decimal(0), False),
        "more": Amount(Decimal(MOST), False),
        "half": Amount(Decimal("0.5"), False),
    }
    assert str(doubts) == f"Node n1: less is -1; Node n1: more is {MOST + 1}; Node n1: text is many"


def test_of_many_doubts_the_first_are_told() -> None:
    doubts = Doubts()
    read_amounts({f"n{number}": "x" * 50 for number in range(7)}, "it", doubts)
    assert str(doubts).startswith("it: n0 is " + "x" * 40 + "; it: n1 is ")
    assert str(doubts).endswith("; and 2 more")


def test_sums_are_bounded_and_keep_the_way_in_which_they_are_written() -> None:
    parts = [
        read_amounts(part, "it", Doubts())
        for part in ({"memory": "1Gi", "cpu": "1"}, {"memory": "1000", "cpu": "1500m"})
    ]
    assert render_amounts(sum_amounts(parts)) == {"cpu": "2500m", "memory": "1073742824"}
    whole = read_amounts({"cpu": str(MOST)}, "it", Doubts())
    assert sum_amounts([whole, whole])["cpu"].value == MOST
    assert sum_amounts([]) == {}


def test_of_equal_amounts_the_first_is_the_greatest() -> None:
    first, second = ({"memory": Amount(Decimal(1024), binary)} for binary in (True, False))
    assert greatest([first, second]) == first
    assert greatest([second, {"memory": Amount(Decimal(2048), True)}])["memory"].value == 2048
