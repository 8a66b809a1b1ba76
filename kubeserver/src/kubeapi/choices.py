"""Choices that a decoding error does not tell: the values of an enumeration, the fields of a struct."""

import re
from collections.abc import Iterator, Sequence

import msgspec.inspect as types

_PART = re.compile(r"\.([\w-]+)|\[([^]]*)\]")


def path_of(said: str) -> list[str | int]:
    """Parts of a path as a decoding error names it, `$.spec.steps[0].wait`; `...` for a key of a mapping."""
    return [name or (int(index) if index.isdecimal() else index) for name, index in _PART.findall(said)]


def choices_of(as_type: object, path: Sequence[str | int]) -> list[str]:
    """The values that the field at `path` of `as_type` may have, in their order; none where it is no enumeration."""
    return [str(choice) for each in _types_at(as_type, path) for choice in _choices(each)]


def fields_of(as_type: object, path: Sequence[str | int]) -> list[str]:
    """The names of the fields that the struct at `path` of `as_type` has on the wire; none where it is no struct."""
    structs = (each for each in _types_at(as_type, path) if isinstance(each, types.StructType))
    return [field.encode_name for struct in structs for field in struct.fields]


def _types_at(as_type: object, path: Sequence[str | int]) -> list[types.Type]:
    """Alternatives that the type of the field has. A part of `path` is a field's name, or a member's number or key."""
    found = [*_plain(types.type_info(as_type))]
    for part in path:
        found = [plain for each in found for inner in _inner(each, part) for plain in _plain(inner)]
    return found


def _inner(outer: types.Type, part: str | int) -> Iterator[types.Type]:
    match outer:
        case types.StructType(fields=fields):
            yield from (field.type for field in fields if field.encode_name == part)
        case types.DictType(value_type=inner) | types.VarTupleType(item_type=inner) | types.ListType(item_type=inner):
            yield inner
        case _:
            pass


def _plain(each: types.Type) -> Iterator[types.Type]:
    match each:
        case types.UnionType(types=alternatives):
            for alternative in alternatives:
                yield from _plain(alternative)
        case types.Metadata(type=inner):
            yield from _plain(inner)
        case _:
            yield each


def _choices(each: types.Type) -> list[str]:
    match each:
        case types.EnumType(cls=cls):
            return [str(choice.value) for choice in cls]
        case types.LiteralType(values=values):
            return [str(value) for value in values]
        case _:
            return []
