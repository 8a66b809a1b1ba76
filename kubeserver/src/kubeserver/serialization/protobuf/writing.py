"""Writing of an object as the bytes of its message: walks along the structure of its kind, as `reading.py` does back.

What has no number in the tables cannot be said in protobuf, and is never dropped: the whole object is not written then.
"""

import base64
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from kubeapi import codec
from kubeapi.meta import exact_time
from kubeapi.protobuf_wire import bytes_field, double_field, integer_field, text_field
from kubeserver.structures.numbers import numbers_of
from kubeserver.structures.structure import Structure

_TYPE_META = ("apiVersion", "kind")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Unwritable(ValueError):
    """The object is of a kind, or has a field, that the tables do not know."""


def write_struct(structure: Structure, value: Mapping[str, Any], numbered_as: str = "") -> bytes:
    """Raises: Unwritable."""
    message, written = _message(structure, value, numbered_as or structure.type)
    unknown = value.keys() - written - {*_TYPE_META}
    if unknown:
        raise Unwritable(f"{structure.type} has no numbers for {', '.join(sorted(unknown))}")
    return message


def _message(structure: Structure, value: Mapping[str, Any], numbered_as: str) -> tuple[bytes, set[str]]:
    """The message, and the fields that are in it."""
    message, written = b"", set[str]()
    for number, known in numbers_of(numbered_as).items():
        if known.embedded:
            inner, names = _message(structure, value, known.name)
            message, written = message + bytes_field(number, inner), written | names
        elif known.name in value:
            message += b"".join(_field(number, structure.fields[known.name], value[known.name]))
            written.add(known.name)
    return message, written


def _field(number: int, structure: Structure, value: Any) -> Iterator[bytes]:
    if value is None:
        return
    match structure.form:
        case "list":
            for item in value:
                yield from _field(number, structure.item, item)
        case "map":
            for key in sorted(value):
                entry = text_field(1, key) + b"".join(_field(2, structure.item, value[key]))
                yield bytes_field(number, entry)
        case "struct":
            yield bytes_field(number, write_struct(structure, value))
        case "any":
            yield bytes_field(number, bytes_field(1, codec.encode(value)))
        case _:
            yield _scalar(number, structure.type, value)


def _scalar(number: int, type_name: str, value: Any) -> bytes:
    match type_name:
        case "string":
            return text_field(number, value)
        case "bytes":
            return bytes_field(number, base64.b64decode(value))
        case "double":
            return double_field(number, value)
        case "time" | "microtime":
            return bytes_field(number, _instant(value))
        case "quantity":
            return bytes_field(number, text_field(1, str(value)))
        case "intstr":
            is_text = isinstance(value, str)
            known = text_field(3, value) if is_text else integer_field(2, value)
            return bytes_field(number, integer_field(1, is_text) + known)
        case _:
            return integer_field(number, value)


def _instant(text: str) -> bytes:
    since = exact_time(text) - _EPOCH
    seconds = since.days * 86_400 + since.seconds
    return integer_field(1, seconds) + integer_field(2, since.microseconds * 1000)
