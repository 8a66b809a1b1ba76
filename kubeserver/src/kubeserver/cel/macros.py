"""`transformMap` and `transformMapEntry` in CEL, which the library reads and does not carry out.

They are written with what it has: a list of the entries, and a function that makes a map of them.

    m.transformMap(k, v, e)         m.transformList(k, v, [k, e]).mapOfEntries()
    m.transformMapEntry(k, v, e)    m.transformList(k, v, e).mapOfMaps()
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from kubeserver.cel.function import Function

_MACRO = re.compile(r"\.transformMap(Entry)?\s*\(")
_LITERAL = re.compile(r"""("([^"\\\n]|\\.)*"|'([^'\\\n]|\\.)*')""")
_OPENING, _CLOSING = "([{", ")]}"


def without_map_macros(text: str) -> str:
    """The same expression; what cannot be read as a macro stays for the library to name."""
    hidden = without_literals(text)
    for found in reversed(list(_MACRO.finditer(hidden))):
        end, arguments = arguments_from(text, hidden, found.end())
        if len(arguments) in (3, 4):
            rewritten = _rewritten(arguments, entries=found.group(1) is None)
            text = text[: found.start()] + rewritten + text[end:]
            hidden = hidden[: found.start()] + "_" * len(rewritten) + hidden[end:]
    return text


def without_literals(text: str) -> str:
    """Text as long as `text`, with nothing in its strings that could be taken for syntax."""
    return _LITERAL.sub(lambda literal: "_" * len(literal.group()), text)


def _rewritten(arguments: Sequence[str], *, entries: bool) -> str:
    *first, result = arguments
    if entries:
        return f".transformList({', '.join(first)}, [{first[0]}, {result}]).mapOfEntries()"
    return f".transformList({', '.join(first)}, {result}).mapOfMaps()"


def arguments_from(text: str, hidden: str, start: int) -> tuple[int, list[str]]:
    """Index at which the brackets end whose first argument begins at `start`, and all of these; none where they do not
    end."""
    cuts = list(_cuts(hidden, start))
    if not cuts or hidden[cuts[-1]] == ",":
        return start, []
    places = [start - 1, *cuts]
    return cuts[-1] + 1, [text[a + 1 : b].strip() for a, b in zip(places, cuts, strict=False)]


def _cuts(hidden: str, start: int) -> Iterator[int]:
    """The commas of a call, and where it is closed."""
    depth = 0
    for place in range(start, len(hidden)):
        letter = hidden[place]
        if letter in _OPENING:
            depth += 1
        elif letter in _CLOSING:
            if depth == 0:
                yield place
                return
            depth -= 1
        elif letter == "," and depth == 0:
            yield place


def _of_entries(entries: Sequence[tuple[Any, Any]]) -> dict[Any, Any]:
    return dict(entries)


def _of_maps(maps: Sequence[dict[Any, Any]]) -> dict[Any, Any]:
    merged: dict[Any, Any] = {}
    for key, value in (entry for each in maps for entry in each.items()):
        if key in merged:
            raise ValueError(f"insert failed: key '{key}' already exists")
        merged[key] = value
    return merged


MACRO_FUNCTIONS = (
    Function("mapOfEntries", "dyn list", _of_entries),
    Function("mapOfMaps", "dyn list", _of_maps),
)
