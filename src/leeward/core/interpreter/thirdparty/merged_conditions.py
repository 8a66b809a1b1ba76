"""Conditions of many clusters as one list, and each message names its cluster.

merge_conditions     equal ones are joined
one_of_each_type     one of each type, for definitions that allow no more
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from kubeapi import codec
from kubeapi.meta import ReadOnlyManifest
from kubeapi.unstructured import int_at, list_at, mappings_at, text_at
from leeward.api.meta import MOST_MESSAGE
from leeward.api.work import AggregatedStatusItem
from leeward.core.interpreter.resource_health import ResourceHealth
from leeward.core.interpreter.rules import InterpretationError

_STATUSES = ("True", "False", "Unknown")


class Told(NamedTuple):
    """Part of a cluster's report. `is_known` is False where nobody can say whether it still holds."""

    cluster: str
    is_known: bool
    report: ReadOnlyManifest


def reports(items: Iterable[AggregatedStatusItem], *path: str) -> list[Told]:
    """The statuses of the clusters that have reported one; with a path, the mappings of the list that is there."""
    found: list[Told] = []
    for item in items:
        is_known = item.health != ResourceHealth.UNKNOWN.value
        parts = (
            mappings_at({"status": item.status}, "status", *path) if path else mappings_at({"it": [item.status]}, "it")
        )
        found += (Told(item.cluster_name, is_known, part) for part in parts)
    return found


def one_of_each_type(reports: Iterable[Told]) -> list[Mapping[str, Any]]:
    """Conditions of all clusters, one of each type: true where it is true in any cluster, else false, else unknown.

    A cluster of which nobody can say whether it still holds counts where no other has that condition. Its generation is
    the greatest of those that say so, and its instant the latest.
    """
    by_type: dict[str, list[Told]] = {}
    for cluster, is_known, report in reports:
        for condition in mappings_at(report, "conditions"):
            by_type.setdefault(text_at(condition, "type"), []).append(Told(cluster, is_known, condition))
    return [_one_of(type_, told) for type_, told in by_type.items() if type_]


def _one_of(type_: str, told: Sequence[Told]) -> Mapping[str, Any]:
    counted = [each for each in told if each.is_known] or told
    said = {text_at(each.report, "status") for each in counted}
    status = next((each for each in _STATUSES if each in said), "Unknown")
    saying = [each.report for each in counted if text_at(each.report, "status") == status]
    joined: dict[str, Any] = {
        "type": type_,
        "status": status,
        "reason": next((text_at(each, "reason") for each in saying if text_at(each, "reason")), "Reported"),
        "message": ", ".join(_said(each, status) for each in told)[:MOST_MESSAGE],
        "lastTransitionTime": max((text_at(each, "lastTransitionTime") for each in saying), default=""),
        "observedGeneration": max((int_at(each, "observedGeneration") for each in saying), default=0),
    }
    return {name: value for name, value in joined.items() if value or name == "message"}


def _said(told: Told, status: str) -> str:
    """Words of a cluster, with its own status where that differs."""
    own, message = text_at(told.report, "status"), text_at(told.report, "message")
    if not told.is_known:
        return f"{told.cluster}=not known at present, {own} before"
    return f"{told.cluster}={message}" if own == status else f"{told.cluster}={own}: {message}"


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
