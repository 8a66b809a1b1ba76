"""Shards that a machine may ask for, so that all come to equal parts and stay there."""

import pytest

from leeward.runtime.shard_spread import shard_to_ask_for


@pytest.mark.parametrize(
    ("hosts", "own", "expected"),
    [
        ("aaaa", "b", 3),
        ("aaab", "b", 2),
        ("aabb", "b", None),
        ("aabb", "a", None),
        ("aab", "b", None),
        ("a", "b", None),
        ("ab", "c", None),
        ("aabb", "c", 1),
        ("abab", "c", 2),
        ("baaa", "a", None),
    ],
)
def test_a_machine_asks_for_the_last_shard_of_one_that_has_two_more(hosts: str, own: str, expected: int | None) -> None:
    assert shard_to_ask_for(hosts, own) == expected


@pytest.mark.parametrize("machines", ["ab", "abc", "abcdefg"])
@pytest.mark.parametrize("shards", [1, 2, 5, 16])
def test_from_wherever_they_begin_they_come_to_equal_parts_and_rest(machines: str, shards: int) -> None:
    hosts, moves = [machines[0]] * shards, 0
    while asked := [(own, found) for own in machines if (found := shard_to_ask_for(hosts, own)) is not None]:
        own, index = asked[-1]
        hosts[index] = own
        moves += 1
        assert moves <= 2 * shards
    counts = [hosts.count(each) for each in machines]
    assert max(counts) - min(counts) <= 1
