"""Rules that make a schema structural: a type at every place, and limits that only mention places which have one.

Kubernetes: apiextensions-apiserver/pkg/apiserver/schema; the same rules, and the same order of what is found.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from kubeapi.field import Node, Problems
from kubeapi.status import Problem
from kubeserver.apiextensions.patterns import compile_pattern

Level = Literal["root", "item", "field"]

_UNTYPED: Mapping[Level, str] = {
    "root": "must not be empty at the root",
    "item": "must not be empty for specified array items",
    "field": "must not be empty for specified object fields",
}
_EITHER = [{"type": "integer"}, {"type": "string"}]
_JUNCTORS = ("allOf", "anyOf", "oneOf")
_NOT_IN_LIMITS = {
    "type": "must be empty to be structural",
    "additionalProperties": "must be undefined to be structural",
    "default": "must be undefined to be structural",
    "title": "must be empty to be structural",
    "description": "must be empty to be structural",
    "nullable": "must be false to be structural",
    "x-kubernetes-preserve-unknown-fields": "must be false to be structural",
    "x-kubernetes-embedded-resource": "must be false to be structural",
    "x-kubernetes-int-or-string": "must be false to be structural",
    "x-kubernetes-list-map-keys": "must be empty to be structural",
    "x-kubernetes-list-type": "must be undefined to be structural",
    "x-kubernetes-map-type": "must be undefined to be structural",
    "x-kubernetes-validations": "must be empty to be structural",
}
_OF_EMBEDDED = "if x-kubernetes-embedded-resource is true"
_IN_METADATA = frozenset(("type", "properties", "default"))


def structural_problems(schema: Node) -> list[Problem]:
    return sorted([*_shape(schema, "root"), *_missing(schema, schema, schema.path)], key=str)


def _shape(schema: Node, level: Level) -> Problems:
    kind, items, additional = schema["type"].text, schema["items"], schema["additionalProperties"]
    if kind == "array" and not items.is_set:
        yield items.required("must be specified")
    if items.is_set:
        yield from _shape(items, "item")
    for _, child in schema["properties"].entries():
        yield from _shape(child, "field")
    if additional.is_set:
        if level == "root":
            yield additional.forbidden("must not be used at the root")
        if isinstance(additional.value, dict):
            yield from _shape(additional, "field")
    yield from _extensions(schema)
    yield from _limits(schema)
    yield from _types(schema, kind, level)
    yield from _type_fields(schema, level)


def _extensions(schema: Node) -> Problems:
    if schema["x-kubernetes-int-or-string"].value:
        for name in ("x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"):
            if schema[name].value:
                yield schema[name].invalid("must be false if x-kubernetes-int-or-string is true")


def _types(schema: Node, kind: str, level: Level) -> Problems:
    embedded, preserves = (
        schema[f"x-kubernetes-{name}"].value for name in ("embedded-resource", "preserve-unknown-fields")
    )
    if embedded and kind != "object":
        said = f"must be object {_OF_EMBEDDED}"
        yield schema["type"].invalid(said) if kind else schema["type"].required(said)
    elif not kind and not preserves and not schema["x-kubernetes-int-or-string"].value:
        yield schema["type"].required(_UNTYPED[level])
    if embedded and schema["additionalProperties"].is_set:
        yield schema["additionalProperties"].forbidden("must not be used if x-kubernetes-embedded-resource is set")
    if embedded and not preserves and not schema["properties"].mapping:
        yield schema["properties"].required(
            f"must not be empty {_OF_EMBEDDED} without x-kubernetes-preserve-unknown-fields"
        )
    if level == "root" and kind and kind != "object":
        yield schema["type"].invalid("must be object at the root")


def _type_fields(schema: Node, level: Level) -> Problems:
    """Problems of what is said of the fields that every object has."""
    for name, field in schema["properties"].entries():
        kind = field["type"]
        whole = level == "root" or schema["x-kubernetes-embedded-resource"].value
        if name in ("apiVersion", "kind") and whole and kind.text != "string":
            yield kind.invalid("must be string", kind.text)
        elif name == "metadata":
            if whole and kind.text != "object":
                yield kind.invalid("must be object", kind.text)
            if level == "root" and not _restricts_names_only(field.mapping):
                yield field.forbidden(
                    "must not specify anything other than name and generateName, but metadata is implicitly specified"
                )


def _restricts_names_only(metadata: Mapping[str, Any]) -> bool:
    fields: Mapping[str, Any] = metadata.get("properties") or {}
    return metadata.keys() <= _IN_METADATA and fields.keys() <= {"name", "generateName"}


def _limits(schema: Node) -> Problems:
    """The limits of one place; those that are joined may not say what there is."""
    if schema["anyOf"].value != _EITHER:
        yield from _joined(schema, "anyOf")
    for index, part in enumerate(schema["allOf"].items()):
        yield from _nested(part, either=index == 0 and part["anyOf"].value == _EITHER)
    yield from _joined(schema, "oneOf")
    if schema["not"].is_set:
        yield from _nested(schema["not"])
    pattern = schema["pattern"]
    try:
        if pattern.text:
            compile_pattern(pattern.text)
    except ValueError as error:
        yield pattern.invalid(f"must be a valid regular expression, but isn't: {error}")


def _joined(schema: Node, junctor: str) -> Problems:
    for part in schema[junctor].items():
        yield from _nested(part)


def _nested(part: Node, *, either: bool = False) -> Problems:
    yield from _limits(Node(part.path, {**part.mapping, "anyOf": None}) if either else part)
    if part["items"].is_set:
        yield from _nested(part["items"])
    for name, field in part["properties"].entries():
        yield from _nested(field)
        if name == "metadata":
            yield field.forbidden("must not be specified in a nested context")
    for name, said in _NOT_IN_LIMITS.items():
        if part[name].value or (name == "additionalProperties" and part[name].is_set):
            yield part[name].forbidden(said)


def _missing(limits: Node, schema: Node, where: str) -> Problems:
    """Places that limits mention and that the schema, at `where`, does not have."""
    for part in _parts(limits):
        yield from _missing_below(part, schema, where)


def _parts(limits: Node) -> Iterator[Node]:
    if limits["not"].is_set:
        yield limits["not"]
    for junctor in _JUNCTORS:
        yield from limits[junctor].items()


def _missing_below(part: Node, schema: Node, where: str) -> Problems:
    yield from _missing(part, schema, where)
    children = [("items", part["items"], schema["items"])] if part["items"].is_set else []
    fields = dict(schema["properties"].entries())
    for name, field in part["properties"].entries():
        children.append((f"properties[{name}]", field, fields.get(name, Node("", None))))
    for name, child, there in children:
        if there.is_set:
            yield from _missing_below(child, there, f"{where}.{name}")
        else:
            yield Problem.required(f"{where}.{name}", f"because it is defined in {child.path}")
