"""Conditions of many clusters as one list: equal ones are joined, and each message names its cluster."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kubeapi import codec
from leeward.api.work import AggregatedStatusItem
from leeward.core.interpreter.fields import list_at, mappings_at, text_at
from leeward.core.interpreter.rules import InterpretationError


def merge_conditions(items: Iterable[AggregatedStatusItem]) -> list[Mapping[str, Any]]:
    """Conditions of all clusters, equal ones (in type, status and reason) as one. Raises: InterpretationError.

    The message of each is `cluster=its message`, joined by commas; everything else is as its first cluster tells it.
    """
    merged: dict[bytes, dict[str, Any]] = {}
    for item in items:
        for condition in mappings_at({"status": item.status}, "status", "conditions"):
            message = condition.get("message")
            if not isinstance(message, str):
                raise InterpretationError(f"a condition of {item.cluster_name} has no message")
            said = f"{item.cluster_name}={message}"
            key = codec.canonical([condition.get(name) for name in ("type", "status", "reason")])
            if key in merged:
                merged[key]["message"] += f", {said}"
            else:
                merged[key] = {**condition, "message": said}
    return list(merged.values())


def has_condition(status: object, kind: str, reasons: Sequence[str] = ()) -> bool:
    """Tells whether the condition is `True`, for one of these reasons if any are named."""
    return any(
        text_at(condition, "type") == kind
        and text_at(condition, "status") == "True"
        and (not reasons or text_at(condition, "reason") in reasons)
        for condition in list_at(status, "conditions")
    )
