"""JSON merge patch (RFC 7396), as an API server is asked to carry it out."""

from typing import Any

from kubeapi.diff import merged


def apply(target: Any, patch: Any) -> Any:
    """`target` with `patch` merged in; it shares what stays as it was. Raises: ValueError when nested too deeply."""
    try:
        return merged(target, patch)
    except RecursionError as error:
        raise ValueError("the merge patch is nested too deeply") from error
