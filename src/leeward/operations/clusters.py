"""A Cluster in one row: its state as one word, since when, and its known size.

Fields that are absent, as they may be in Karmada's own Clusters, are unknown and never guessed.
"""

from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from decimal import Decimal
from enum import Enum

import msgspec

from kubeapi.core import Taint
from kubeapi.quantity import Quantity, parse_quantity
from leeward.api.cluster import Cluster, ResourceSummary
from leeward.api.names import FLAPPING_TAINT, NOT_READY_TAINT, UNREACHABLE_TAINT
from leeward.api.work import Binding, is_application
from leeward.core.cluster_health.outage import not_seen_since
from leeward.core.cluster_health.pending_condition import doubt_in, is_failing
from leeward.core.cluster_health.ready_condition import is_uncollected, unobserved
from leeward.operations.drain import describe_copy
from leeward.operations.taints import CORDON, DRAIN, is_same

_OUR_TAINTS = (NOT_READY_TAINT, UNREACHABLE_TAINT, FLAPPING_TAINT, CORDON.key, DRAIN.key)


class ClusterState(Enum):
    """Worst first."""

    UNREADABLE = "Unreadable"
    NOT_READY = "Not ready"
    UNKNOWN = "Unknown"
    UNCOLLECTED = "Not seen"
    SILENT = "No report"
    FAILING = "Failing"
    LEAVING = "Leaving"
    DRAINING = "Draining"
    DRAINED = "Drained"
    CORDONED = "Cordoned"
    HELD_DOWN = "Held down"
    READY = "Ready"


ORDER = {state: index for index, state in enumerate(ClusterState)}


def is_overfull(cluster: Cluster) -> bool:
    """Tells whether Pods there ask for more than it has, as far as its report can be read: some wait for a node."""
    summary = cluster.status.resource_summary
    with suppress(ValueError, ArithmeticError):
        return summary is not None and any(free_of(summary, name) < 0 for name in summary.allocatable)
    return False


def free_of(summary: ResourceSummary, name: str) -> Decimal:
    parts = (summary.allocatable, summary.allocated, summary.allocating)
    amounts = [parse_quantity(part.get(name, "0")) for part in parts]
    return amounts[0] - amounts[1] - amounts[2]


class ClusterRow(msgspec.Struct, frozen=True, rename="camel"):
    """`ready` is the condition's status (`-` before the first report), `reason` its reason.

    `cores_allocated` and `cores` are None where they are not known, or where nobody has looked lately.
    """

    name: str
    mode: str
    ready: str
    reason: str
    version: str
    taints: list[str]
    state: ClusterState
    since: datetime | None = None
    note: str = ""
    cores_allocated: float | None = None
    cores: float | None = None
    replicas: int = 0
    applications: int = 0


def cluster_row(cluster: Cluster, bindings: tuple[Binding, ...]) -> ClusterRow:
    ready, state, summary = cluster.ready, state_of(cluster, bindings), cluster.status.resource_summary
    since, note = _since_and_note(cluster, state)
    there = [binding for binding in bindings if any(t.name == cluster.name for t in binding.spec.clusters)]
    return ClusterRow(
        name=cluster.name,
        mode=cluster.spec.sync_mode,
        ready=ready.status if ready else "-",
        reason=ready.reason if ready else "",
        version=cluster.status.kubernetes_version,
        taints=[f"{taint.key}:{taint.effect}" for taint in cluster.taints],
        state=state,
        since=since,
        note=note,
        cores_allocated=_cores(summary.allocated) if summary and cluster.is_ready else None,
        cores=_cores(summary.allocatable) if summary else None,
        replicas=sum(t.replicas for binding in there for t in binding.spec.clusters if t.name == cluster.name),
        applications=sum(map(is_application, there)),
    )


def unreadable_row(name: str, problem: str) -> ClusterRow:
    return ClusterRow(name, "", "-", "", "", [], ClusterState.UNREADABLE, note=problem)


def state_of(cluster: Cluster, bindings: tuple[Binding, ...]) -> ClusterState:
    ready = cluster.ready
    if ready is None:
        return ClusterState.LEAVING if cluster.is_being_deleted else ClusterState.SILENT
    if unobserved(cluster) is not None:
        return ClusterState.UNCOLLECTED
    if ready.status != "True":
        if is_uncollected(ready):
            return ClusterState.UNCOLLECTED
        return ClusterState.NOT_READY if ready.status == "False" else ClusterState.UNKNOWN
    if is_failing(cluster):
        return ClusterState.FAILING
    if cluster.is_being_deleted:
        return ClusterState.LEAVING
    if taint_in(cluster, DRAIN):
        return ClusterState.DRAINING if left_to_drain(cluster.name, bindings) else ClusterState.DRAINED
    if taint_in(cluster, CORDON):
        return ClusterState.CORDONED
    held_down = any(taint.key == FLAPPING_TAINT for taint in cluster.taints)
    return ClusterState.HELD_DOWN if held_down else ClusterState.READY


def left_to_drain(cluster: str, bindings: tuple[Binding, ...]) -> list[Binding]:
    """Bindings that a drain has still to move; those that it never moves do not count."""
    copies = ((binding, describe_copy(binding, cluster)) for binding in bindings)
    return [binding for binding, copy in copies if copy is not None and not copy.staying]


def taint_in(cluster: Cluster, wanted: Taint) -> Taint | None:
    return next((taint for taint in cluster.taints if is_same(taint, wanted)), None)


def _since_and_note(cluster: Cluster, state: ClusterState) -> tuple[datetime | None, str]:
    ready, doubt = cluster.ready, doubt_in(cluster)
    others = ", ".join(str(taint) for taint in cluster.taints if taint.key not in _OUR_TAINTS)
    match state:
        case ClusterState.SILENT:
            return cluster.metadata.creation_timestamp, "has never reported"
        case ClusterState.FAILING if doubt is not None:
            return doubt.last_transition_time, doubt.message
        case ClusterState.NOT_READY | ClusterState.UNKNOWN if ready is not None:
            return not_seen_since(cluster), ready.message or ready.reason
        case ClusterState.UNCOLLECTED if (unseen := unobserved(cluster)) is not None:
            return unseen.last_transition_time, unseen.message
        case ClusterState.LEAVING:
            return cluster.metadata.deletion_timestamp, "is being unjoined"
        case ClusterState.DRAINING | ClusterState.DRAINED:
            drain = taint_in(cluster, DRAIN)
            return drain.time_added if drain else None, others
        case ClusterState.CORDONED:
            cordon = taint_in(cluster, CORDON)
            return cordon.time_added if cordon else None, others
        case ClusterState.READY | ClusterState.HELD_DOWN:
            return ready.last_transition_time if ready else None, others
        case _:
            return (ready.last_transition_time, ready.message or ready.reason) if ready else (None, "")


def _cores(amounts: Mapping[str, Quantity]) -> float | None:
    try:
        return float(parse_quantity(amounts["cpu"]))
    except (KeyError, ValueError, ArithmeticError):
        return None
