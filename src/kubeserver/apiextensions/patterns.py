"""Regular expressions that a definition brings: matched in time linear in the text, as Go's are.

Python's own engine backtracks: `(a+)+$` on thirty letters would hold up everybody for minutes. The syntax is Rust's,
which like Go's has no lookaround and no references back, and the size of a compiled pattern is bounded. Of large ones
few are remembered: a thousand of them would take all memory.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

REMEMBERED_PATTERNS = 1_024
SMALL_BYTES = 256 * 1024
"""Of a compiled pattern: such as a name, an address, a quantity."""
REMEMBERED_LARGE_PATTERNS = 32
LARGE_BYTES = 10 * 1024 * 1024
_FORM = "must be a regular expression without lookaround and backreferences, and not too large"

Matches = Callable[[str], bool]
"""Whether a text has a match anywhere in it."""


def compile_pattern(text: str) -> Matches:
    """Raises: ValueError."""
    return _compile_small(text) or _compile_large(text)


def is_large(text: str) -> bool:
    """Whether it takes much time and memory; also of one that cannot be compiled."""
    return _compile_small(text) is None


@lru_cache(REMEMBERED_PATTERNS)
def _compile_small(text: str) -> Matches | None:
    """None for one that is large, or none."""
    try:
        return _compile(text, SMALL_BYTES)
    except ValueError:
        return None


@lru_cache(REMEMBERED_LARGE_PATTERNS)
def _compile_large(text: str) -> Matches:
    """Raises: ValueError."""
    return _compile(text, LARGE_BYTES)


def _compile(text: str, size_limit: int) -> Matches:
    """Raises: ValueError."""
    import jsonschema_rs as library

    options: Any = library.RegexOptions(size_limit=size_limit)
    try:
        validator = library.Draft202012Validator({"pattern": text}, pattern_options=options)
    except library.ValidationError as error:
        raise ValueError(_FORM) from error
    return validator.is_valid
