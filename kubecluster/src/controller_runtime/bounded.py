"""Bounds of memories: the latest entries stay, in the order in which they were put."""

from typing import Any


def keep_latest(known: dict[Any, Any], most: int) -> None:
    """Forgets the first entries, until there are no more than `most`."""
    while len(known) > most:
        del known[next(iter(known))]
