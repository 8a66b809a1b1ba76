"""Parts that are kept of a status that a member reports."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import pytest

from leeward.core.interpreter.plausible import (
    MAX_COUNT,
    MAX_DEPTH,
    MAX_NUMBER,
    Kept,
    plausible_count,
    plausible_status,
)

ROOM = 1 << 20


def nested(levels: int, inmost: Any, listed: bool) -> Any:
    """`inmost` below so many mappings or lists."""
    for _ in range(levels):
        inmost = [inmost] if listed else {"a": inmost}
    return inmost


@pytest.mark.parametrize(
    ("status", "kept"),
    [
        pytest.param(None, None, id="nothing"),
        pytest.param(
            {"phase": "Bound", "n": 1.5, "b": True, "x": None}, {"phase": "Bound", "n": 1.5, "b": True, "x": None}
        ),
        pytest.param({"n": MAX_NUMBER}, {"n": MAX_NUMBER}, id="the greatest number"),
        pytest.param({"n": MAX_NUMBER + 1}, {"n": MAX_NUMBER}, id="above it"),
        pytest.param({"n": -MAX_NUMBER}, {"n": -MAX_NUMBER}, id="the least number"),
        pytest.param({"n": -MAX_NUMBER - 1}, {"n": -MAX_NUMBER}, id="below it"),
        pytest.param({"list": [1, (2, 10**30)]}, {"list": [1, [2, MAX_NUMBER]]}, id="in lists"),
        pytest.param(MappingProxyType({"n": 10**30}), {"n": MAX_NUMBER}, id="in any mapping"),
    ],
)
def test_numbers_that_cannot_be_written_are_cut_down(status: Any, kept: Any) -> None:
    found = plausible_status(status, ROOM).status
    assert found == kept
    assert type(found) is type(kept)


@pytest.mark.parametrize("listed", [False, True], ids=["mappings", "lists"])
def test_a_status_ends_at_a_depth(listed: bool) -> None:
    deepest = nested(MAX_DEPTH, "x", listed)
    assert plausible_status(deepest, ROOM).status == deepest
    assert plausible_status(nested(MAX_DEPTH + 1, "x", listed), ROOM).status == nested(MAX_DEPTH, None, listed)


@pytest.mark.parametrize(
    ("status", "left", "kept"),
    [
        pytest.param(None, 0, Kept(None, 0), id="nothing has no size"),
        pytest.param({"a": "b"}, 9, Kept({"a": "b"}, 9), id="what is left"),
        pytest.param({"a": "b"}, 8, Kept(None, 9), id="a byte more"),
    ],
)
def test_a_status_has_room_in_what_is_left(status: Mapping[str, Any] | None, left: int, kept: Kept) -> None:
    assert plausible_status(status, left) == kept


@pytest.mark.parametrize(
    ("value", "count"),
    [
        (3, 3),
        (0, 0),
        (-1, 0),
        (MAX_COUNT, MAX_COUNT),
        (MAX_COUNT + 1, MAX_COUNT),
        (True, 0),
        ("3", 0),
        (2.5, 0),
        (None, 0),
    ],
)
def test_a_count_is_one_of_replicas(value: object, count: int) -> None:
    assert plausible_count(value) == count
