"""Semantic versions, as semver.org orders them: `1.2.3`, and `1.2.3-rc.1` before it. What was built how counts nothing.

Pure.
"""

import re

LONGEST = 256
_NUMBER = r"(?:0|[1-9]\d{0,18})"
_WORDS = r"[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*"
_VERSION = re.compile(rf"({_NUMBER})\.({_NUMBER})\.({_NUMBER})(?:-({_WORDS}))?(?:\+{_WORDS})?", re.ASCII)
_LENIENT = re.compile(r"v?(\d+)(?:\.(\d+))?(?:\.(\d+))?([-+].*)?", re.ASCII)

Order = tuple[tuple[int, int, int], bool, tuple[tuple[bool, int, str], ...]]
"""The numbers, whether it is a release, and the words before the release: numbers before letters."""


def read_version(text: str, normalized: bool = False) -> str:
    """The version without what is said of its build. `normalized`: `v1.02` is read as `1.2.0`. Raises: ValueError."""
    found = _VERSION.fullmatch(_normalized(text) if normalized else text) if len(text) <= LONGEST else None
    if found is None or any(_is_padded(word) for word in (found[4] or "").split(".")):
        raise ValueError(
            f"{text[:LONGEST]!r} is no semantic version: it must be MAJOR.MINOR.PATCH[-PRERELEASE][+BUILD]"
        )
    return ".".join(found.groups()[:3]) + (f"-{found[4]}" if found[4] else "")


def order_of(version: str) -> Order:
    """Of what `read_version` gave."""
    numbers, _, words = version.partition("-")
    major, minor, patch = map(int, numbers.split("."))
    before = tuple((not w.isdigit(), int(w) if w.isdigit() else 0, w) for w in words.split(".")) if words else ()
    return (major, minor, patch), not words, before


def _normalized(text: str) -> str:
    found = _LENIENT.fullmatch(text)
    if found is None:
        return text
    return ".".join(str(int(part or 0)) for part in found.groups()[:3]) + (found[4] or "")


def _is_padded(word: str) -> bool:
    return word.isdigit() and len(word) > 1 and word.startswith("0")
