"""What is wrong with a fleet, or will count soon, in sentences, worst first: a pure function of what was seen.

A finding names what it is about, says what is so and since when, and names the next command where there is one.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum

import msgspec

from leeward.api.cluster import Cluster
from leeward.api.core import Lease
from leeward.api.meta import Condition, find_condition
from leeward.api.names import (
    EVICTION_HELD_CONDITION,
    HEARTBEAT_NAME,
    REFUSED_CONDITION,
    REMOVAL_BLOCKED_CONDITION,
    SYSTEM_NAMESPACE,
)
from leeward.api.resource import CLUSTER_RESOURCE_BINDINGS, RESOURCE_BINDINGS
from leeward.api.work import Binding
from leeward.core.failover.brake import VANISHED
from leeward.core.failover.eviction import Stay, decide_stay
from leeward.core.failover.held_reasons import HeldReason
from leeward.operations.brake import BrakeReading
from leeward.operations.clusters import ClusterRow, ClusterState, is_application, left_to_drain
from leeward.operations.drain import workload_of
from leeward.operations.sentences import at, counted, since

NAMED_AT_MOST = 10
"""Findings of one kind that are told one by one; the rest is counted."""
LEASES_MISSED, SHORTEST_SILENCE = 2, timedelta(seconds=30)
"""A component is silent when its lease ended so many durations ago, and not before that time."""
NEW_CLUSTER = timedelta(seconds=60)
"""A cluster that has just joined is given that long for its first report."""


class Severity(Enum):
    NEEDS_SOMEBODY = "NeedsSomebody"
    SOON = "Soon"


class Finding(msgspec.Struct, frozen=True, rename="camel"):
    """`about` is `kind/name` or `kind/namespace/name`; `next` a command, or empty."""

    severity: Severity
    about: str
    sentence: str
    details: tuple[str, ...] = ()
    next: str = ""


class Hold(Enum):
    """What an EvictionHeld condition means for people."""

    HELD = "held"
    KEPT = "kept"
    WAITING = "waiting"


HOLDS: Mapping[str, Hold] = {
    HeldReason.BRAKE_ENGAGED: Hold.HELD,
    HeldReason.DECISION_REFUSED: Hold.HELD,
    HeldReason.DELETION_SUPPRESSED: Hold.KEPT,
    HeldReason.NO_PLACE_TO_GO: Hold.HELD,
    HeldReason.NOT_CONFIRMED: Hold.HELD,
    HeldReason.NOTHING_TO_GAIN: Hold.KEPT,
    HeldReason.REPLACEMENT_MISSING: Hold.HELD,
    HeldReason.SHARED_RESOURCE: Hold.KEPT,
    HeldReason.STATE_NOT_PRESERVED: Hold.HELD,
    HeldReason.UNHEALTHY_EVERYWHERE: Hold.HELD,
    HeldReason.WAITING_FOR_PURGE: Hold.HELD,
    HeldReason.WAITING_FOR_TURN: Hold.WAITING,
}
"""By the reason of the condition, all of them: kept is Leeward being careful, or somebody's will.

A reason that is not here was written by another version, and is held.
"""


@dataclass(frozen=True, slots=True)
class Observed:
    """What was seen at `now`. `failed_checks` are those of /readyz, by name, with the reason where it was told.

    `clusters` is None when they could not be seen.
    """

    now: datetime
    clusters: tuple[Cluster, ...] | None = ()
    rows: tuple[ClusterRow, ...] = ()
    bindings: tuple[Binding, ...] = ()
    unreadable: tuple[str, ...] = ()
    brake: BrakeReading | None = None
    leases: tuple[Lease, ...] = ()
    failed_checks: Mapping[str, str] = field(default_factory=dict[str, str])


def findings_of(observed: Observed) -> list[Finding]:
    return worst_first(finding for about in _ASKED for finding in about(observed))


def worst_first(findings: Iterable[Finding]) -> list[Finding]:
    """What needs somebody before what will count soon; else in the order in which they are given."""
    return sorted(findings, key=lambda finding: finding.severity is not Severity.NEEDS_SOMEBODY)


def hold_of(binding: Binding) -> tuple[Hold, Condition] | None:
    """Why something that is due for the binding does not happen; None where nothing is."""
    condition = find_condition(binding.status.conditions, EVICTION_HELD_CONDITION)
    if condition is None or condition.status != "True":
        return None
    return HOLDS.get(condition.reason, Hold.HELD), condition


def _api_server(observed: Observed) -> Iterator[Finding]:
    for check, reason in observed.failed_checks.items():
        what = "the store of the API server fails" if check.startswith("etcd") else "the API server is not ready"
        yield _needs(f"check/{check}", f"{what}: {reason or check}")


def _components(observed: Observed) -> Iterator[Finding]:
    for lease in sorted(observed.leases, key=lambda lease: lease.name):
        renewed = lease.spec.renew_time
        if renewed is None or lease.name == HEARTBEAT_NAME or not is_silent(lease, observed.now):
            continue
        said = "has not renewed its lease" if lease.spec.holder_identity else "has been led by nobody"
        yield _needs(
            f"lease/{lease.name}",
            f"{lease.name} {said}{since(renewed, observed.now)}: does it run?",
            next=f"kubectl get lease {lease.name} -n {SYSTEM_NAMESPACE} -o yaml",
        )


def _nobody_watches(observed: Observed) -> Iterator[Finding]:
    """While the heartbeat is not renewed no threshold and no toleration runs: nothing would be failed over."""
    for lease in observed.leases:
        if lease.name == HEARTBEAT_NAME and is_silent(lease, observed.now):
            yield _needs(
                f"lease/{lease.name}",
                f"nobody watches the clusters{since(lease.spec.renew_time, observed.now)}, and nothing fails over: "
                "do the controllers run?",
                next=f"kubectl get lease {lease.name} -n {SYSTEM_NAMESPACE} -o yaml",
            )


def is_silent(lease: Lease, now: datetime) -> bool:
    """Whether nobody renews it any more; a lease that never was renewed says nothing."""
    patience = timedelta(seconds=LEASES_MISSED * (lease.spec.lease_duration_seconds or 0))
    renewed = lease.spec.renew_time
    return renewed is not None and now - renewed >= max(SHORTEST_SILENCE, patience)


def _brake(observed: Observed) -> Iterator[Finding]:
    if observed.brake is None:
        return
    brake, message = observed.brake.brake, observed.brake.message
    if brake.overruled:
        said = "the brake is released by hand, until the fleet looks well again"
        yield Finding(Severity.SOON, "brake", said, next="leeward brake status")
    elif brake.engaged:
        said = f": {message}" if message else ""
        yield _needs(
            "brake", f"the brake is engaged{since(brake.since, observed.now)}{said}", next="leeward brake status"
        )
    elif observed.brake.reason == VANISHED:
        yield _needs("brake", f"clusters have vanished: {message}", next="kubectl get clusters")


def _held(observed: Observed) -> Iterator[Finding]:
    holds = ((binding, hold_of(binding)) for binding in observed.bindings)
    held = [(binding, hold[1]) for binding, hold in holds if hold is not None and hold[0] is Hold.HELD]
    yield from _some(
        held,
        lambda each: _told(each, "is held", observed.now),
        "more evictions are held",
    )


def _dead_clusters(observed: Observed) -> Iterator[Finding]:
    words = {
        ClusterState.NOT_READY: "is not ready",
        ClusterState.UNKNOWN: "is not heard of",
        ClusterState.UNCOLLECTED: "cannot be looked into",
        ClusterState.UNREADABLE: "cannot be read",
    }
    by_name = {cluster.name: cluster for cluster in observed.clusters or ()}
    for row in observed.rows:
        cluster = by_name.get(row.name)
        if row.state in words:
            said = f": {row.note}" if row.note else ""
            sentence = f"{row.name} {words[row.state]}{since(row.since, observed.now)}{said}"
            details = _what_becomes(cluster, observed) if cluster else ()
            yield _needs(f"cluster/{row.name}", sentence, details, f"kubectl describe cluster {row.name}")
        elif cluster is not None and row.state is not ClusterState.SILENT and _has_no_ready_node(cluster):
            nodes = cluster.status.node_summary
            yield _needs(
                f"cluster/{row.name}",
                f"{row.name} answers, and none of its {counted(nodes.total_num if nodes else 0, 'node')} is ready",
                next=f"kubectl describe cluster {row.name}",
            )


def _vanished_clusters(observed: Observed) -> Iterator[Finding]:
    """What bindings name and nobody lists, unless the brake has said it: unjoined by force, or hidden from us."""
    if observed.clusters is None or (observed.brake is not None and observed.brake.reason == VANISHED):
        return
    listed = {row.name for row in observed.rows}
    named = [(target.name, binding) for binding in observed.bindings for target in binding.spec.clusters]
    gone = sorted({name for name, _ in named} - listed)
    if gone:
        number = len({_about(binding) for name, binding in named if name in gone})
        names = ", ".join(gone[:NAMED_AT_MOST])
        said = f"{counted(len(gone), 'cluster')} that {counted(number, 'binding')} name cannot be found: {names}"
        yield _needs("clusters", said, next="kubectl get clusters")


def _has_no_ready_node(cluster: Cluster) -> bool:
    nodes = cluster.status.node_summary
    return nodes is not None and nodes.total_num > 0 and nodes.ready_num == 0


def _what_becomes(cluster: Cluster, observed: Observed) -> tuple[str, ...]:
    """`5 applications: 3 moving, 1 due at 02:45:17 (in 4 min), 1 held`; nothing where there are none."""
    moving, stays, holds = 0, list[Stay](), list[Hold]()
    for binding in filter(is_application, observed.bindings):
        spec = binding.spec
        if any(task.from_cluster == cluster.name for task in spec.graceful_eviction_tasks):
            moving += 1
        elif any(target.name == cluster.name for target in spec.clusters):
            hold = hold_of(binding)
            if hold is not None:
                holds.append(hold[0])
            else:
                tolerations = spec.tolerations
                stays.append(decide_stay(cluster.spec.taints, tolerations, observed.now))
    due = sorted(stay.due for stay in stays if stay.due is not None)
    resting = len(stays) - len(due)
    parts = [
        f"{moving} moving" if moving else "",
        f"{len(due)} due {at(due[0], observed.now)}" if due else "",
        f"{resting} not due" if resting else "",
        *(f"{holds.count(hold)} {hold.value}" for hold in Hold if hold in holds),
    ]
    number = moving + len(stays) + len(holds)
    return (f"{counted(number, 'application')}: {', '.join(filter(None, parts))}",) if number else ()


def _unreadable(observed: Observed) -> Iterator[Finding]:
    if observed.unreadable:
        names = ", ".join(observed.unreadable[:NAMED_AT_MOST])
        yield _needs("bindings", f"{counted(len(observed.unreadable), 'binding')} cannot be read: {names}")


def _unplaced(observed: Observed) -> Iterator[Finding]:
    """What has nowhere to run. What is held has been told of already."""
    unplaced = [
        (binding, scheduled)
        for binding in observed.bindings
        if (scheduled := find_condition(binding.status.conditions, "Scheduled")) is not None
        and scheduled.status == "False"
        and hold_of(binding) is None
    ]
    yield from _some(
        unplaced,
        lambda each: _told(each, "is not placed", observed.now),
        "more are not placed",
    )


def _unremoved(observed: Observed) -> Iterator[Finding]:
    """What was taken out of a cluster and is still there, because finalizers of others keep it."""
    blocked = list(_that_say(observed, REMOVAL_BLOCKED_CONDITION))
    yield from _some(blocked, lambda each: _told(each, "is not removed", observed.now), "more are not removed")


def _refused(observed: Observed) -> Iterator[Finding]:
    """Bindings that name what they may not name, or Works of others: told by their own names."""

    def told(each: tuple[Binding, Condition]) -> Finding:
        binding, refusal = each
        kind = (RESOURCE_BINDINGS if binding.namespace else CLUSTER_RESOURCE_BINDINGS).kind
        name = "/".join(filter(None, (binding.namespace, binding.name)))
        said = f"{kind} {name} is refused ({refusal.reason}){since(refusal.last_transition_time, observed.now)}"
        return _needs(f"{kind.lower()}/{name}", f"{said}: {refusal.message}", next=_describe_command(binding))

    yield from _some(list(_that_say(observed, REFUSED_CONDITION)), told, "more are refused")


def _that_say(observed: Observed, condition_type: str) -> Iterator[tuple[Binding, Condition]]:
    for binding in observed.bindings:
        found = find_condition(binding.status.conditions, condition_type)
        if found is not None and found.status == "True":
            yield binding, found


def _doubtful_clusters(observed: Observed) -> Iterator[Finding]:
    for row in observed.rows:
        if row.state is ClusterState.FAILING:
            sentence = f"{row.name} is failing{since(row.since, observed.now)}: {row.note}"
            yield Finding(Severity.SOON, f"cluster/{row.name}", sentence)
        elif row.state is ClusterState.SILENT:
            new = row.since is not None and observed.now - row.since < NEW_CLUSTER
            severity = Severity.SOON if new else Severity.NEEDS_SOMEBODY
            sentence = f"{row.name} has joined{since(row.since, observed.now)}, and has never reported"
            yield Finding(severity, f"cluster/{row.name}", sentence, next=f"kubectl describe cluster {row.name}")
        elif row.state is ClusterState.LEAVING:
            sentence = f"{row.name} is being unjoined{since(row.since, observed.now)}"
            yield Finding(Severity.SOON, f"cluster/{row.name}", sentence, next=f"kubectl describe cluster {row.name}")


def _drains(observed: Observed) -> Iterator[Finding]:
    for row in observed.rows:
        if row.state is ClusterState.DRAINING:
            left = left_to_drain(row.name, observed.bindings)
            sentence = (
                f"{row.name} is being drained{since(row.since, observed.now)}: "
                f"{counted(len(left), 'resource')} still there"
            )
            yield Finding(Severity.SOON, f"cluster/{row.name}", sentence, next=f"leeward drain {row.name}")


_ASKED: Sequence[Callable[[Observed], Iterable[Finding]]] = (
    _api_server,
    _components,
    _nobody_watches,
    _brake,
    _held,
    _dead_clusters,
    _vanished_clusters,
    _unreadable,
    _unplaced,
    _unremoved,
    _refused,
    _doubtful_clusters,
    _drains,
)
"""In the order in which they are told."""


def _some(
    items: Sequence[tuple[Binding, Condition]], tell: Callable[[tuple[Binding, Condition]], Finding], more: str
) -> Iterator[Finding]:
    """Each of them while they are few; the first few, and how many there are beyond, when they are many."""
    yield from map(tell, items[:NAMED_AT_MOST])
    if len(items) > NAMED_AT_MOST:
        yield _needs("bindings", f"{len(items) - NAMED_AT_MOST} {more}: leeward status -o json names all")


def _told(each: tuple[Binding, Condition], what: str, now: datetime) -> Finding:
    """`Deployment payments/ledger is held (NoPlaceToGo) since 02:40:17, 1 min: ...`"""
    binding, condition = each
    said = f"{workload_of(binding)} {what} ({condition.reason}){since(condition.last_transition_time, now)}"
    return _needs(_about(binding), f"{said}: {condition.message or 'no message'}", next=_describe_command(binding))


def _needs(about: str, sentence: str, details: tuple[str, ...] = (), next: str = "") -> Finding:
    return Finding(Severity.NEEDS_SOMEBODY, about, sentence, details, next)


def _about(binding: Binding) -> str:
    resource = binding.spec.resource
    return "/".join(filter(None, (resource.kind.lower(), resource.namespace, resource.name)))


def _describe_command(binding: Binding) -> str:
    if not binding.namespace:
        return f"kubectl describe {CLUSTER_RESOURCE_BINDINGS.kind.lower()} {binding.name}"
    return f"kubectl describe {RESOURCE_BINDINGS.kind.lower()} {binding.name} -n {binding.namespace}"
