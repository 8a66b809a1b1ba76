"""Plausible statuses: of what a member reports are kept numbers that can be written down, to a depth and a size.

A status is copied from the member's object into the Work, and from there it goes into the binding, together with those
of other clusters: what cannot be written would keep theirs from being written, too. Holds: S10.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple, cast

from kubeapi import codec

MAX_STATUS_BYTES = 256 * 1024
"""Most bytes of the statuses of all objects of one Work, as compact JSON."""
MAX_DEPTH = 64
MAX_NUMBER = 2**63 - 1
MAX_COUNT = 2**31 - 1
"""Most replicas, which Kubernetes counts in 32 bits."""


class Kept(NamedTuple):
    """`size` in bytes; a status that is larger than what was left is None."""

    status: Any
    size: int


def plausible_status(status: object, left: int) -> Kept:
    """The status with absurd numbers cut down; `left` is how many bytes it may have."""
    kept = _plausible(status, 0)
    size = 0 if kept is None else len(codec.encode(kept))
    return Kept(kept if size <= left else None, size)


def plausible_count(value: object) -> int:
    """A number of replicas: what is none counts as none."""
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return max(0, min(cast(int, value), MAX_COUNT)) if is_number else 0


def _plausible(value: Any, depth: int) -> Any:
    if isinstance(value, int) and not isinstance(value, bool):
        return max(-MAX_NUMBER, min(value, MAX_NUMBER))
    if not isinstance(value, Mapping | list | tuple):
        return value
    if depth == MAX_DEPTH:
        return None
    if isinstance(value, Mapping):
        fields = cast(Mapping[str, Any], value)
        return {key: _plausible(each, depth + 1) for key, each in fields.items()}
    return [_plausible(each, depth + 1) for each in cast("list[Any]", value)]
