"""Conditions as Kubernetes' workloads write them: JSON mappings, some with a `lastUpdateTime`."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from kubeapi.meta import format_time

Condition = Mapping[str, Any]

_NONE: Condition = {}


def put_condition(
    conditions: Sequence[Condition], condition: Condition, now: datetime, *, updated: bool | None = None
) -> list[Condition]:
    """`conditions` with `condition` in its place; `lastTransitionTime` moves only with the status.

    `updated` says whether `lastUpdateTime` moves; None for kinds without it. It moves anyway when anything differs.
    """
    old = next((known for known in conditions if known["type"] == condition["type"]), _NONE)
    stamp = format_time(now)
    moved = old.get("status") != condition["status"]
    new = {**condition, "lastTransitionTime": stamp if moved else old["lastTransitionTime"]}
    if updated is not None:
        differs = any(old.get(name) != value for name, value in condition.items())
        new["lastUpdateTime"] = stamp if updated or differs else old["lastUpdateTime"]
    if not old:
        return [*conditions, new]
    return [new if known["type"] == condition["type"] else known for known in conditions]
