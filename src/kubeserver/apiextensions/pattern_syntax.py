"""Syntax of Go's regular expressions, written as the library reads it.

Where the two differ, the library refuses an expression, or takes it for another one:

    ^{{.+}}$        a brace that counts nothing is a brace
    [[:alpha:]]     classes of POSIX
    \\Q.\\E, \\101, \\a, \\<      quotes, octal numbers, the bell, and a sign that is no border of a word
    \\s             spaces of ASCII alone

Go: regexp/syntax; the same meaning.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

_LAST = 0x10FFFF
_REPETITION = re.compile(r"\{\d+(,\d*)?\}")
_QUOTED = re.compile(r"\\Q(.*?)(?:\\E|\Z)", re.DOTALL)
_OCTAL = re.compile(r"\\([1-7][0-7]{1,2}|0[0-7]{0,2})")
_POSIX = re.compile(r"\[:(\^?)(\w+):\]")
_ESCAPE = re.compile(r"\\(?:x\{[^}]*\}|[pP]\{[^}]*\}|x..|.)", re.DOTALL)
_OTHERS = {r"\a": r"\x07", r"\<": "<", r"\>": ">", r"\E": ""}
_SPACES = r"\t\n\f\r "
_SETS = (r"\d", r"\D", r"\s", r"\S", r"\w", r"\W")
_CLASSES: Mapping[str, str] = {
    "alnum": "09AZaz",
    "alpha": "AZaz",
    "ascii": "\x00\x7f",
    "blank": "\t\t  ",
    "cntrl": "\x00\x1f\x7f\x7f",
    "digit": "09",
    "graph": "!~",
    "lower": "az",
    "print": " ~",
    "punct": "!/:@[`{~",
    "space": "\t\r  ",
    "upper": "AZ",
    "word": "09AZ__az",
    "xdigit": "09AFaf",
}
"""First and last letters of the ranges of each, in order."""


def for_library(pattern: str) -> str:
    """The same expression in the library's syntax; what Go cannot read stays for the library to refuse."""
    written: list[str] = []
    place = 0
    while place < len(pattern):
        part, place = _part(pattern, place)
        written.append(part)
    return "".join(written)


def _part(pattern: str, place: int) -> tuple[str, int]:
    """Part that begins at `place`, and where it ends."""
    letter = pattern[place]
    if quoted := _QUOTED.match(pattern, place):
        return re.escape(quoted[1]), quoted.end()
    if letter == "\\":
        part, end = _escape(pattern, place)
        return {r"\s": f"[{_SPACES}]", r"\S": f"[^{_SPACES}]"}.get(part, part), end
    if letter == "[":
        return _class(pattern, place)
    if letter == "{":
        counted = _REPETITION.match(pattern, place)
        return (counted[0], counted.end()) if counted else (r"\{", place + 1)
    return (r"\}" if letter == "}" else letter), place + 1


def _escape(pattern: str, place: int) -> tuple[str, int]:
    if octal := _OCTAL.match(pattern, place):
        return _letter(int(octal[1], 8)), octal.end()
    found = _ESCAPE.match(pattern, place)
    if found is None:
        return pattern[place:], len(pattern)
    return _OTHERS.get(found[0], found[0]), found.end()


def _class(pattern: str, start: int) -> tuple[str, int]:
    """A class in brackets; as it is where it does not end."""
    place = start + (2 if pattern.startswith("[^", start) else 1)
    written = [pattern[start:place]]
    first = place
    after_set = False
    while place < len(pattern):
        if pattern[place] == "]" and place > first:
            return "".join([*written, "]"]), place + 1
        part, end = _part_of_class(pattern, place)
        if part == "-" and after_set and not pattern.startswith("]", end):
            part = r"\-"
        after_set = part in _SETS or pattern.startswith("[:", place)
        written.append(_SPACES if part == r"\s" else part)
        place = end
    return pattern[start:], len(pattern)


def _part_of_class(pattern: str, place: int) -> tuple[str, int]:
    named = _POSIX.match(pattern, place)
    if named and named[2] in _CLASSES:
        ranges = _ranges(_CLASSES[named[2]])
        return _written(_complement(ranges) if named[1] else ranges), named.end()
    letter = pattern[place]
    if letter == "\\":
        return _escape(pattern, place)
    return (f"\\{letter}" if letter in "[]" else letter), place + 1


def _ranges(ends: str) -> list[tuple[int, int]]:
    return [(ord(low), ord(high)) for low, high in zip(ends[::2], ends[1::2], strict=True)]


def _complement(ranges: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    lows = [0, *(high + 1 for _, high in ranges)]
    highs = [*(low - 1 for low, _ in ranges), _LAST]
    return [(low, high) for low, high in zip(lows, highs, strict=True) if low <= high]


def _written(ranges: Iterable[tuple[int, int]]) -> str:
    return "".join(f"{_letter(low)}-{_letter(high)}" for low, high in ranges)


def _letter(number: int) -> str:
    return f"\\x{{{number:x}}}"
