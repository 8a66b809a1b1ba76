"""`Object{...}` and `JSONPatch{...}` in CEL: what mutating policies make, for a library that knows no such types.

They are written as maps that remember what they were called, and lose it when they are read:

    Object{spec: Object.spec{replicas: 3}}      an Object, with an Object.spec in its field spec
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

from kubeserver.cel.function import Function
from kubeserver.cel.macros import arguments_from, without_literals

OBJECT, PATCH = "Object", "JSONPatch"
TYPE_KEY = "kubeserver/type"
_LITERAL = re.compile(r"(?<![\w.])(Object(?:\.[A-Za-z_]\w*)*|JSONPatch)\s*\{")
_FIELD = re.compile(r"(\??)\s*(?:([A-Za-z_]\w*)|`([^`]+)`)\s*:(.*)", re.DOTALL)
_JSON = (str, bool, int, float, type(None))


class Unfitting(ValueError):
    """A value is not what the expression has to make."""


def with_maps(text: str) -> str:
    """The same expression; what cannot be read as an object stays for the library to name."""
    hidden = without_literals(text)
    for found in reversed(list(_LITERAL.finditer(hidden))):
        end, fields = arguments_from(text, hidden, found.end())
        entries = [_entry(field) for field in fields if field]
        if end > found.end() and None not in entries:
            name = re.sub(r"\s", "", found.group(1))
            inside = ", ".join([f'"{TYPE_KEY}": "{name}"', *cast(list[str], entries)])
            written = f"dyn({{{inside}}})"
            text = text[: found.start()] + written + text[end:]
            hidden = hidden[: found.start()] + "_" * len(written) + hidden[end:]
    return text


def _entry(field: str) -> str | None:
    found = _FIELD.fullmatch(field)
    return f'{found[1]}"{found[2] or found[3]}":{found[4]}' if found else None


def name_of(value: Any) -> str:
    """Name that an object was called by; empty for any other value."""
    return cast(Mapping[str, str], value).get(TYPE_KEY, "") if isinstance(value, dict) else ""


def read_object(value: Any) -> Any:
    """The value as JSON. Raises: Unfitting for names that are not those of the fields in which their objects are."""
    name = name_of(value)
    if name and (found := list(_misnamed(value, name))):
        raise Unfitting(f"type mismatch: {'; '.join(found)}")
    return _plain(value)


def _misnamed(value: Any, expected: str) -> Iterator[str]:
    if isinstance(value, list):
        for item in cast(list[Any], value):
            yield from _misnamed(item, expected)
    if not isinstance(value, dict):
        return
    name = name_of(value)
    if name and name != expected:
        where = "which matches field name path from root Object type"
        yield f'unexpected type name "{name}", expected "{expected}", {where}'
    for field, item in cast(dict[str, Any], value).items():
        yield from _misnamed(item, f"{expected}.{field}" if name else expected)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in cast(dict[str, Any], value).items() if key != TYPE_KEY}
    if isinstance(value, list):
        return [_plain(item) for item in cast(list[Any], value)]
    if not isinstance(value, _JSON):
        raise Unfitting(f"a value of type {type(value).__name__} cannot be written as JSON")
    return value


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


OBJECT_FUNCTIONS = (Function("jsonpatch.escapeKey", "string string", _escaped, member=False),)
