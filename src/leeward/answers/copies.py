"""Copies of a binding: what is assigned, what is known to be ready, and what becomes of each."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime

import msgspec

from kubeapi.quantity import parse_quantity
from leeward.answers.fleet_state import BindingName, FleetState
from leeward.api.cluster import Cluster
from leeward.api.work import Binding, GracefulEvictionTask, Work
from leeward.core.cluster_health.outage import not_seen_since
from leeward.core.copies.availability import availability
from leeward.core.interpreter.resource_health import ResourceHealth, health_in
from leeward.operations.sentences import moment

_REPLICATED = ("Deployment", "ReplicaSet", "StatefulSet")


class CopyRow(msgspec.Struct, frozen=True, rename="camel"):
    """`ready` is None where it is not known: the cluster is not seen, or has not reported of this generation.
    `there_since`: since when it is there at least; None where nothing is known to be there."""

    cluster: str
    assigned: int
    ready: int | None
    what: str = ""
    there_since: datetime | None = None


def copies_of(state: FleetState, key: BindingName) -> list[CopyRow]:
    """Targets, and clusters that are being left, most replicas first."""
    return sorted(_rows(state, key), key=lambda row: (-row.assigned, row.cluster))


def short_of_nodes(state: FleetState, where: Sequence[CopyRow]) -> list[str]:
    """Clusters in which Pods of these copies wait for a node."""
    return [row.cluster for row in where if row.cluster in state.crowded and (row.ready or 0) < row.assigned]


def is_scaled_to_none(binding: Binding) -> bool:
    """Tells whether it asks for no replica. Pods that request nothing leave a binding without requirements."""
    spec = binding.spec
    return spec.asks_for_none or (not spec.replicas and spec.resource.kind in _REPLICATED)


def _rows(state: FleetState, key: BindingName) -> Iterator[CopyRow]:
    binding, works = state.bindings[key], state.works_of(key)
    tasks = {task.from_cluster: task for task in binding.spec.graceful_eviction_tasks}
    for target in binding.spec.clusters:
        cluster, work = state.clusters.get(target.name), works.get(target.name)
        ready = _ready(work, cluster, target.replicas)
        what = _what(target.name, target.replicas, ready, work, state)
        if target.name in tasks:
            what = ", ".join(filter(None, (what, "some of its replicas are leaving")))
        yield CopyRow(target.name, target.replicas, ready, what, _there_since(work, cluster))
    targets = {target.name for target in binding.spec.clusters}
    for name in tasks.keys() - targets:
        cluster, work = state.clusters.get(name), works.get(name)
        what = _leaving(tasks[name], state.as_of)
        yield CopyRow(name, 0, _ready(work, cluster, tasks[name].replicas or 0), what, _there_since(work, cluster))


def _ready(work: Work | None, cluster: Cluster | None, replicas: int) -> int | None:
    known = availability(work, cluster, replicas)
    return None if known.since is None else known.told


def _there_since(work: Work | None, cluster: Cluster | None) -> datetime | None:
    """Instant since which the member is told, without a break, to have what the Work makes.

    That may be there longer: a Work takes over what it finds where its policy says so, and so does one that is made
    anew. The Work's own age says less: it may have been there long before its cluster took it.
    """
    applied = None if work is None else work.applied
    is_told = cluster is not None and applied is not None and applied.status == "True"
    return applied.last_transition_time if applied is not None and is_told else None


def _what(name: str, assigned: int, ready: int | None, work: Work | None, state: FleetState) -> str:
    cluster = state.clusters.get(name)
    if cluster is None:
        return "there is no such cluster"
    unseen = not_seen_since(cluster)
    if unseen is not None:
        return f"unknown since {moment(unseen, state.as_of)}"
    if work is None or work.applied is None:
        return "not applied yet"
    if work.applied.status != "True":
        return f"not applied: {work.applied.message}"
    if ready is None:
        healths = map(health_in, work.status.manifest_statuses)
        return "no rule judges its health" if ResourceHealth.UNKNOWN in healths else "not reported yet"
    if assigned <= ready:
        return ""
    return f"{assigned - ready} not ready{': Pods wait for a node' if _have_no_node(cluster) else ''}"


def _have_no_node(cluster: Cluster) -> bool:
    """Tells whether the cluster reports of Pods without a node."""
    summary = cluster.status.resource_summary
    with suppress(ValueError, ArithmeticError):
        return summary is not None and parse_quantity(summary.allocating.get("pods", 0)) > 0
    return False


def _leaving(task: GracefulEvictionTask, now: datetime) -> str:
    begun = task.creation_timestamp
    since = f" since {moment(begun, now)}" if begun is not None else ""
    until = "its replacement is healthy" if task.purge_rules.keeps_copy else "the copy is known to be gone"
    return f"leaving{since}, until {until}"
