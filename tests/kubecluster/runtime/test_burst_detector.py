"""A burst is many at once, not the same few again and again, nor many one after the other."""

from controller_runtime.burst_detector import BurstDetector


def test_so_many_within_so_long_are_a_burst() -> None:
    burst = BurstDetector(3, 10)
    for who, now in (("a", 0), ("b", 4)):
        burst.add(who, now)
        assert not burst.is_there(now)
    burst.add("c", 9)
    assert burst.is_there(9)
    assert not burst.is_there(10)


def test_the_same_few_are_no_burst_however_often_they_come() -> None:
    burst = BurstDetector(3, 10)
    for now in range(8):
        burst.add("ab"[now % 2], now)
    assert not burst.is_there(8)


def test_who_comes_again_counts_from_then() -> None:
    burst = BurstDetector(3, 10)
    for who, now in (("a", 0), ("b", 4), ("a", 8), ("c", 9)):
        burst.add(who, now)
    assert burst.is_there(13)
    assert not burst.is_there(14)


def test_with_a_size_of_nothing_there_always_is_one() -> None:
    assert BurstDetector(0, 10).is_there(5)
