"""Values and their structures: which fields a value has, how two values differ, merging, and taking fields away.

A map or a list that is no atom is owned by its parts; everything else is owned as one piece, a leaf.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, cast

from kubeapi.diff import is_equal
from kubeserver.patch.apply.fieldset import FieldSet, Path
from kubeserver.structures.structure import ANY, Structure, element_name

_ABSENT: Any = object()


@dataclass(slots=True)
class Difference:
    """Difference between two values: what is in one and not in the other, or different in both."""

    added: set[Path] = field(default_factory=set[Path])
    modified: set[Path] = field(default_factory=set[Path])
    removed: set[Path] = field(default_factory=set[Path])

    def __bool__(self) -> bool:
        return bool(self.added or self.modified or self.removed)

    @property
    def taken(self) -> set[Path]:
        return self.added | self.modified


def fields_of(structure: Structure, value: Any) -> FieldSet:
    """The fields that someone who applies `value` owns."""
    return frozenset(_fields(structure, value, ()))


def compare(structure: Structure, old: Any, new: Any) -> Difference:
    difference = Difference()
    _compare(structure, old, new, (), difference)
    return difference


def merge(structure: Structure, live: Any, config: Any) -> Any:
    """`live` with everything that `config` says."""
    how = structure.merges(config)
    if how == "map" and isinstance(live, dict):
        return _merge_maps(structure, cast(dict[str, Any], live), cast(dict[str, Any], config))
    if how == "list" and isinstance(live, list):
        return _merge_lists(structure, cast(list[Any], live), cast(list[Any], config))
    return config


def remove(structure: Structure, value: Any, gone: FieldSet) -> Any:
    """`value` without the fields of `gone`, and what is below them."""
    return _remove(structure, value, _tree(gone))


def named_parents(structure: Structure, fields: FieldSet) -> FieldSet:
    """`fields`, and the declared fields of structs that lie above them."""
    return fields | frozenset(path[:length] for path in fields for length in _named_lengths(structure, path))


def _named_lengths(structure: Structure, path: Path) -> Iterator[int]:
    here: Structure = structure
    for index, name in enumerate(path):
        if name.startswith("f:"):
            if here.has_field(name[2:]):
                yield index + 1
            here = here.child(name[2:]) or ANY
        else:
            here = here.item


def _fields(structure: Structure, value: Any, path: Path) -> Iterator[Path]:
    how = structure.merges(value)
    if how == "leaf":
        if path:
            yield path
    elif how == "list":
        for item in cast(list[Any], value):
            where = (*path, element_name(structure, item))
            yield from _fields(structure.item, item, where)
            yield where
    else:
        for name, item in cast(dict[str, Any], value).items():
            where = (*path, f"f:{name}")
            child = structure.child(name) or ANY
            yield from _fields(child, item, where)
            if not structure.has_field(name) or item == {}:
                yield where


def _compare(structure: Structure, old: Any, new: Any, path: Path, found: Difference) -> None:
    if is_equal(old, new):
        return
    how = structure.merges(old if new is None else new)
    before, after = _parts(structure, old, how), _parts(structure, new, how)
    if path and not (before or after):
        found.modified.add(path)
    for name in before | after:
        was, becomes = before.get(name, _ABSENT), after.get(name, _ABSENT)
        if is_equal(was, becomes):
            continue
        child, where = (structure.child(name) or ANY, f"f:{name}") if how == "map" else (structure.item, name)
        if was is _ABSENT:
            _add_paths(child, becomes, (*path, where), found.added)
        elif becomes is _ABSENT:
            _add_paths(child, was, (*path, where), found.removed)
        else:
            _compare(child, was, becomes, (*path, where), found)


def _add_paths(structure: Structure, value: Any, path: Path, paths: set[Path]) -> None:
    """Every place in a value that is only there on one side."""
    paths.add(path)
    match structure.merges(value):
        case "map":
            for name, item in cast(dict[str, Any], value).items():
                _add_paths(structure.child(name) or ANY, item, (*path, f"f:{name}"), paths)
        case "list":
            for item in cast(list[Any], value):
                _add_paths(structure.item, item, (*path, _safe_name(structure, item)), paths)
        case _:
            pass


def _parts(structure: Structure, value: Any, how: str) -> dict[str, Any]:
    """The parts of one side by name; none for a leaf."""
    if how == "list":
        return _elements(structure, value)
    return cast(dict[str, Any], value) if how == "map" and isinstance(value, dict) else {}


def _elements(structure: Structure, value: Any) -> dict[str, Any]:
    items = cast(list[Any], value) if isinstance(value, list) else []
    return {_safe_name(structure, item): item for item in items}


def _safe_name(structure: Structure, item: Any) -> str:
    """A stored list may hold what could not be applied."""
    try:
        return element_name(structure, item)
    except ValueError:
        return "v:null"


def _merge_maps(structure: Structure, live: dict[str, Any], config: dict[str, Any]) -> dict[str, Any]:
    merged = dict(live)
    for name, item in config.items():
        child = structure.child(name) or ANY
        merged[name] = merge(child, live[name], item) if name in live else item
    return merged


def _merge_lists(structure: Structure, live: list[Any], config: list[Any]) -> list[Any]:
    """Applied elements keep the order of the configuration; others stay where they were among those before them."""
    old, wanted = _elements(structure, live), _elements(structure, config)
    order, shared = list(wanted), [name for name in wanted if name in old]
    places = {name: place for place, name in enumerate(order)}
    merged: list[Any] = []
    done = passed = 0
    for name, item in old.items():
        if name not in wanted:
            merged.append(item)
        elif passed < len(shared) and name == shared[passed]:
            due = order[done : places[name] + 1]
            merged += [_merged_element(structure, each, old, wanted) for each in due]
            passed += sum(each in old for each in due)
            done = places[name] + 1
    return merged + [_merged_element(structure, name, old, wanted) for name in order[done:]]


def _merged_element(structure: Structure, name: str, old: dict[str, Any], wanted: dict[str, Any]) -> Any:
    return merge(structure.item, old[name], wanted[name]) if name in old else wanted[name]


def _tree(fields: FieldSet) -> dict[str, Any]:
    """Nested mappings; None where everything goes."""
    root: dict[str, Any] = {}
    for path in sorted(fields, key=len):
        node: dict[str, Any] | None = root
        for name in path[:-1]:
            if node is None:
                break
            node = cast("dict[str, Any] | None", node.setdefault(name, {}))
        if node is not None:
            node[path[-1]] = None
    return root


def _remove(structure: Structure, value: Any, gone: dict[str, Any]) -> Any:
    how = structure.merges(value)
    if how == "map":
        kept: dict[str, Any] = {}
        for name, item in cast(dict[str, Any], value).items():
            left = _kept(structure.child(name) or ANY, item, f"f:{name}", gone)
            if left is not _ABSENT:
                kept[name] = left
        return kept
    if how == "list":
        items = cast(list[Any], value)
        left = (_kept(structure.item, item, _safe_name(structure, item), gone) for item in items)
        return [item for item in left if item is not _ABSENT]
    return value


def _kept(structure: Structure, item: Any, name: str, gone: dict[str, Any]) -> Any:
    if name not in gone:
        return item
    if gone[name] is None:
        return _ABSENT
    left = _remove(structure, item, gone[name])
    return _ABSENT if left in ({}, []) and item not in ({}, []) else left
