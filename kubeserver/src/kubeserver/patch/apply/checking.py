"""Check of an applied configuration against the structure of its kind, in the words of kube-apiserver."""

from collections.abc import Iterator, Mapping
from typing import Any, cast

from kubeapi import codec
from kubeserver.patch.apply.fieldset import Path, show_path
from kubeserver.structures.structure import Structure, element_name

_NUMBERS = frozenset(("int32", "int64", "double", "integer", "number"))
_GO_TYPES: Mapping[type, str] = {
    str: "string",
    bool: "bool",
    int: "int64",
    float: "float64",
    dict: "map[string]interface {}",
    list: "[]interface {}",
}


def schema_errors(structure: Structure, value: Any) -> list[str]:
    """Errors of what does not fit, each with its path."""
    return list(_schema_errors(structure, value, ()))


def render_schema_errors(found: list[str]) -> str:
    return found[0] if len(found) == 1 else "errors:\n" + "\n".join(f"  {one}" for one in found)


def _schema_errors(structure: Structure, value: Any, path: Path) -> Iterator[str]:
    if value is None or structure.form == "any":
        return
    match structure.form:
        case "scalar":
            yield from _scalar(structure.type, value, path)
        case "list":
            yield from _list(structure, value, path)
        case _:
            yield from _map(structure, value, path)


def _scalar(wanted: str, value: Any, path: Path) -> Iterator[str]:
    if wanted in ("intstr", "quantity"):
        return
    if wanted in _NUMBERS:
        if isinstance(value, bool) or not isinstance(value, int | float):
            yield f"{show_path(path)}: expected numeric (int or float), got {_go_type(value)}"
    elif wanted in ("bool", "boolean"):
        if not isinstance(value, bool):
            yield f"{show_path(path)}: expected boolean, got {_go_value(value)}"
    elif not isinstance(value, str):
        yield f"{show_path(path)}: expected string, got {_go_value(value)}"


def _list(structure: Structure, value: Any, path: Path) -> Iterator[str]:
    if not isinstance(value, list):
        yield f"{show_path(path)}: expected list, got {_go_type(value)}"
        return
    seen: set[str] = set()
    for index, item in enumerate(cast(list[Any], value)):
        if structure.atomic:
            yield from _schema_errors(structure.item, item, (*path, f"i:{index}"))
            continue
        missing = _missing_key(structure, item)
        if missing:
            yield f"{show_path(path)}: element {index}: {missing}"
            continue
        name = element_name(structure, item)
        if name in seen:
            yield f"{show_path(path)}: duplicate entries for key {show_path((name,))}"
        seen.add(name)
        yield from _schema_errors(structure.item, item, (*path, name))


def _missing_key(structure: Structure, item: Any) -> str:
    if not structure.keys:
        return ""
    if item is None:
        return "associative list with keys may not have a null element"
    if not isinstance(item, dict):
        return "associative list with keys may not have non-map elements"
    for key in structure.keys:
        declared = structure.item.fields.get(key)
        if cast(dict[str, Any], item).get(key) is None and (declared is None or declared.default is None):
            omits = f'omits key field "{key}" (and doesn\'t have default value)'
            return f"associative list with keys has an element that {omits}"
    return ""


def _map(structure: Structure, value: Any, path: Path) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{show_path(path)}: expected map, got {_go_type(value)}"
        return
    for name, item in cast(dict[str, Any], value).items():
        where, child = (*path, f"f:{name}"), structure.child(name)
        if child is None:
            yield f"{show_path(where)}: field not declared in schema"
        else:
            yield from _schema_errors(child, item, where)


def _go_type(value: Any) -> str:
    return next((name for kind, name in _GO_TYPES.items() if isinstance(value, kind)), "nil")


def _go_value(value: Any) -> str:
    return f"&value.valueUnstructured{{Value:{codec.encode(value).decode()}}}"
