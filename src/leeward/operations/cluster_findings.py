"""Findings about clusters: what is wrong, or will count soon, and what becomes of the applications on them."""

from collections.abc import Iterator
from datetime import timedelta

from leeward.api.cluster import Cluster
from leeward.api.meta import find_condition
from leeward.core.cluster_health.brake import VANISHED, Brake, looks_dead
from leeward.core.cluster_health.cluster_identity import replaced
from leeward.core.cluster_health.standing_taints import removal_told
from leeward.core.hub_generation import HUB_FENCE_CONDITION, NOT_FENCED, NOT_TOLD
from leeward.operations.clusters import ClusterState, left_to_drain
from leeward.operations.departures import departures_from
from leeward.operations.findings import NAMED_AT_MOST, Finding, Hold, Observed, Severity, about_binding, needs_somebody
from leeward.operations.sentences import at, counted, since

NEW_CLUSTER = timedelta(seconds=60)
"""A cluster that has just joined is given that long for its first report."""


def dead_clusters(observed: Observed) -> Iterator[Finding]:
    words = {
        **dict.fromkeys((ClusterState.NOT_READY, ClusterState.UNKNOWN), "is down"),
        ClusterState.UNCOLLECTED: "cannot be observed",
        ClusterState.UNREADABLE: "cannot be read",
    }
    by_name = {cluster.name: cluster for cluster in observed.clusters or ()}
    for row in observed.rows:
        cluster = by_name.get(row.name)
        if row.state in words:
            said = f": {row.note}" if row.note else ""
            sentence = f"{row.name} {words[row.state]}{since(row.since, observed.now)}{said}"
            details = _what_becomes(cluster, observed) if cluster else ()
            yield needs_somebody(f"cluster/{row.name}", sentence, details, f"leeward explain cluster/{row.name}")
        elif cluster is not None and row.state is not ClusterState.SILENT and _has_no_ready_node(cluster):
            nodes = cluster.status.node_summary
            yield needs_somebody(
                f"cluster/{row.name}",
                f"{row.name} answers, and none of its {counted(nodes.total_num if nodes else 0, 'node')} is ready",
                next=f"leeward explain cluster/{row.name}",
            )


def replaced_clusters(observed: Observed) -> Iterator[Finding]:
    """Finds clusters that were rebuilt under their name: copies with volumes wait until somebody confirms that."""
    for cluster in observed.clusters or ():
        found = replaced(cluster)
        if found is not None:
            when = since(found.last_transition_time, observed.now)
            sentence = f"{cluster.name} is another cluster than before{when}: {found.message}"
            yield needs_somebody(f"cluster/{cluster.name}", sentence, next=f"leeward confirm {cluster.name}")


def vanished_clusters(observed: Observed) -> Iterator[Finding]:
    """Finds clusters that bindings name and nobody lists, unless the brake has said it: unjoined by force, or hidden
    from us."""
    if observed.clusters is None or (observed.brake is not None and observed.brake.reason == VANISHED):
        return
    listed = {row.name for row in observed.rows}
    named = [(target.name, binding) for binding in observed.bindings for target in binding.spec.clusters]
    gone = sorted({name for name, _ in named} - listed)
    if gone:
        number = len({about_binding(binding) for name, binding in named if name in gone})
        names = ", ".join(gone[:NAMED_AT_MOST])
        said = f"{counted(len(gone), 'cluster')} that {counted(number, 'binding')} name cannot be found: {names}"
        yield needs_somebody("clusters", said, next="kubectl get clusters")


def _has_no_ready_node(cluster: Cluster) -> bool:
    nodes = cluster.status.node_summary
    return nodes is not None and nodes.total_num > 0 and nodes.ready_num == 0


def _what_becomes(cluster: Cluster, observed: Observed) -> tuple[str, ...]:
    """`5 applications: 3 are moving, 1 leaves at 02:45:17 (in 4 min), 1 cannot move`; nothing without any."""
    brake = observed.brake.brake if observed.brake is not None else Brake()
    is_braked = brake.engaged and not brake.overruled and looks_dead(cluster)
    found = departures_from(cluster, observed.bindings, observed.now, observed.watched, is_braked=is_braked)
    leave = f"leave {at(min(found.due), observed.now)}" if found.due else ""
    fates = (
        (found.moving, "is moving", "are moving"),
        (found.due.total(), leave.replace("leave", "leaves", 1), leave),
        (found.kept.total() + found.holds[Hold.HELD], "cannot move", "cannot move"),
        (found.resting, "has no planned eviction", "have no planned eviction"),
        (found.holds[Hold.KEPT], "stays on purpose", "stay on purpose"),
        (found.holds[Hold.WAITING], "waits to leave", "wait to leave"),
    )
    parts, who = [counted(*fate) for fate in fates if fate[0]], counted(found.total, "application")
    said = f": {', '.join(parts)}" if len(parts) > 1 else "".join(parts).lstrip("0123456789")
    return (f"{who}{said}",) if parts else ()


def doubtful_clusters(observed: Observed) -> Iterator[Finding]:
    for row in observed.rows:
        if row.state is ClusterState.FAILING:
            sentence = f"{row.name} is failing{since(row.since, observed.now)}: {row.note}"
            yield Finding(Severity.SOON, f"cluster/{row.name}", sentence)
        elif row.state is ClusterState.SILENT:
            new = row.since is not None and observed.now - row.since < NEW_CLUSTER
            severity = Severity.SOON if new else Severity.NEEDS_SOMEBODY
            sentence = f"{row.name} has joined, and has never reported{since(row.since, observed.now)}"
            yield Finding(severity, f"cluster/{row.name}", sentence, next=f"leeward explain cluster/{row.name}")
        elif row.state is ClusterState.LEAVING:
            sentence = f"{row.name} is being unjoined{since(row.since, observed.now)}"
            yield Finding(Severity.SOON, f"cluster/{row.name}", sentence, next=f"leeward explain cluster/{row.name}")


def removed_taints(observed: Observed) -> Iterator[Finding]:
    """Finds clusters whose taints others take off, as who keeps Clusters in git does."""
    for cluster in observed.clusters or ():
        if told := removal_told(cluster.status):
            sentence, _, details = f"{cluster.name}: {told}".partition(". ")
            command = f"kubectl get cluster {cluster.name} -o yaml --show-managed-fields"
            yield needs_somebody(f"cluster/{cluster.name}", sentence, (details,), command)


def unfenced_clusters(observed: Observed) -> Iterator[Finding]:
    """Finds clusters that take no mark: an older hub that comes back would act there, or nothing is written there."""
    for cluster in observed.clusters or ():
        found = find_condition(cluster.status.conditions, HUB_FENCE_CONDITION)
        if found is not None and found.reason == NOT_FENCED:
            yield Finding(Severity.SOON, f"cluster/{cluster.name}", f"{cluster.name}: {found.message}")
        elif found is not None and found.reason == NOT_TOLD:
            command = f"kubectl get cluster {cluster.name} -o yaml"
            yield needs_somebody(f"cluster/{cluster.name}", f"{cluster.name}: {found.message}", next=command)


def drains(observed: Observed) -> Iterator[Finding]:
    for row in observed.rows:
        if row.state is ClusterState.DRAINING:
            left = left_to_drain(row.name, observed.bindings)
            sentence = (
                f"{row.name} is being drained{since(row.since, observed.now)}: "
                f"{counted(len(left), 'resource is', 'resources are')} still there"
            )
            yield Finding(Severity.SOON, f"cluster/{row.name}", sentence, next=f"leeward drain {row.name}")
