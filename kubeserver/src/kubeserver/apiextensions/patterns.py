"""Regular expressions that a definition brings: matched in time linear in the text, as Go's are (`go_patterns.py`).

Python's own engine backtracks: `(a+)+$` on thirty letters would hold up everybody for minutes. The size of a compiled
pattern is bounded. Of large ones few are remembered: a thousand of them would take all memory.

Linear is not quick: for each byte an engine may look at every instruction of a pattern. So matching in one write has a
budget (`MatchBudget`) of bytes times the size of their patterns.
"""

from functools import lru_cache

from kubeserver.go_patterns import MAX_BYTES, Pattern

REMEMBERED_PATTERNS = 1_024
SMALL_BYTES = 256 * 1024
"""Bytes of a compiled pattern up to which it is small: such as a name, an address, a quantity."""
MATCH_BUDGET = 100_000_000
"""Budget of one write, in bytes of text times instructions of its compiled pattern. At the worst it takes half a
second. A text of a MiB may be asked about by a pattern of 95 instructions, one of 100 KiB by one of 1,000."""
REMEMBERED_LARGE_PATTERNS = 16


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
            self._left -= size * compile_pattern(pattern).size
            self.spent_at = path if self._left < 0 else None
        return self.spent_at is None


def compile_pattern(text: str) -> Pattern:
    """Raises: ValueError."""
    return _compile_small(text) or _compile_large(text)


def is_large(text: str) -> bool:
    """Tells whether it takes much time and memory; also of one that cannot be compiled."""
    return _compile_small(text) is None


@lru_cache(REMEMBERED_PATTERNS)
def _compile_small(text: str) -> Pattern | None:
    """None for one that is large, or none."""
    try:
        return Pattern(text, SMALL_BYTES)
    except ValueError:
        return None


@lru_cache(REMEMBERED_LARGE_PATTERNS)
def _compile_large(text: str) -> Pattern:
    """Raises: ValueError."""
    return Pattern(text, MAX_BYTES)
