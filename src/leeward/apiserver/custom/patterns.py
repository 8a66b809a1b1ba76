"""Regular expressions that a definition brings: matched in time linear in the text, as Go's are.

Python's own engine backtracks: `(a+)+$` on thirty letters would hold up everybody for minutes. The syntax is Rust's,
which like Go's has no lookaround and no references back, and the size of a compiled pattern is bounded.
"""

from collections.abc import Callable
from functools import lru_cache

REMEMBERED_PATTERNS = 1_024
_FORM = "must be a regular expression without lookaround and backreferences, and not too large"


@lru_cache(REMEMBERED_PATTERNS)
def compile_pattern(text: str) -> Callable[[str], bool]:
    """Whether a text has a match anywhere in it. Raises: ValueError."""
    import jsonschema_rs as library

    try:
        validator = library.Draft202012Validator({"pattern": text}, pattern_options=library.RegexOptions())
    except library.ValidationError as error:
        raise ValueError(_FORM) from error
    return validator.is_valid
