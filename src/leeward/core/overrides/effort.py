"""Effort of one rendering: counted while overriders are carried out, and bounded.

A unit is about one container that is looked at, or one character of YAML: some microseconds. Overriders of one policy
may go through ten thousand containers each, and put a long text into every one. So each is charged before it begins,
and the rendering fails when its effort is spent: nothing is half carried out, and memory has the same bound.
"""

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from typing import Final, TypeVar

T = TypeVar("T")
Steps = Generator[None, None, T]
"""A computation that pauses now and then, so that its caller can let others run."""

MOST_EFFORT: Final = 2_000_000
"""Some seconds of computing, in pauses: a hundred overriders of twenty thousand containers."""
CHARACTERS_OF_A_UNIT: Final = 16
"""Characters of JSON, or of a text that is put in, that count as one unit."""


class Effort:
    """Units that one rendering has left."""

    def __init__(self, most: int = MOST_EFFORT) -> None:
        self._most = self._left = most

    def spend(self, units: int) -> None:
        """Raises: ValueError when no units are left."""
        self._left -= units
        if self._left < 0:
            raise ValueError(
                f"the overrides take more than {self._most} steps for one cluster: they go through many containers or "
                "long texts again and again; join overriders, or split the template or its texts"
            )


class Blamed(ValueError):
    """Error that names its overrider."""


@contextmanager
def naming(field: str, index: int) -> Generator[None]:
    """Context in which an error gets the field and the index of its overrider. Raises: Blamed."""
    try:
        yield
    except Blamed:
        raise
    except ValueError as error:
        raise Blamed(f"{field}[{index}]: {error}") from error


def units_of(texts: Iterable[str]) -> int:
    """Units of putting these texts in once."""
    return sum(1 + len(text) // CHARACTERS_OF_A_UNIT for text in texts)
