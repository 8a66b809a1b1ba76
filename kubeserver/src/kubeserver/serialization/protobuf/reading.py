"""Reading of an object from the bytes of its message: walks along the structure of its kind.

An empty value is left out, as in JSON, unless its field is one that says something when it is empty (`replicas: 0`,
`emptyDir: {}`). What has no number in the tables is refused, never dropped.
"""

import base64
import struct
from typing import Any

from kubeapi import codec
from kubeapi.meta import format_micro_time, format_time
from kubeapi.protobuf_wire import Raw, fields, instant_of, integer_of, is_empty, message_of, text_of
from kubeserver.structures.numbers import numbers_of
from kubeserver.structures.structure import Structure


class UnknownMessage(ValueError):
    """The body is of a kind, or has a field, that the tables do not know."""


def read_struct(structure: Structure, data: bytes, path: str, numbered_as: str = "") -> dict[str, Any]:
    """`numbered_as` names the numbers, where they are not those of the struct itself. Raises: ValueError."""
    result: dict[str, Any] = {}
    numbers = numbers_of(numbered_as or structure.type)
    for number, raw in fields(data):
        known = numbers.get(number)
        if known is None:
            _check_empty(raw, f"{path}, field {number}")
        elif known.embedded:
            result |= read_struct(structure, message_of(raw), path, known.name)
        else:
            _read_field(result, known.name, structure.fields[known.name], raw, known.optional, path)
    return result


def _read_field(result: dict[str, Any], name: str, structure: Structure, raw: Raw, optional: bool, path: str) -> None:
    path = f"{path}.{name}"
    if structure.form == "list":
        result.setdefault(name, []).append(_value(structure.item, raw, path))
    elif structure.form == "map":
        entry = dict(fields(message_of(raw)))
        value = _value(structure.item, entry.get(2, b""), path)
        result.setdefault(name, {})[text_of(entry.get(1, b""))] = value
    else:
        value = _value(structure, raw, path)
        if value is not None and (optional or value not in ("", 0, False, {})):
            result[name] = value


def _value(structure: Structure, raw: Raw, path: str) -> Any:
    match structure.form:
        case "struct":
            return read_struct(structure, message_of(raw), path)
        case "list":
            return [_value(structure.item, item, path) for _, item in fields(message_of(raw))]
        case "any":
            return _free(message_of(raw))
        case _:
            return _scalar(structure.type, raw)


def _scalar(type_name: str, raw: Raw) -> Any:
    match type_name:
        case "string":
            return text_of(raw)
        case "bytes":
            return base64.b64encode(message_of(raw)).decode()
        case "bool":
            return bool(integer_of(raw))
        case "double":
            return struct.unpack("<d", message_of(raw))[0]
        case "time" | "microtime":
            instant = instant_of(raw)
            written = format_time if type_name == "time" else format_micro_time
            return None if instant is None else written(instant)
        case "quantity":
            return text_of(dict(fields(message_of(raw))).get(1, b"")) or "0"
        case "intstr":
            parts = dict(fields(message_of(raw)))
            return text_of(parts.get(3, b"")) if parts.get(1) else integer_of(parts.get(2, 0))
        case _:
            return integer_of(raw)


def _free(data: bytes) -> Any:
    """An object of no fixed structure goes as its JSON. Raises: ValueError."""
    text = message_of(dict(fields(data)).get(1, b""))
    return codec.decode(text, object) if text else None


def _check_empty(raw: Raw, where: str) -> None:
    if not is_empty(raw):
        raise UnknownMessage(f"{where} is read as JSON or YAML only")
