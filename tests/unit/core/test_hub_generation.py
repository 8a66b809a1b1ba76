"""Generations of hubs, as annotations of Namespaces say them."""

import pytest

from leeward.core.hub_generation import (
    HUB_FENCE_ANNOTATION,
    HUB_GENERATION_ANNOTATION,
    LARGEST_GENERATION,
    MOST_HUBS,
    UnreadableGeneration,
    fences_of,
    generation_of,
    hub_to_follow,
    problem_of_generation,
    render_fences,
)

TOO_MANY = render_fences({str(number): 1 for number in range(MOST_HUBS + 1)})


def test_a_hub_that_never_took_over_has_generation_0() -> None:
    assert generation_of({}) == 0
    assert generation_of({HUB_GENERATION_ANNOTATION: "7"}) == 7
    assert generation_of({HUB_GENERATION_ANNOTATION: str(LARGEST_GENERATION)}) == LARGEST_GENERATION


@pytest.mark.parametrize("text", ["", "-1", "1.5", "two", "\u0663", "9" * 17, str(LARGEST_GENERATION + 1)])
def test_a_generation_that_is_no_number_is_named(text: str) -> None:
    with pytest.raises(UnreadableGeneration, match=r"leeward\.dev/hub-generation .* `leeward take-over`"):
        generation_of({HUB_GENERATION_ANNOTATION: text})


def test_what_is_rendered_is_read_in_one_order() -> None:
    text = render_fences({"b": 2, "a": 1})
    assert text == '{"a":1,"b":2}'
    assert fences_of({HUB_FENCE_ANNOTATION: text}) == {"a": 1, "b": 2}
    assert fences_of({}) == {}


@pytest.mark.parametrize(
    "text",
    [
        "nonsense",
        "[1]",
        '{"a":"1"}',
        '{"a":-1}',
        '{"a":1e99}',
        render_fences({str(n): 1 for n in range(MOST_HUBS + 1)}),
    ],
)
def test_a_fence_that_cannot_be_read_is_named_and_nothing_is_done_there(text: str) -> None:
    with pytest.raises(UnreadableGeneration, match=r"leeward\.dev/hub-fence .*remove the annotation"):
        fences_of({HUB_FENCE_ANNOTATION: text})


@pytest.mark.parametrize(("own", "met", "is_fenced"), [(0, 0, False), (1, 0, False), (2, 2, False), (1, 2, True)])
def test_an_older_hub_alone_is_fenced(own: int, met: int, *, is_fenced: bool) -> None:
    problem = problem_of_generation(own, met)
    assert bool(problem) is is_fenced
    assert not problem or f"generation {met}" in problem


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
    assert hub_to_follow(generations, current, newest) == followed
