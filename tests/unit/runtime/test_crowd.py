"""A crowd is many at once, not the same few again and again, nor many one after the other."""

from leeward.runtime.crowd import Crowd


def test_so_many_within_so_long_are_a_crowd() -> None:
    crowd = Crowd(3, 10)
    for who, now in (("a", 0), ("b", 4)):
        crowd.add(who, now)
        assert not crowd.is_there(now)
    crowd.add("c", 9)
    assert crowd.is_there(9)
    assert not crowd.is_there(10)


def test_the_same_few_are_no_crowd_however_often_they_come() -> None:
    crowd = Crowd(3, 10)
    for now in range(8):
        crowd.add("ab"[now % 2], now)
    assert not crowd.is_there(8)


def test_who_comes_again_counts_from_then() -> None:
    crowd = Crowd(3, 10)
    for who, now in (("a", 0), ("b", 4), ("a", 8), ("c", 9)):
        crowd.add(who, now)
    assert crowd.is_there(13)
    assert not crowd.is_there(14)


def test_with_a_size_of_nothing_there_always_is_one() -> None:
    assert Crowd(0, 10).is_there(5)
