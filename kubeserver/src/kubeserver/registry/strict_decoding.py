"""Reading an object of a built-in kind as its structure: unknown fields go, and types must be right.

For built-in kinds null is the same as absent, so it goes, too, and so does an empty value where it says no more. In
lists and maps, null is the empty value of their type.
"""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any, cast

from kubeapi import codec
from kubeapi.meta import Manifest
from kubeserver.registry.decoding_errors import DecodingError, Place
from kubeserver.registry.scalars import read_scalar
from kubeserver.structures.structure import Structure, empty

_NULL = b"null"
_AT_ONCE = {"string": str, "bool": bool, "double": float}


def fit(structure: Structure, value: Any, known: Any = None) -> list[str]:
    """Drops unknown fields and nulls from `value` in place; returns the paths of the former, in the order of the text.

    `known` is a value of the structure that fits: what `value` has from there, as the same objects, is not looked at.
    Raises: DecodingError.
    """
    return list(_fit(structure, value, Place(structure.type, "", ""), known))


def read_anew(structure: Structure, stored: Manifest) -> Manifest:
    """The stored object as it would be read today: an earlier version kept other texts of the same amounts."""
    manifest = codec.copy_manifest(stored)
    with suppress(DecodingError):
        fit(structure, manifest)
    return manifest


def _fit(structure: Structure, value: Any, place: Place, known: Any) -> Iterator[str]:
    match structure.form:
        case "any":
            if _NULL in codec.encode(value):
                _drop_nulls(value)
        case "list":
            yield from _fit_list(structure, value, place)
        case "scalar":
            read_scalar(structure, value, place)
        case _:
            yield from _fit_map(structure, value, place, known)


def _fit_list(structure: Structure, value: Any, place: Place) -> Iterator[str]:
    if not isinstance(value, list):
        raise place.wrong(value, structure)
    items = cast(list[Any], value)
    for index, item in enumerate(items):
        if item is None:
            items[index] = empty(structure.item)
        elif not _fits_at_once(structure.item, item):
            yield from _fit_child(items, index, structure.item, place.item(index), None)


def _fit_map(structure: Structure, value: Any, place: Place, known: Any) -> Iterator[str]:
    if not isinstance(value, dict):
        raise place.wrong(value, structure)
    mapping = cast(dict[str, Any], value)
    before = cast(dict[str, Any], known) if isinstance(known, dict) else {}
    for name, item in list(mapping.items()):
        if item is not None and item is before.get(name):
            continue
        child = structure.child(name)
        if child is not None and _fits_at_once(child, item) and (item or name not in structure.silent):
            continue
        declared = structure.form == "struct"
        where = place.field(name, structure.type) if declared else place.entry(name)
        if child is None:
            del mapping[name]
            yield where.path
        elif item is None:
            _fit_null(structure, mapping, name)
        else:
            yield from _fit_child(mapping, name, child, where, before.get(name))
            _fit_empty(structure, mapping, name)


def _fit_null(structure: Structure, mapping: dict[str, Any], name: str) -> None:
    if structure.form == "map":
        mapping[name] = empty(structure.item)
    else:
        del mapping[name]


def _fit_empty(structure: Structure, mapping: dict[str, Any], name: str) -> None:
    if mapping[name] or mapping[name] is None:
        return
    if name in structure.silent:
        del mapping[name]
    elif mapping[name] == [] and name in structure.always and name not in structure.kept:
        mapping[name] = None


def _fits_at_once(structure: Structure, value: Any) -> bool:
    """Tells whether it is a scalar that needs no second look, as most values are."""
    return structure.form == "scalar" and type(value) is _AT_ONCE.get(structure.type)


def _drop_nulls(value: Any) -> None:
    if isinstance(value, dict):
        mapping = cast(dict[str, Any], value)
        for key in [key for key, item in mapping.items() if item is None]:
            del mapping[key]
        for item in mapping.values():
            _drop_nulls(item)
    elif isinstance(value, list):
        for item in cast(list[Any], value):
            _drop_nulls(item)


def _fit_child(owner: Any, key: Any, child: Structure, place: Place, known: Any) -> Iterator[str]:
    if child.form == "scalar":
        owner[key] = read_scalar(child, owner[key], place)
    else:
        yield from _fit(child, owner[key], place, known)
