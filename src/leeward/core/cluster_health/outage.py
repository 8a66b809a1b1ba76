"""Outages of clusters, as a binding tells them: facts, expectations, and the sentences for people.

    not_seen_since   since when nothing is known of a cluster (the condition `leeward.dev/LastSeen` of the Cluster)
    find_outages     the targets of a binding that are not Ready, or whose nodes are all down
    Outlook          the expected fate of one copy (found by `core.outlook`)
    OutageReport     all of it: the condition `leeward.dev/ClusterOutage`, the events, the marks in aggregated items

The condition and the events say the same sentence, which is made here and nowhere else. Decides nothing.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType

import msgspec

from kubeapi.meta import ReadOnlyManifest, format_time, parse_time
from kubeapi.untrusted import mapping_in
from leeward.api.cluster import Cluster
from leeward.api.meta import Condition, find_condition, put_condition, remove_condition
from leeward.api.names import (
    CLUSTER_OUTAGE_CONDITION,
    FAILING_CONDITION,
    LAST_SEEN_CONDITION,
    LEAVES_AT,
    NOT_SEEN_SINCE,
)
from leeward.api.work import AggregatedStatusItem, Binding, ResourceBindingSpec, ResourceBindingStatus
from leeward.core.cluster_health.condition_taints import CONDITION_TAINTS, key_of, outage_since
from leeward.core.cluster_health.ready_condition import is_uncollected
from leeward.core.wording import listed


class Outcome(StrEnum):
    """Fate that is expected of a copy; the reason of the condition."""

    EVICTION = "EvictionExpected"
    HELD = "EvictionHeld"
    TOLERATED = "Tolerated"
    NOT_EVICTED = "EvictionDisabled"
    NOT_COLLECTED = "StatusCollectionFailed"
    NODES_NOT_READY = "NodesNotReady"
    UNDECIDED = "Undecided"


TAILS: Mapping[Outcome, str] = {
    Outcome.EVICTION: "the copy in {lost} is evicted{at} and replaced in {to}, unless {lost} is back by then{why}",
    Outcome.HELD: "the copy in {lost}{due} stays. {why}",
    Outcome.TOLERATED: "the copy in {lost} stays, because the policy tolerates the outage for ever",
    Outcome.NOT_EVICTED: "the copy in {lost} stays, because evictions are switched off",
    Outcome.NOT_COLLECTED: "the copy in {lost} stays, because a cluster that cannot be observed may be well",
    Outcome.NODES_NOT_READY: "nothing is evicted for that alone; `failover.application` in the policy moves copies "
    "that stay unhealthy",
    Outcome.UNDECIDED: "Leeward decides about the copy in {lost}{at}",
}


@dataclass(frozen=True, slots=True)
class Outage:
    """A cluster of which nothing is known `since`; or one that answers, and none of whose `nodes` is ready."""

    cluster: str
    since: datetime | None = None
    nodes: int = 0
    verb: str = "is down"

    @property
    def head(self) -> str:
        """Beginning of each sentence about the outage; it is the same as long as the outage lasts."""
        if self.since is None:
            return f"The API of {self.cluster} answers, but none of its {self.nodes} nodes is ready"
        return f"{self.cluster} {self.verb} (since {format_time(self.since)})"


@dataclass(frozen=True, slots=True)
class Outlook:
    """Fate that is expected of the copy: `at` which instant, the clusters that it goes `to`, and `why` not."""

    outage: Outage
    outcome: Outcome
    at: datetime | None = None
    to: tuple[str, ...] = ()
    why: str = ""

    @property
    def sentence(self) -> str:
        at = f" at {format_time(self.at)}" if self.at is not None else ""
        said = f"{self.why[:1].upper()}{self.why[1:]}"
        why = f"; {self.why}" if self.why and self.outcome is Outcome.EVICTION else said
        lost, to = self.outage.cluster, listed(self.to) or "no other cluster"
        tail = TAILS[self.outcome].format(at=at, due=at and f" is due to leave{at}, but", lost=lost, to=to, why=why)
        return f"{self.outage.head}: {tail.rstrip('.')}."


@dataclass(frozen=True, slots=True)
class OutageReport:
    """Everything that there is to say of a binding. `not_seen` is since when nothing is known of clusters, also of
    those left."""

    outlooks: tuple[Outlook, ...] = ()
    not_seen: Mapping[str, datetime] = field(default_factory=dict[str, datetime])

    @property
    def condition(self) -> Condition | None:
        if not self.outlooks:
            return None
        message = " ".join(outlook.sentence for outlook in self.outlooks)
        return Condition(CLUSTER_OUTAGE_CONDITION, "True", self.outlooks[0].outcome.value, message)

    @property
    def departures(self) -> Mapping[str, datetime]:
        """Instants at which copies are expected to be evicted, by cluster."""
        expected = (outlook for outlook in self.outlooks if outlook.outcome is Outcome.EVICTION)
        return {outlook.outage.cluster: outlook.at for outlook in expected if outlook.at is not None}

    def news(self, standing: Condition | None) -> Iterator[Outlook]:
        """The outlooks of outages that the condition that stands does not speak of yet."""
        told = standing.message if standing is not None else ""
        return (outlook for outlook in self.outlooks if outlook.outage.head not in told)


NO_OUTAGE = OutageReport()


def not_seen_since(cluster: Cluster) -> datetime | None:
    """Instant since which nothing is known of a cluster; None of one that is Ready, or was never reported of."""
    ready = cluster.ready
    if ready is None or ready.status == "True":
        return None
    last_seen = find_condition(cluster.status.conditions, LAST_SEEN_CONDITION)
    if last_seen is not None and last_seen.last_transition_time is not None:
        return last_seen.last_transition_time
    begun = outage_since(cluster) if ready.status == "Unknown" else None
    return begun or ready.last_transition_time


def with_last_seen(before: Sequence[Condition], after: Sequence[Condition], now: datetime) -> tuple[Condition, ...]:
    """`after` with the condition LastSeen, where the cluster has just ceased to be Ready; without it, where it is.

    It begins with the doubt that preceded it (`pending_condition.py`): `Ready` itself counts from the threshold on. It
    begins no later than `Ready` has turned, which may be long ago where the control plane was restored meanwhile.
    """
    was, ready = find_condition(before, "Ready"), find_condition(after, "Ready")
    if ready is None or ready.status == "True":
        return remove_condition(after, LAST_SEEN_CONDITION)
    if was is None or was.status != "True":
        return tuple(after)
    failing = find_condition(before, FAILING_CONDITION, "True")
    begun = failing.last_transition_time if failing is not None else None
    since = min(begun or now, ready.last_transition_time or now)
    message = "the cluster has not been observed since lastTransitionTime"
    last_seen = Condition(LAST_SEEN_CONDITION, "False", ready.reason, message, since)
    return (*remove_condition(after, LAST_SEEN_CONDITION), last_seen)


def find_outages(spec: ResourceBindingSpec, fleet: Mapping[str, Cluster]) -> tuple[Outage, ...]:
    """The outages of the clusters that the binding is assigned to."""
    return tuple(filter(None, (_outage_of(fleet[each.name]) for each in spec.clusters if each.name in fleet)))


def _outage_of(cluster: Cluster) -> Outage | None:
    since = not_seen_since(cluster)
    if since is not None:
        is_doubt = cluster.ready is not None and is_uncollected(cluster.ready)
        return Outage(cluster.name, since, verb=("is down", "cannot be observed")[is_doubt])
    return Outage(cluster.name, nodes=total) if (total := nodes_down(cluster)) else None


def nodes_down(cluster: Cluster) -> int:
    """Number of nodes of a Ready cluster, if none of them is ready; else 0."""
    nodes = cluster.status.node_summary
    return nodes.total_num if cluster.is_ready and nodes is not None and not nodes.ready_num else 0


def has_outage(cluster: Cluster) -> bool:
    """Tells whether the cluster is not Ready, or none of its nodes is: a binding says so of its copy there."""
    return not cluster.is_ready or bool(nodes_down(cluster))


def clusters_of(spec: ResourceBindingSpec) -> Iterator[str]:
    """The clusters that a binding is assigned to, or on its way out of."""
    yield from (target.name for target in spec.clusters)
    yield from (task.from_cluster for task in spec.graceful_eviction_tasks)


def has_condition_taint(cluster: Cluster) -> bool:
    """Tells whether its outage was noted as taints, which tell when its clock began."""
    return any(key_of(taint) in CONDITION_TAINTS for taint in cluster.taints)


def all_not_seen(spec: ResourceBindingSpec, fleet: Mapping[str, Cluster]) -> dict[str, datetime]:
    """Instants since which nothing is known, by cluster that the binding is assigned to or on its way out of."""
    found = {name: not_seen_since(fleet[name]) for name in clusters_of(spec) if name in fleet}
    return {name: since for name, since in found.items() if since is not None}


def marked(
    items: Sequence[AggregatedStatusItem],
    not_seen: Mapping[str, datetime],
    departures: Mapping[str, datetime] = MappingProxyType({}),
) -> tuple[AggregatedStatusItem, ...]:
    """The items with the marks of clusters that are not seen, and of copies that leave these, and no other."""
    return tuple(
        _marked(item, {NOT_SEEN_SINCE: since, LEAVES_AT: departures.get(item.cluster_name)})
        if (since := not_seen.get(item.cluster_name)) is not None
        else _marked(item, {})
        for item in items
    )


def _marked(item: AggregatedStatusItem, instants: Mapping[str, datetime | None]) -> AggregatedStatusItem:
    marks, reported = {name: format_time(at) for name, at in instants.items() if at is not None}, _reported(item)
    if {name: reported[name] for name in (NOT_SEEN_SINCE, LEAVES_AT) if name in reported} == marks:
        return item
    bare = {name: value for name, value in reported.items() if name not in (NOT_SEEN_SINCE, LEAVES_AT)}
    return msgspec.structs.replace(item, status={**bare, **marks} or None)


def marks_in(items: Sequence[AggregatedStatusItem]) -> dict[str, datetime]:
    """Instants since which clusters are not seen, as the items say; an unreadable mark is none."""
    return _instants_in(items, NOT_SEEN_SINCE)


def departures_in(items: Sequence[AggregatedStatusItem]) -> dict[str, datetime]:
    """Instants at which copies leave clusters that are not seen, as the items say; an unreadable mark is none."""
    return _instants_in(items, LEAVES_AT)


def held_when_due(binding: Binding, cluster: str) -> str:
    """Message of a binding that foresees a hold of its copy in a cluster that is not seen; empty where it does not."""
    items, told = binding.status.aggregated_status, find_condition(binding.status.conditions, CLUSTER_OUTAGE_CONDITION)
    is_foreseen = told is not None and (told.status, told.reason) == ("True", Outcome.HELD)
    return told.message if told is not None and is_foreseen and cluster not in departures_in(items) else ""


def _instants_in(items: Sequence[AggregatedStatusItem], name: str) -> dict[str, datetime]:
    marks: dict[str, datetime] = {}
    for item in items:
        with suppress(ValueError):
            if mark := _reported(item).get(name):
                marks[item.cluster_name] = parse_time(str(mark))
    return marks


def _reported(item: AggregatedStatusItem) -> ReadOnlyManifest:
    return mapping_in({"status": item.status}, "status")


def with_report(status: ResourceBindingStatus, report: OutageReport, now: datetime) -> ResourceBindingStatus:
    """`status` with the condition and the marks of `report`."""
    conditions = put_condition(status.conditions, CLUSTER_OUTAGE_CONDITION, report.condition, now)
    items = marked(status.aggregated_status, report.not_seen, report.departures)
    return msgspec.structs.replace(status, conditions=conditions, aggregated_status=items)
