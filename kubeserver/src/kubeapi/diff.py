"""Equality of JSON values, and the patches that turn one object into another: JSON merge patch (RFC 7396), and JSON
patch (RFC 6902)."""

from collections.abc import Iterable, Mapping
from typing import Any, cast

from kubeapi.codec import canonical, to_wire
from kubeapi.meta import Manifest


def is_equal(one: object, other: object) -> bool:
    """Equality of JSON values, and of structs that hold them: numbers by value, and true is not 1.

    To Python 1 equals True. What it holds for equal is looked at again, as bytes first.
    """
    if one != other:
        return False
    if one is other or isinstance(one, str):
        return True
    return canonical(one) == canonical(other) or _has_the_same_booleans(to_wire(one), to_wire(other))


def _has_the_same_booleans(one: Any, other: Any) -> bool:
    """Holds: Python holds the two for equal."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict):
        return all(_has_the_same_booleans(value, other[key]) for key, value in cast(Manifest, one).items())
    if isinstance(one, list):
        return all(map(_has_the_same_booleans, cast(list[Any], one), other))
    return True


def is_one_of(value: object, values: Iterable[object]) -> bool:
    """Membership by `is_equal`, where `in` would find 1 among booleans."""
    return any(is_equal(value, each) for each in values)


def merge_patch(old: Mapping[str, Any], new: Mapping[str, Any]) -> Manifest:
    """The smallest merge patch from `old` to `new`; empty when they are equal.

    Lists are replaced whole. A null in `new` is an absence: the format knows no other.
    """
    patch: Manifest = {key: None for key in old if key not in new}
    for key, value in new.items():
        before = old.get(key)
        if isinstance(value, dict) and isinstance(before, dict):
            if inner := merge_patch(cast(Manifest, before), cast(Manifest, value)):
                patch[key] = inner
        elif not is_equal(old.get(key), new[key]):
            patch[key] = value
    return patch


def merged(target: Any, patch: Any) -> Any:
    """`target` with a merge patch carried out: mappings are merged, null removes, everything else replaces. It shares
    what stays as it was.

    Nulls within what replaces are left out, as by every Kubernetes API server; the RFC would keep those within lists.
    Raises: RecursionError when nested too deeply.
    """
    if not isinstance(patch, dict):
        return _without_nulls(patch)
    result = dict(cast(dict[str, Any], target)) if isinstance(target, dict) else {}
    for key, value in cast(dict[str, Any], patch).items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(v) for key, v in cast(dict[str, Any], value).items() if v is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in cast(list[Any], value) if item is not None]
    return value


def json_patch(old: Mapping[str, Any], new: Mapping[str, Any], at: str = "") -> list[Manifest]:
    """The operations from `old` to `new`, `at` a JSON pointer; none when they are equal. Lists are replaced whole."""
    patch: list[Manifest] = [{"op": "remove", "path": _pointer(at, key)} for key in old if key not in new]
    for key, value in new.items():
        before = old.get(key)
        if isinstance(value, dict) and isinstance(before, dict):
            patch += json_patch(cast(Manifest, before), cast(Manifest, value), _pointer(at, key))
        elif key not in old or not is_equal(old.get(key), new[key]):
            patch.append({"op": "add", "path": _pointer(at, key), "value": value})
    return patch


def _pointer(at: str, key: str) -> str:
    """RFC 6901."""
    return f"{at}/{key.replace('~', '~0').replace('/', '~1')}"


def status_patch(old: object, new: object) -> Manifest:
    """The merge patch of a status subresource from struct to struct; empty when they are equal."""
    if is_equal(old, new):
        return {}
    patch = merge_patch(to_wire(old), to_wire(new))
    return {"status": patch} if patch else {}
