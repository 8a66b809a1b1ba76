"""An OpenAPI document of version 2 as protobuf, the only form in which Go's clients read it.

Numbers are those of gnostic's `openapi.v2` messages. What a message has no number for is left out; what begins with
`x-` goes along as YAML.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

from kubeapi import codec
from kubeapi.protobuf_wire import bytes_field, double_field, integer_field, text_field
from kubeserver.values import section

Write = Callable[[int, Any], bytes]


def render_document(document: Mapping[str, Any]) -> bytes:
    """`document` is the JSON form."""
    info = section(document, "info")
    return b"".join(
        (
            text_field(1, document["swagger"]),
            bytes_field(2, text_field(1, info["title"]) + text_field(2, info["version"])),
            bytes_field(8, _named(2, section(document, "paths"), _path_item)),
            bytes_field(9, _named(1, section(document, "definitions"), _schema)),
        )
    )


def _named(number: int, entries: Mapping[str, Any], render: Callable[[Any], bytes]) -> bytes:
    """A map is a list of pairs: the name is field 1, the value field 2."""
    pairs = (text_field(1, name) + bytes_field(2, render(value)) for name, value in entries.items())
    return b"".join(bytes_field(number, pair) for pair in pairs)


def _fields(numbers: Mapping[str, tuple[int, Write]], value: Mapping[str, Any]) -> Iterator[bytes]:
    for name, (number, write) in numbers.items():
        if name in value:
            yield write(number, value[name])


def _extensions(number: int, value: Mapping[str, Any]) -> bytes:
    return _named(number, {name: value[name] for name in value if name.startswith("x-")}, _any)


def _any(value: Any) -> bytes:
    """JSON is YAML, too."""
    return text_field(2, codec.encode(value).decode() + "\n")


def _schema(schema: Mapping[str, Any]) -> bytes:
    return b"".join(_fields(_SCHEMA, schema)) + _extensions(31, schema)


def _path_item(item: Mapping[str, Any]) -> bytes:
    return b"".join(bytes_field(_METHODS[method], _operation(operation)) for method, operation in item.items())


def _operation(operation: Mapping[str, Any]) -> bytes:
    responses = section(operation, "responses")
    parts = (
        *_fields(_OPERATION, operation),
        bytes_field(9, _named(1, responses, _response)),
        _extensions(13, operation),
    )
    return b"".join(parts)


def _response(response: Mapping[str, Any]) -> bytes:
    said = text_field(1, response["description"])
    return bytes_field(1, said + bytes_field(2, bytes_field(1, _schema(section(response, "schema")))))


def _query_parameter(number: int, parameter: Mapping[str, Any]) -> bytes:
    """A parameter is one of two, the one that is no body is one of four, and that is a parameter of the query."""
    in_query = b"".join(_fields(_PARAMETER, parameter))
    return bytes_field(number, bytes_field(1, bytes_field(2, bytes_field(3, in_query))))


def _schema_field(number: int, schema: Mapping[str, Any]) -> bytes:
    return bytes_field(number, _schema(schema))


def _wrapped_schema(number: int, schema: Any) -> bytes:
    """A schema, or whether there may be anything."""
    if isinstance(schema, Mapping):
        return bytes_field(number, bytes_field(1, _schema(cast(Mapping[str, Any], schema))))
    return bytes_field(number, integer_field(2, schema))


def _each(write: Write) -> Write:
    return lambda number, values: b"".join(write(number, value) for value in cast(Iterable[Any], values))


def _type(number: int, names: str | Sequence[str]) -> bytes:
    names = (names,) if isinstance(names, str) else names
    return bytes_field(number, b"".join(text_field(1, name) for name in names))


def _any_field(number: int, value: Any) -> bytes:
    return bytes_field(number, _any(value))


def _properties(number: int, properties: Mapping[str, Any]) -> bytes:
    return bytes_field(number, _named(1, properties, _schema))


_METHODS = {"get": 2, "put": 3, "post": 4, "delete": 5, "patch": 8}
_OPERATION: Mapping[str, tuple[int, Write]] = {
    "operationId": (5, text_field),
    "produces": (6, _each(text_field)),
    "consumes": (7, _each(text_field)),
    "parameters": (8, _each(_query_parameter)),
}
_PARAMETER: Mapping[str, tuple[int, Write]] = {
    "in": (2, text_field),
    "name": (4, text_field),
    "type": (6, text_field),
    "uniqueItems": (20, integer_field),
}
_SCHEMA: Mapping[str, tuple[int, Write]] = {
    "$ref": (1, text_field),
    "format": (2, text_field),
    "title": (3, text_field),
    "description": (4, text_field),
    "default": (5, _any_field),
    "multipleOf": (6, double_field),
    "maximum": (7, double_field),
    "exclusiveMaximum": (8, integer_field),
    "minimum": (9, double_field),
    "exclusiveMinimum": (10, integer_field),
    "maxLength": (11, integer_field),
    "minLength": (12, integer_field),
    "pattern": (13, text_field),
    "maxItems": (14, integer_field),
    "minItems": (15, integer_field),
    "uniqueItems": (16, integer_field),
    "maxProperties": (17, integer_field),
    "minProperties": (18, integer_field),
    "required": (19, _each(text_field)),
    "enum": (20, _each(_any_field)),
    "additionalProperties": (21, _wrapped_schema),
    "type": (22, _type),
    "items": (23, lambda number, schema: bytes_field(number, _schema_field(1, schema))),
    "properties": (25, _properties),
}
