"""Maps in arrays and pools of numbers: they say what a dictionary says, whatever is put in and taken out."""

import tracemalloc
from collections import Counter
from random import Random

import pytest

from kubeapi import compact_map
from kubeapi.compact_map import CompactMap
from kubeapi.numbered_pool import UNKNOWN, NumberedPool
from leeward.planning.changed_names import MOST_NAMES_KEPT, ChangedNames


@pytest.mark.parametrize("spread", [1, 7, 2**64 - 1], ids=["all in one slot", "few slots", "as in production"])
def test_it_says_what_a_dictionary_says(spread: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys are tried, too, that meet in the same slots, and that wrap around the end."""
    keys: dict[str, int] = {}

    def key_of(text: str) -> int:
        number = keys.setdefault(text, len(keys) + 1)
        return number if spread > 7 else 1 + (8 * number) * spread

    monkeypatch.setattr(compact_map, "_key", key_of)
    random, expected, found = Random(spread), dict[str, int](), CompactMap()
    for turn in range(4_000):
        text = f"pod-{random.randrange(150)}"
        if random.random() < (0.6 if turn < 2_000 else 0.3):
            value = random.randrange(2**64)
            assert found.put(text, value) == expected.get(text)
            expected[text] = value
        else:
            assert found.pop(text) == expected.pop(text, None)
        assert len(found) == len(expected)
        assert found.get(text) == expected.get(text)
    assert expected
    assert {text: found.get(text) for text in keys} == {text: expected.get(text) for text in keys}


def test_nothing_is_found_in_an_empty_map() -> None:
    empty = CompactMap()
    assert (empty.get("a"), empty.pop("a"), len(empty)) == (None, None, 0)


def test_keys_are_never_that_of_an_empty_slot() -> None:
    class Zero(str):
        __slots__ = ()

        def __hash__(self) -> int:
            return 0

    found = CompactMap()
    found.put(Zero("a"), 5)
    assert (found.get(Zero("a")), len(found)) == (5, 1)


def test_an_entry_takes_some_tens_of_bytes() -> None:
    tracemalloc.start()
    try:
        found = CompactMap()
        before = tracemalloc.get_traced_memory()[0]
        for number in range(5_000):
            found.put(f"default/pod-{number}", number)
        assert (tracemalloc.get_traced_memory()[0] - before) / len(found) < 48
    finally:
        tracemalloc.stop()


def test_a_pool_gives_the_number_of_what_nobody_uses_to_the_next() -> None:
    pool, uses, random = NumberedPool[str, str](), Counter[str](), Random(3)
    for _ in range(3_000):
        key = f"node-{random.randrange(20)}"
        if random.random() < 0.5:
            number = pool.number(key)
            number = pool.add(key, key.upper()) if number == UNKNOWN else number
            pool.take(number)
            uses[key] += 1
        elif uses[key]:
            uses[key] -= 1
            assert pool.release(pool.number(key)) == (None if uses[key] else key.upper())
        assert (pool.number(key) == UNKNOWN) == (not uses[key])
    for key in +uses:
        number = pool.number(key)
        assert (pool.key(number), pool.value(number)) == (key, key.upper())
        assert number < 20


def test_changes_that_nobody_asks_for_are_bounded_and_become_all() -> None:
    changed = ChangedNames()
    assert changed.take() is None
    changed.add("a")
    assert changed.take() == {"a"}
    assert changed.take() == set()
    for number in range(MOST_NAMES_KEPT + 2):
        changed.add(str(number))
    assert changed.take() is None
    assert changed.take() == set()
