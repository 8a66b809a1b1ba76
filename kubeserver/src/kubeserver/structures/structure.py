"""The structure of objects: which fields there are, of which types, and how lists and maps are merged.

One tree for all kinds, whatever it was made from: the field tables of the built-in kinds (`builtin.py`) or the
schema of a custom one (`apiextensions/structure.py`). Reading, server-side apply and OpenAPI walk along it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from kubeapi import codec

Form = Literal["scalar", "struct", "map", "list", "any"]


@dataclass(slots=True, eq=False)
class Structure:
    """One place in an object.

    `type` is the name of a scalar (`string`, `int32`, `time`, ...) or of a struct. An `atomic` place has one owner for
    all that is in it. A list that is not atomic is a map with `keys`, or a set when there are none.
    """

    form: Form
    type: str = ""
    fields: "dict[str, Structure]" = field(default_factory=dict[str, "Structure"])
    element: "Structure | None" = None
    atomic: bool = False
    keys: tuple[str, ...] = ()
    always: tuple[str, ...] = ()
    """Fields of a struct that are always written, with the empty value of their type."""
    kept: tuple[str, ...] = ()
    """Further fields of a struct that stay when they are empty; where nothing was ever said, they are written so."""
    silent: frozenset[str] = frozenset()
    """Fields of a struct whose empty value says no more than their absence, so that it is not kept."""
    default: Any = None
    free: bool = False
    """A struct that may have fields which are not declared."""

    def child(self, name: str) -> "Structure | None":
        """Structure under a field; None when there is no such field."""
        found = self.fields.get(name)
        if found is not None:
            return found
        if self.form == "map":
            return self.element
        return ANY if self.form == "any" or self.free else None

    def has_field(self, name: str) -> bool:
        return name in self.fields

    @property
    def item(self) -> "Structure":
        return self.element or ANY

    def merges(self, value: Any) -> Literal["leaf", "map", "list"]:
        """Way in which this value is owned: as one piece, or by its fields or elements."""
        if self.atomic or self.form == "scalar":
            return "leaf"
        if isinstance(value, dict) and self.form != "list":
            return "map"
        return "list" if isinstance(value, list) and self.form == "list" else "leaf"


ANY = Structure("any")
_CONTAINERS = (dict, list)
_EMPTY: Mapping[str, Any] = {
    "string": "", "bytes": "", "bool": False, "int32": 0, "int64": 0, "double": 0, "quantity": "0", "intstr": 0,
}  # fmt: skip


def complete(structure: Structure, value: Any) -> None:
    """Puts the fields in that are always written."""
    if structure.form == "any":
        return
    if isinstance(value, dict):
        mapping = cast(dict[str, Any], value)
        for name in structure.always:
            if name not in mapping:
                mapping[name] = empty(structure.fields[name])
        for name, item in mapping.items():
            child = structure.child(name) if isinstance(item, _CONTAINERS) else None
            if child is not None:
                complete(child, item)
    elif isinstance(value, list) and structure.form == "list":
        for item in cast(list[Any], value):
            complete(structure.item, item)


def empty(structure: Structure) -> Any:
    """Value that is written for a field that is always there and was not given, and for null in a list or a map."""
    if structure.form == "struct":
        return {name: empty(structure.fields[name]) for name in structure.always}
    return _EMPTY.get(structure.type)


def blank(structure: Structure) -> Any:
    """An object that nobody ever said anything of, as it is written."""
    if structure.form != "struct":
        return _EMPTY.get(structure.type)
    unsaid = {name: _EMPTY.get(structure.fields[name].type) for name in structure.kept}
    return unsaid | {name: blank(structure.fields[name]) for name in structure.always}


def element_name(structure: Structure, item: Any) -> str:
    """Name of an element of a list that is no atom: by its keys, or by its value. Raises: ValueError."""
    if not structure.keys:
        return "v:" + codec.encode(item).decode()
    if not isinstance(item, dict):
        raise ValueError("associative list with keys has an element that is no object")
    return "k:" + codec.canonical(_keys_of(structure, cast(Mapping[str, Any], item))).decode()


def _keys_of(structure: Structure, item: Mapping[str, Any]) -> dict[str, Any]:
    return dict(_key_pairs(structure, item, structure.keys))


def _key_pairs(structure: Structure, item: Mapping[str, Any], keys: Sequence[str]) -> Iterator[tuple[str, Any]]:
    for key in keys:
        declared = structure.item.fields.get(key)
        default = declared.default if declared is not None else None
        if item.get(key, default) is not None:
            yield key, item.get(key, default)
