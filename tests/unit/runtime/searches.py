"""Searches that pause on their way, carried out at once."""

from collections.abc import Generator
from typing import TypeVar

T = TypeVar("T")


def ended(searching: Generator[None, None, T]) -> tuple[T, int]:
    """Result of a search, and how often it paused."""
    pauses = 0
    while True:
        try:
            next(searching)
            pauses += 1
        except StopIteration as end:
            return end.value, pauses
