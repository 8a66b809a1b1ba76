"""JSON as Go's decoder speaks of it: what it calls a value, and what it says of a text that it cannot read."""

import re
from typing import Any


def json_fault(error: Exception, body: bytes) -> str:
    """Fault of a JSON text, in the words of Go's parser."""
    if "too deeply" in str(error):
        return "exceeded max depth"
    if "truncated" in str(error):
        return "unexpected end of JSON input"
    found = re.search(r"\(byte (\d+)\)", str(error))
    text = body.decode(errors="replace")
    place = int(found[1]) if found else 0
    return f"invalid character {text[place : place + 1]!r} looking for beginning of value"


def json_name(value: Any) -> str:
    """Name that Go's decoder has for the value."""
    match value:
        case str():
            return "string"
        case bool():
            return "bool"
        case int() | float():
            return "number"
        case dict():
            return "object"
        case _:
            return "null" if value is None else "array"
