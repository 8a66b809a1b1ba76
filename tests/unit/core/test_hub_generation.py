"""Generations of hubs, as annotations of Namespaces say them."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from leeward.core.hub_generation import (
    HUB_FENCE_ANNOTATION,
    HUB_GENERATION_ANNOTATION,
    LARGEST_GENERATION,
    MOST_AHEAD,
    MOST_HUBS,
    NEVER,
    Generation,
    UnreadableGeneration,
    fences_of,
    generation_of,
    hub_to_follow,
    problem_of_generation,
    render_fences,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)
FIRST, LATER = Generation.after(0, 2, NOW, "zz"), Generation.after(0, 2, NOW + timedelta(seconds=1), "aa")


def test_a_hub_that_never_took_over_has_generation_0() -> None:
    assert generation_of({}) == NEVER
    assert generation_of({HUB_GENERATION_ANNOTATION: "7"}) == Generation(7)
    assert generation_of({HUB_GENERATION_ANNOTATION: str(LARGEST_GENERATION)}) == Generation(LARGEST_GENERATION)
    assert generation_of({HUB_GENERATION_ANNOTATION: str(FIRST)}) == FIRST
    assert generation_of({HUB_GENERATION_ANNOTATION: "1/2026-01-01T00:00:00Z-a"}) < FIRST, (
        "as an older version wrote it"
    )


@pytest.mark.parametrize(
    "text", ["", "-1", "1.5", "two", "\u0663", "9" * 17, str(LARGEST_GENERATION + 1), "1/", "1/a b", "1/" + "a" * 65]
)
def test_a_generation_that_is_no_number_is_named(text: str) -> None:
    with pytest.raises(UnreadableGeneration, match=r"leeward\.dev/hub-generation .* `leeward take-over --force`"):
        generation_of({HUB_GENERATION_ANNOTATION: text})


def test_what_is_rendered_is_read_in_one_order() -> None:
    met = {"b": FIRST, "a": Generation(1)}
    text = render_fences(met)
    assert text == f'{{"a":1,"b":"{FIRST}"}}'
    assert fences_of({HUB_FENCE_ANNOTATION: text}) == met
    assert fences_of({}) == {}


@pytest.mark.parametrize(
    "text",
    [
        "nonsense",
        "[1]",
        '{"a":"one"}',
        '{"a":-1}',
        '{"a":1e99}',
        render_fences({str(n): FIRST for n in range(MOST_HUBS + 1)}),
    ],
)
def test_a_fence_that_cannot_be_read_is_named_and_nothing_is_done_there(text: str) -> None:
    with pytest.raises(UnreadableGeneration, match=r"leeward\.dev/hub-fence .*remove the annotation"):
        fences_of({HUB_FENCE_ANNOTATION: text})


def test_a_mark_that_no_take_over_has_written_is_to_be_removed() -> None:
    assert "take-over" in problem_of_generation(Generation(1), Generation(1 + MOST_AHEAD))
    told = problem_of_generation(Generation(1), Generation(2 + MOST_AHEAD))
    assert "leeward.dev/hub-fence" in told
    assert told.endswith("remove the annotation")


@pytest.mark.parametrize(("own", "met", "is_fenced"), [(0, 0, False), (1, 0, False), (2, 2, False), (1, 2, True)])
def test_an_older_hub_alone_is_fenced(own: int, met: int, *, is_fenced: bool) -> None:
    problem = problem_of_generation(Generation(own), Generation(met))
    assert bool(problem) is is_fenced
    assert not problem or f"generation {met}" in problem


def test_of_two_that_took_over_from_one_copy_one_is_fenced_whoever_of_them_comes_first() -> None:
    before, slow_clock = NOW - timedelta(days=1), Generation.after(0, 1, NOW - timedelta(hours=1), "aa")
    order = [NEVER, slow_clock, LATER, FIRST, Generation.after(0, 3, NOW, "zz"), Generation.after(1, 0, before, "aa")]
    assert sorted([*order[2:], *order[:2]]) == order
    assert all(older < newer and not newer <= older for older, newer in pairwise(order))
    assert not problem_of_generation(FIRST, LATER)
    assert "from the same copy" in problem_of_generation(LATER, FIRST)


@pytest.mark.parametrize(
    ("generations", "current", "newest", "followed"),
    [
        ([0, None], None, 0, 0),
        ([None, None], None, 0, None),
        ([1, 1], None, 0, 0),
        ([1, 1], 1, 1, 0),
        ([None, 1], 1, 1, 1),
        ([1, 2], 0, 1, 1),
        ([None, 2], 0, 2, 0),
        ([None, 3], 0, 2, 1),
        ([None, 1], 0, 2, 0),
        ([1, None], 1, 2, 1),
        ([None, None], 1, 2, 1),
    ],
)
def test_an_agent_follows_the_newest_generation_and_leaves_a_silent_hub_for_no_copy(
    generations: list[int | None], current: int | None, newest: int, followed: int | None
) -> None:
    found = [each if each is None else Generation(each) for each in generations]
    assert hub_to_follow(found, current, Generation(newest)) == followed
