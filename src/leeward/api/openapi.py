"""Wire structs as structural OpenAPI schemas: what a CustomResourceDefinition holds, and what `kubectl explain` shows.

The model: `msgspec.inspect` describes a type; each description becomes a small mapping, with everything inlined. What
Python types cannot say (formats, schema defaults, list types) is said by the fields' own `Meta(extra_json_schema=...)`.

Nothing is nullable: as with Karmada's schemas, an explicit null means absent and is dropped by the API server.
Descriptions of fields stand in `descriptions.txt`, by struct and name on the wire.
"""

from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any, cast

from msgspec import inspect

from kubeapi.core import NodeSelector
from kubeapi.meta import LabelSelector, Manifest, ObjectMeta

ANY_OBJECT = "*"
_PRESERVE = "x-kubernetes-preserve-unknown-fields"
_NUMBER = r"(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
_QUANTITY: Manifest = {
    "anyOf": [{"type": "integer"}, {"type": "string"}],
    "pattern": rf"^(\+|-)?{_NUMBER}(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?{_NUMBER}))?$",
    "x-kubernetes-int-or-string": True,
}
_ATOMIC_MAPS = (LabelSelector, NodeSelector)
_BOUNDS = {"min_length": "minLength", "max_length": "maxLength", "pattern": "pattern"}
_DEMANDS = ("required", "enum", "pattern", "minLength", "maxLength", "minimum", "minItems")


@cache
def structural_schema(struct: type[Any]) -> Manifest:
    """The schema of an object of the type `struct`. The result is shared: do not change it."""
    return _render(inspect.type_info(struct))


def _render(type_: inspect.Type) -> Manifest:
    match type_:
        case inspect.Metadata():
            schema: Manifest = _render(type_.type) | (cast(Any, type_).extra_json_schema or {})
            return _types_of(schema) if _is_marked(type_, "unchecked") else schema
        case inspect.StructType():
            return _render_struct(type_)
        case inspect.UnionType():
            return _render_union(type_)
        case inspect.VarTupleType() | inspect.ListType():
            return _render_array(type_)
        case inspect.DictType():
            return _render_map(type_)
        case _:
            return _render_scalar(type_)


def _render_scalar(type_: inspect.Type) -> Manifest:
    match type_:
        case inspect.StrType():
            bounds = {name: getattr(type_, attribute) for attribute, name in _BOUNDS.items()}
            return {"type": "string"} | {name: bound for name, bound in bounds.items() if bound is not None}
        case inspect.IntType():
            return {"type": "integer"} | ({} if type_.ge is None else {"minimum": type_.ge})
        case inspect.BoolType():
            return {"type": "boolean"}
        case inspect.DateTimeType():
            return {"type": "string", "format": "date-time"}
        case inspect.BytesType():
            return {"type": "string", "format": "byte"}
        case inspect.LiteralType():
            return {"type": "string", "enum": [value for value in type_.values if value != ""]}
        case inspect.EnumType():
            return {"type": "string", "enum": [member.value for member in type_.cls]}
        case inspect.AnyType():
            return {_PRESERVE: True}
        case _:
            raise TypeError(f"{type_} has no structural schema")


def _render_struct(type_: inspect.StructType) -> Manifest:
    if type_.cls is ObjectMeta:
        return {"type": "object"}
    schema: Manifest = {"description": " ".join(type_.cls.__doc__.split())} if type_.cls.__doc__ else {}
    schema |= {"type": "object", "properties": {f.encode_name: _render_field(type_.cls, f) for f in type_.fields}}
    if required := [f.encode_name for f in type_.fields if f.required or _is_marked(f.type, "on_wire")]:
        schema["required"] = required
    if type_.cls in _ATOMIC_MAPS:
        schema["x-kubernetes-map-type"] = "atomic"
    return schema


def _render_field(struct: type[Any], field: inspect.Field) -> Manifest:
    """Schema of a field; what the field means in its struct says more than what its type is."""
    text, schema = description_of(struct, field.encode_name), _render(field.type)
    return {**schema, "description": text} if text else schema


def _is_marked(type_: inspect.Type, mark: str) -> bool:
    return isinstance(type_, inspect.Metadata) and mark in (cast(Any, type_).extra or {})


def _types_of(schema: Manifest) -> Manifest:
    """The schema without what it requires of values beside their types; quantities stay quantities."""
    types = {name: value for name, value in schema.items() if name not in _DEMANDS or "anyOf" in schema}
    for name in ("items", "additionalProperties"):
        if name in types:
            types[name] = _types_of(types[name])
    if "properties" in types:
        types["properties"] = {name: _types_of(each) for name, each in types["properties"].items()}
    return types


def _render_union(type_: inspect.UnionType) -> Manifest:
    """An optional type is rendered as the type; the only true union is a quantity."""
    members = [member for member in type_.types if not isinstance(member, inspect.NoneType)]
    if len(members) == 1:
        return _render(members[0])
    if all(isinstance(member, inspect.StrType | inspect.IntType | inspect.FloatType) for member in members):
        return dict(_QUANTITY)
    raise TypeError(f"{type_} has no structural schema")


def _render_array(type_: inspect.VarTupleType | inspect.ListType) -> Manifest:
    schema: Manifest = {"type": "array", "items": _render(type_.item_type)}
    return schema | ({"minItems": type_.min_length} if type_.min_length else {})


def _render_map(type_: inspect.DictType) -> Manifest:
    if isinstance(type_.value_type, inspect.AnyType):
        return {"type": "object", _PRESERVE: True}
    return {"type": "object", "additionalProperties": _render(type_.value_type)}


@cache
def descriptions() -> Mapping[str, str]:
    """Descriptions by `Struct.field`; those of fields that every object has by `*.field`."""
    lines = resources.files("leeward.api").joinpath("descriptions.txt").read_text(encoding="utf-8").splitlines()
    return {name: text for name, _, text in (line.partition(": ") for line in lines)}


def description_of(struct: type[Any], field: str) -> str:
    """The description of a field, which the struct may have from its base; empty where there is none."""
    found, names = descriptions(), (*(each.__name__ for each in struct.__mro__), ANY_OBJECT)
    return next((text for name in names if (text := found.get(f"{name}.{field}"))), "")
