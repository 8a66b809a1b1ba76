"""JSON merge patch (RFC 7396): mappings are merged, null removes, everything else replaces.

Nulls within what replaces are left out, as by every Kubernetes API server; the RFC would keep those within lists.
"""

from typing import Any, cast


def apply(target: Any, patch: Any) -> Any:
    """`target` with `patch` merged in; it shares what stays as it was. Raises: ValueError when nested too deeply."""
    try:
        return _merge(target, patch)
    except RecursionError as error:
        raise ValueError("the merge patch is nested too deeply") from error


def _merge(target: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return _without_nulls(patch)
    merged = dict(cast(dict[str, Any], target)) if isinstance(target, dict) else {}
    for key, value in cast(dict[str, Any], patch).items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = _merge(merged.get(key), value)
    return merged


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(v) for key, v in cast(dict[str, Any], value).items() if v is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in cast(list[Any], value) if item is not None]
    return value
