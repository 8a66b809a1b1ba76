"""JSON merge patch (RFC 7396): mappings are merged, null removes, everything else replaces."""

from typing import Any, cast


def apply(target: Any, patch: Any) -> Any:
    """`target` with `patch` merged into it. Raises: ValueError when it is nested too deeply."""
    try:
        return _merge(target, patch)
    except RecursionError as error:
        raise ValueError("the merge patch is nested too deeply") from error


def _merge(target: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return patch
    merged = dict(cast(dict[str, Any], target)) if isinstance(target, dict) else {}
    for key, value in cast(dict[str, Any], patch).items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = _merge(merged.get(key), value)
    return merged
