"""Parameters of one test of which a few are enough for `make test`; the others are for `make long`."""

from collections.abc import Iterable
from typing import TypeVar

import pytest

T = TypeVar("T")


def mostly_long(values: Iterable[T], *quick: T) -> list[object]:
    """Parameters of these values, marked `long` but for those that are named. Raises: ValueError where a named one is
    missing."""
    left = list(quick)
    found: list[object] = []
    for value in values:
        if value in left:
            left.remove(value)
            found.append(value)
        else:
            found.append(pytest.param(value, marks=pytest.mark.long))
    if left:
        raise ValueError(f"{left} are no parameters of this test")
    return found
