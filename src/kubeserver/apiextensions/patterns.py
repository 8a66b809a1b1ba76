"""Regular expressions that a definition brings: matched in time linear in the text, as Go's are.

Python's own engine backtracks: `(a+)+$` on thirty letters would hold up everybody for minutes. The library's syntax is
near to Go's (`pattern_syntax.py`): it has no lookaround and no references back. The size of a compiled pattern is
bounded. Of large ones few are remembered: a thousand of them would take all memory.

Linear is not quick: for each letter an engine may look at every state of a pattern, and ten thousand repetitions have
as many. So what is asked in one write has a budget (`MatchBudget`) of letters times the size of their patterns.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any, NamedTuple

from kubeserver.apiextensions.pattern_syntax import for_library

REMEMBERED_PATTERNS = 1_024
SMALL_BYTES = 256 * 1024
"""Bytes of a compiled pattern up to which it is small: such as a name, an address, a quantity."""
GRADES = (4 * 1024, 16 * 1024, 64 * 1024, SMALL_BYTES, 1024 * 1024, 10 * 1024 * 1024)
"""Sizes of compiled patterns that are told apart."""
MATCH_BUDGET = 5_000_000_000
"""Budget of one write, in bytes of text times bytes of its compiled pattern; at the worst it takes half a second to a
second. A name of 253 letters may be asked about by the largest pattern, and a text of a MiB by one of 4 KiB."""
REMEMBERED_LARGE_PATTERNS = 32
_FORM = "must be a regular expression without lookaround and backreferences, and not too large"

Matches = Callable[[str], bool]
"""Predicate that tells whether a text has a match anywhere in it."""


class _Compiled(NamedTuple):
    """`size` is the grade that it fits into."""

    matches: Matches
    size: int


class MatchBudget:
    """Budget for matching in one write. `spent_at` is where it did not suffice: nothing is matched from then on, and
    the write is to be refused."""

    def __init__(self, units: int = MATCH_BUDGET) -> None:
        self._left = units
        self.spent_at: str | None = None

    def charge(self, pattern: str, text: str, path: str) -> bool:
        """Tells whether this match may be made. Raises: ValueError for what is no pattern."""
        if self.spent_at is None:
            size = len(text) if text.isascii() else len(text.encode(errors="replace"))
            self._left -= size * _compiled(pattern).size
            self.spent_at = path if self._left < 0 else None
        return self.spent_at is None


def compile_pattern(text: str) -> Matches:
    """Raises: ValueError."""
    return _compiled(text).matches


def is_large(text: str) -> bool:
    """Tells whether it takes much time and memory; also of one that cannot be compiled."""
    return _compile_small(text) is None


def _compiled(text: str) -> _Compiled:
    """Raises: ValueError."""
    return _compile_small(text) or _compile_large(text)


@lru_cache(REMEMBERED_PATTERNS)
def _compile_small(text: str) -> _Compiled | None:
    """None for one that is large, or none."""
    try:
        return _smallest(text, [size for size in GRADES if size <= SMALL_BYTES])
    except ValueError:
        return None


@lru_cache(REMEMBERED_LARGE_PATTERNS)
def _compile_large(text: str) -> _Compiled:
    """Raises: ValueError."""
    return _smallest(text, [size for size in GRADES if size > SMALL_BYTES])


def _smallest(text: str, sizes: Sequence[int]) -> _Compiled:
    """Compiled within the first of `sizes` that suffices. Raises: ValueError."""
    *tried, last = sizes
    for size in tried:
        with suppress(ValueError):
            return _Compiled(_compile(text, size), size)
    return _Compiled(_compile(text, last), last)


def _compile(text: str, size_limit: int) -> Matches:
    """Raises: ValueError."""
    import jsonschema_rs as library

    options: Any = library.RegexOptions(size_limit=size_limit)
    try:
        validator = library.Draft202012Validator({"pattern": for_library(text)}, pattern_options=options)
    except library.ValidationError as error:
        raise ValueError(_FORM) from error
    return validator.is_valid
