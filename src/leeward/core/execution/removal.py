"""Removals that do not come to an end: somebody's finalizer keeps an object, and what runs by it, in the member.

removal_blocked    what a Work says, to whose object it happens
removals_blocked   what the binding says of its Works, with the clusters
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec

from leeward.api.meta import Condition, ReadOnlyManifest, find_condition, remove_condition, set_condition
from leeward.api.names import REMOVAL_BLOCKED_CONDITION
from leeward.api.work import ResourceBindingStatus, Work

FINALIZERS = "Finalizers"


def removal_blocked(objects: Sequence[ReadOnlyManifest]) -> Condition | None:
    """The condition of a Work whose `objects` are still in the member, though their deletion was asked for."""
    kept = [text for text in map(_kept_by, objects) if text]
    return Condition(REMOVAL_BLOCKED_CONDITION, "True", FINALIZERS, "; ".join(kept)) if kept else None


def _kept_by(observed: ReadOnlyManifest) -> str:
    metadata = observed["metadata"]
    if "deletionTimestamp" not in metadata or not metadata.get("finalizers"):
        return ""
    namespace = metadata.get("namespace", "")
    name = f"{namespace}/{metadata['name']}" if namespace else metadata["name"]
    finalizers = metadata["finalizers"]
    return f"{observed['kind']} {name} has the finalizer{'s' * (len(finalizers) > 1)} {', '.join(finalizers)}"


def removals_blocked(works: Mapping[str, Work]) -> Condition | None:
    """The condition of a binding whose `works`, by cluster, are being deleted."""
    found = (
        (cluster, find_condition(work.status.conditions, REMOVAL_BLOCKED_CONDITION))
        for cluster, work in sorted(works.items())
        if work.metadata.deletion_timestamp is not None
    )
    told = [f"Still runs in {cluster}: {blocked.message}." for cluster, blocked in found if blocked is not None]
    return Condition(REMOVAL_BLOCKED_CONDITION, "True", FINALIZERS, " ".join(told)) if told else None


def with_blocked_removals(
    status: ResourceBindingStatus, blocked: Condition | None, now: datetime
) -> ResourceBindingStatus:
    """`status` that says so, or says nothing of the kind."""
    conditions = (
        remove_condition(status.conditions, REMOVAL_BLOCKED_CONDITION)
        if blocked is None
        else set_condition(status.conditions, blocked, now)
    )
    return msgspec.structs.replace(status, conditions=conditions)
