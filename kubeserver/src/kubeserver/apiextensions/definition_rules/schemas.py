"""Rules of what a schema may say at each of its places: which keywords there are, how lists and maps are declared, and
that defaults fit the schema itself.

Kubernetes: apiextensions-apiserver/pkg/apis/apiextensions/validation; the same rules.
"""

import copy
from functools import lru_cache
from typing import Any

import msgspec

from kubeapi.diff import is_equal
from kubeapi.field import Node, Problems
from kubeapi.status import Problem
from kubeserver.apiextensions.checks import below, check
from kubeserver.apiextensions.definition_rules.expressions import rule_problems
from kubeserver.apiextensions.definition_rules.structural import structural_problems
from kubeserver.apiextensions.node import compile_schema
from kubeserver.apiextensions.schema import prune_value
from kubeserver.values import texts

REMEMBERED_SCHEMAS, REMEMBERED_BYTES = 32, 65_536
"""Schemas whose problems are remembered, and how large one of them may be."""
_TYPES = ("array", "boolean", "integer", "number", "object", "string")
_NOT_SUPPORTED = ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref")
_JUNCTORS = ("allOf", "oneOf", "anyOf")
_TYPE_FIELDS = ("apiVersion", "kind", "metadata")
_LIST, _MAP, _KEYS = "x-kubernetes-list-type", "x-kubernetes-map-type", "x-kubernetes-list-map-keys"
_OF_MAP = "if x-kubernetes-list-type is map"
_OF_ITEMS = "if parent array's x-kubernetes-list-type is map"
_IN_SET = "must be atomic as item of a list with x-kubernetes-list-type=set"
_KEY = "this property is in x-kubernetes-list-map-keys, so it"


class Context(msgspec.Struct, frozen=True):
    """Place in a schema.

    `no_default`: why it may have no default. `uncorrelated`: the place from which on old values have no counterpart.
    """

    no_default: str = ""
    uncorrelated: str = ""
    in_metadata: bool = False
    asks_rules: bool = True

    def below(self, **changes: Any) -> "Context":
        return msgspec.structs.replace(self, **changes)


def schema_problems(schema: Node) -> list[Problem]:
    """Problems of the schema of one version."""
    if schema["nullable"].value:
        return [schema["nullable"].forbidden("nullable cannot be true at the root"), *_faults(schema)]
    return _faults(schema)


def _faults(schema: Node) -> list[Problem]:
    """Problems of one schema, remembered from one call to the next: each write of a definition asks again."""
    encoded = msgspec.json.encode(schema.value)
    return list(_remembered_faults(schema.path, encoded)) if len(encoded) <= REMEMBERED_BYTES else _found_in(schema)


@lru_cache(maxsize=REMEMBERED_SCHEMAS)
def _remembered_faults(path: str, encoded: bytes) -> tuple[Problem, ...]:
    return tuple(_found_in(Node(path, msgspec.json.decode(encoded))))


def _found_in(schema: Node) -> list[Problem]:
    found = [] if _has_unsupported(schema) else structural_problems(schema) or [*_default_problems(schema)]
    return [*found, *_place(schema, Context(asks_rules=not found), root=True)]


def _has_unsupported(schema: Node) -> bool:
    """Tells whether there is a keyword in it that no structural schema can have, wherever."""
    own = any(schema[name].value for name in _NOT_SUPPORTED) or schema["items"].list
    if own or schema["x-kubernetes-preserve-unknown-fields"].value is False:
        return True
    parts = (schema[part] for part in ("items", "additionalProperties", "not"))
    joined = (part for junctor in _JUNCTORS for part in schema[junctor].items())
    fields = (field for _, field in schema["properties"].entries())
    return any(_has_unsupported(child) for child in (*parts, *joined, *fields) if child.mapping)


def _place(schema: Node, context: Context, *, root: bool = False) -> Problems:
    own = [*_keywords(schema, context), *_children(schema, context, root=root), *_collections(schema)]
    yield from own
    yield from rule_problems(schema, context.uncorrelated, compiles=context.asks_rules and not own)


def _keywords(schema: Node, context: Context) -> Problems:
    kind = schema["type"]
    if kind.text and kind.text not in _TYPES:
        yield kind.not_supported(*_TYPES)
    if schema["default"].is_set and context.no_default:
        yield schema["default"].forbidden(f"must not be set {context.no_default}")
    for name in _NOT_SUPPORTED:
        if schema[name].is_set:
            yield schema[name].forbidden(f"{name} is not supported")
    if kind.text == "null":
        yield kind.forbidden("type cannot be set to null, use nullable as an alternative")
    if schema["items"].list:
        yield schema["items"].forbidden("items must be a schema object and not an array")
    if context.in_metadata and schema["x-kubernetes-embedded-resource"].value:
        yield schema["x-kubernetes-embedded-resource"].forbidden("must not be used inside of resource meta")
    if schema["uniqueItems"].value:
        said = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        yield schema["uniqueItems"].forbidden(said)


def _children(schema: Node, context: Context, *, root: bool) -> Problems:
    additional, properties = schema["additionalProperties"], schema["properties"]
    if additional.is_set:
        if properties.mapping and additional.value is not True:
            yield additional.forbidden("additionalProperties and properties are mutual exclusive")
        why = "inside additionalProperties applying to object metadata"
        inside = context.below(no_default=why) if context.in_metadata else context
        if isinstance(additional.value, dict):
            yield from _place(additional, inside)
    for name, field in properties.entries():
        below = context
        if schema[_MAP].value == "atomic":
            below = _uncorrelated(below, schema)
        if (root or schema["x-kubernetes-embedded-resource"].value) and name in _TYPE_FIELDS:
            below = below.below(in_metadata=True, no_default=f"in top-level {name}" if root else below.no_default)
        yield from _place(field, below)
    for part in (schema["not"], *(p for junctor in _JUNCTORS for p in schema[junctor].items())):
        if part.is_set:
            yield from _place(part, context.below(asks_rules=False))
    if schema["items"].mapping:
        below = context if schema[_LIST].value == "map" else _uncorrelated(context, schema)
        yield from _place(schema["items"], below)


def _uncorrelated(context: Context, schema: Node) -> Context:
    return context if context.uncorrelated else context.below(uncorrelated=schema.path)


def _collections(schema: Node) -> Problems:
    if schema["x-kubernetes-preserve-unknown-fields"].value is False:
        yield schema["x-kubernetes-preserve-unknown-fields"].invalid("must be true or undefined")
    kind, maps, lists = schema["type"].text, schema[_MAP], schema[_LIST]
    if maps.is_set and kind != "object":
        yield _of_type(schema["type"], "must be object if x-kubernetes-map-type is specified")
    if maps.is_set and maps.text not in ("atomic", "granular"):
        yield maps.not_supported("atomic", "granular")
    if lists.is_set and kind != "array":
        yield _of_type(schema["type"], "must be array if x-kubernetes-list-type is specified")
    elif lists.text == "set":
        yield from _items_of_set(schema["items"])
    if lists.is_set and lists.text not in ("atomic", "set", "map"):
        yield lists.not_supported("atomic", "set", "map")
    if schema[_KEYS].list and lists.text != "map":
        said = "must be map if x-kubernetes-list-map-keys is non-empty"
        yield lists.invalid(said) if lists.is_set else lists.required(said)
    if lists.text == "map":
        yield from _items_of_map(schema)
    if lists.text in ("set", "map") and schema["items"]["nullable"].value:
        said = f"cannot be nullable when x-kubernetes-list-type is {lists.text}"
        yield schema["items"]["nullable"].forbidden(said)
    if lists.text == "map":
        yield from _keys_of_map(schema)


def _of_type(kind: Node, said: str) -> Problem:
    return kind.invalid(said) if kind.text else kind.required(said)


def _items_of_set(items: Node) -> Problems:
    """The items of a set are compared as a whole, so they must be written as a whole."""
    kind, lists, maps = items["type"].text, items[_LIST], items[_MAP]
    if kind == "array" and lists.is_set and lists.text != "atomic":
        yield lists.invalid(_IN_SET)
    if kind == "object" and maps.text != "atomic":
        yield Problem.invalid(maps.path, lists.value, _IN_SET)


def _items_of_map(schema: Node) -> Problems:
    keys, items = schema[_KEYS], schema["items"]
    if not keys.list:
        yield keys.required(f"must not be empty {_OF_MAP}")
    if not items.is_set:
        yield items.required(f"must have a schema {_OF_MAP}")
    elif items["type"].text != "object":
        yield items["type"].invalid(f"must be object {_OF_ITEMS}", items["type"].text)
    else:
        properties = dict(items["properties"].entries())
        for index, key in enumerate(texts(schema.mapping, _KEYS)):
            if key not in properties:
                yield keys.invalid("entries must all be names of item properties")
            elif properties[key]["type"].text in ("array", "object"):
                yield properties[key]["type"].invalid(f"must be a scalar type {_OF_ITEMS}", items["type"].text)
            if key in keys.list[:index]:
                yield keys.invalid("must not contain duplicate entries")


def _keys_of_map(schema: Node) -> Problems:
    """Problems of the keys of a map: every item must have all."""
    items = schema["items"]
    properties, required = dict(items["properties"].entries()), items["required"].list
    for key in texts(schema.mapping, _KEYS):
        field = properties.get(key)
        if field is None:
            continue
        if key not in required and not field["default"].is_set:
            yield field["default"].required(f"{_KEY} must have a default or be a required property")
        if field["nullable"].value:
            yield field["nullable"].forbidden(f"{_KEY} cannot be nullable")


def _default_problems(schema: Node, *, root: bool = True) -> Problems:
    """Kubernetes: apiextensions-apiserver/pkg/apiserver/schema/defaulting; the same, but inside of metadata."""
    default = schema["default"]
    if default.is_set:
        compiled = compile_schema(schema.mapping)
        pruned = copy.deepcopy(default.value)
        prune_value(compiled, pruned)
        if not is_equal(pruned, default.value):
            yield default.invalid("must not have unknown fields")
        yield from below(default.path, check(compiled, default.value))
    if schema["items"].mapping:
        yield from _default_problems(schema["items"], root=False)
    for name, field in schema["properties"].entries():
        if not (name in _TYPE_FIELDS and (root or schema["x-kubernetes-embedded-resource"].value)):
            yield from _default_problems(field, root=False)
