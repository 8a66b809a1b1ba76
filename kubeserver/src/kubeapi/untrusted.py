"""Looks into values that others have written: what is not of the expected type counts as absent."""

from collections.abc import Iterator, Mapping
from typing import Any, cast

from kubeapi.meta import Manifest


def mapping_in(mapping: Mapping[str, Any], field: str) -> Manifest:
    """The mapping in a field; an empty one where there is none."""
    value = mapping.get(field)
    return cast(Manifest, value) if isinstance(value, Mapping) else {}


def mappings_in(mapping: Mapping[str, Any], field: str) -> Iterator[Manifest]:
    """The members of a list in a field, as far as they are mappings."""
    for member in _list_in(mapping, field):
        if isinstance(member, Mapping):
            yield cast(Manifest, member)


def texts_in(mapping: Mapping[str, Any], field: str) -> list[str]:
    """The members of a list in a field, as far as they are texts."""
    return [member for member in _list_in(mapping, field) if isinstance(member, str)]


def text_in(mapping: Mapping[str, Any], field: str) -> str:
    """The text in a field; empty where there is none."""
    value = mapping.get(field)
    return value if isinstance(value, str) else ""


def _list_in(mapping: Mapping[str, Any], field: str) -> list[object]:
    values: object = mapping.get(field)
    return cast(list[object], values) if isinstance(values, list) else []
