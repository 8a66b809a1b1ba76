"""Record of one outage: begun from a Cluster, made from an `Outage` object, and rendered as one, within bounds.

A record knows every application that the outage concerns; the object names as many as there is room for, and counts the
others. Whoever takes over goes on from the object and from the bindings as they are: what the object has counted and
nobody can name any more has moved.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import msgspec

from kubeapi.meta import ObjectMeta, wire_time
from leeward.api.cluster import Cluster
from leeward.api.names import binding_name
from leeward.api.outage import (
    ClusterOutage,
    MoveState,
    OutageApplication,
    OutageCounts,
    OutagePhase,
    OutageSpec,
    OutageStatus,
    StepKind,
)
from leeward.api.resource import OUTAGES
from leeward.core.cluster_health.outage import not_seen_since
from leeward.core.outages.sight import ApplicationKey

GOES_ON = timedelta(minutes=10)
"""A cluster that fails again so soon after its return is in the same outage."""
MOST_LISTED, MOST_POINTS = 200, 120
_LISTED_FIRST = (MoveState.HELD, MoveState.MOVING, MoveState.MOVED, MoveState.KEPT, MoveState.DUE, MoveState.RETURNED)


@dataclass(frozen=True, slots=True)
class OutageRecord:
    """`status` is without what is counted and listed from `applications`.

    `before` is where applications were when they were seen first; `behind` those whose old copies are not cleaned up,
    `cleaned_at` when the last of them was.
    `uids` are those of their templates, as far as this process has seen them.
    `unnamed` is how many have moved and are not in `applications`; `expected`, where it is not None, how many the
    object has counted before this process has looked at all bindings.
    """

    name: str
    spec: OutageSpec
    status: OutageStatus
    applications: Mapping[ApplicationKey, OutageApplication] = field(
        default_factory=dict[ApplicationKey, OutageApplication]
    )
    before: Mapping[ApplicationKey, Mapping[str, int]] = field(default_factory=dict[ApplicationKey, Mapping[str, int]])
    uids: Mapping[ApplicationKey, str] = field(default_factory=dict[ApplicationKey, str])
    behind: frozenset[ApplicationKey] = frozenset()
    cleaned_at: datetime | None = None
    unnamed: int = 0
    expected: int | None = None


def is_lost(cluster: Cluster) -> bool:
    """Tells whether a cluster that was Ready once is not so now."""
    was_ready = bool(cluster.status.kubernetes_version)
    return was_ready and not cluster.is_being_deleted and not cluster.is_ready and not_seen_since(cluster) is not None


def begin(cluster: Cluster) -> OutageRecord:
    """The record of an outage that begins; the cluster is lost."""
    since = not_seen_since(cluster)
    assert since is not None, "a cluster that is lost was seen last at some instant"
    since = wire_time(since)
    name = f"{cluster.name}-{since:%Y%m%d-%H%M%S}"
    return OutageRecord(name, OutageSpec(cluster=cluster.name, since=since), OutageStatus(failed_at=since))


def goes_on(outage: ClusterOutage, cluster: Cluster) -> bool:
    """Tells whether what is observed of the cluster belongs to this outage, the last one of it."""
    if outage.status.phase is not OutagePhase.OVER:
        return True
    since, returned = not_seen_since(cluster), outage.status.returned_at
    return is_lost(cluster) and since is not None and returned is not None and since < returned + GOES_ON


def recall(outage: ClusterOutage) -> OutageRecord:
    """The record that an object holds."""
    status = outage.status
    listed = {(each.namespace, binding_name(each.kind, each.name)): each for each in status.listed}
    return OutageRecord(
        name=outage.name,
        spec=outage.spec,
        status=msgspec.structs.replace(status, listed=()),
        applications=listed,
        expected=status.applications,
    )


def render(record: OutageRecord) -> ClusterOutage:
    """The object, within its bounds."""
    status = msgspec.structs.replace(record.status, **counts_of(record), listed=_listed(record.applications.values()))
    return ClusterOutage(
        api_version=OUTAGES.api_version,
        kind=OUTAGES.kind,
        metadata=ObjectMeta(name=record.name),
        spec=record.spec,
        status=status,
    )


def counts_of(record: OutageRecord) -> dict[str, int]:
    """Counts by the fields of the status."""
    states = Counter(each.state for each in record.applications.values())
    states[MoveState.MOVED] += record.unnamed
    return {"applications": states.total(), **{state.value.lower(): states[state] for state in MoveState}}


def untold(status: OutageStatus) -> OutageStatus:
    """The status without facts that follow from the taints of the Cluster, or are only foreseen."""
    steps = tuple(step for step in status.steps if step.kind is not StepKind.NO_EXECUTE)
    listed = tuple(_without_outlook(each) for each in status.listed)
    return msgspec.structs.replace(status, steps=steps, no_execute_at=None, listed=listed)


def _without_outlook(application: OutageApplication) -> OutageApplication:
    is_due = application.state is MoveState.DUE
    reason, message = ("", "") if is_due else (application.reason, application.message)
    return msgspec.structs.replace(application, due_at=None, reason=reason, message=message)


def point_of(record: OutageRecord, now: datetime) -> OutageCounts:
    counts = counts_of(record)
    del counts["applications"]
    return OutageCounts(at=wire_time(now), **counts)


def with_point(status: OutageStatus, point: OutageCounts) -> OutageStatus:
    """The status with one more point of its curve, where that says anything new; of too many, each second one goes."""
    curve = status.curve
    if curve and msgspec.structs.replace(curve[-1], at=point.at) == point:
        return status
    if curve and curve[-1].at == point.at:
        curve = curve[:-1]
    if len(curve) >= MOST_POINTS:
        curve = (*curve[:-1:2], curve[-1])
    return msgspec.structs.replace(status, curve=(*curve, point))


def _listed(applications: Iterable[OutageApplication]) -> tuple[OutageApplication, ...]:
    """Applications in the order of the list, at most `MOST_LISTED`: who needs somebody first, then the slowest."""
    rank = {state: index for index, state in enumerate(_LISTED_FIRST)}
    order = sorted(applications, key=lambda a: (rank[a.state], -(a.recovery_seconds or 0), a.namespace, a.name, a.kind))
    return tuple(order[:MOST_LISTED])
