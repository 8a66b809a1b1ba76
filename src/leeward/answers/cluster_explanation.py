"""Explanation of one cluster: how it is and since when, what follows at which instant, and what holds that back."""

from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta

import msgspec

from leeward.answers.decisions import expected_of, is_braked
from leeward.answers.fleet_state import FleetState
from leeward.answers.next_steps import NextStep, taints_to_come, threshold_steps
from leeward.api.cluster import Cluster
from leeward.api.work import Binding
from leeward.core.cluster_health.brake import looks_dead
from leeward.core.cluster_health.cluster_identity import replaced
from leeward.core.cluster_health.pending_condition import is_failing
from leeward.core.eviction.blocked_evictions import why_braked
from leeward.core.loss_coverage import standing_coverage
from leeward.operations.clusters import ClusterRow, ClusterState, cluster_row
from leeward.operations.departures import departures_from
from leeward.operations.findings import Hold
from leeward.operations.sentences import counted, in_moments, since


class ClusterExplanation(msgspec.Struct, frozen=True, rename="camel"):
    control_plane: str
    as_of: datetime
    cluster: str
    headline: str
    row: ClusterRow
    why: list[str]
    next: list[NextStep]
    settings_told: bool
    is_replaced: bool = False
    unseen: tuple[str, ...] = ()

    @property
    def needs_somebody(self) -> bool:
        at_rest = (ClusterState.READY, ClusterState.CORDONED, ClusterState.DRAINED)
        return self.is_replaced or self.row.state not in at_rest


def explain_cluster(state: FleetState, name: str) -> ClusterExplanation:
    """Raises: KeyError where the picture has no such cluster."""
    cluster, bindings = state.clusters[name], tuple(state.bindings.values())
    row = cluster_row(cluster, bindings)
    note = f": {row.note}" if row.note else ""
    return ClusterExplanation(
        control_plane=state.control_plane,
        as_of=state.as_of,
        cluster=name,
        headline=f"{name}: {row.state.value}{since(row.since, state.as_of)}{note}",
        row=row,
        why=[in_moments(each, state.as_of) for each in _why(state, cluster)],
        next=sorted(
            _next(state, cluster, bindings), key=lambda step: step.at or datetime.max.replace(tzinfo=state.as_of.tzinfo)
        ),
        settings_told=state.settings.told,
        is_replaced=replaced(cluster) is not None,
        unseen=state.recorded.unseen,
    )


def _why(state: FleetState, cluster: Cluster) -> Iterator[str]:
    ready = cluster.ready
    if ready is None:
        yield "The cluster has joined, and has never reported."
    else:
        said = f": {ready.message}" if ready.message else "."
        yield f"Ready={ready.status} ({ready.reason}){said}"
    if (other := replaced(cluster)) is not None:
        yield f"{other.message[:1].upper()}{other.message[1:]}{since(other.last_transition_time, state.as_of)}."
    for taint in cluster.taints:
        yield f"The cluster has the taint {taint}{since(taint.time_added, state.as_of)}."
    if cluster.is_being_deleted:
        yield f"The cluster is being unjoined{since(cluster.metadata.deletion_timestamp, state.as_of)}."
    covered = standing_coverage(cluster)
    if covered is not None:
        yield f"{covered.message[:1].upper()}{covered.message[1:]}."
    dead = sum(map(looks_dead, state.clusters.values()))
    failing = sum(map(is_failing, state.clusters.values()))
    brake = state.settings.brake
    more = f", and {counted(failing, 'is', 'are')} failing, but not counted yet" if failing else ""
    needed = max(brake.minimum, int(brake.threshold * len(state.clusters)) + 1)
    number = counted(len(state.clusters), "cluster")
    engages = "" if is_braked(state, state.clusters.values()) else f" when {needed} clusters are down"
    yield f"{dead} of {number} {'is' if dead == 1 else 'are'} down{more}. The brake stops evictions{engages}."


def _next(state: FleetState, cluster: Cluster, bindings: tuple[Binding, ...]) -> Iterator[NextStep]:
    if cluster.is_being_deleted:
        yield NextStep(None, f"{cluster.name} leaves the fleet: nobody watches it any more, and it gets no taint")
        yield from _departures(state, cluster, bindings)
        return
    yield from threshold_steps(state, cluster)
    for taint in taints_to_come(state, cluster):
        yield NextStep(taint.time_added, f"{cluster.name} gets the taint {taint}, unless it is back by then")
    if looks_dead(cluster) and is_braked(state, state.clusters.values()):
        yield NextStep(None, f"no application leaves {cluster.name}: {why_braked(state.recorded.brake.reason)}")
    yield from _departures(state, expected_of(state)[cluster.name], bindings)
    if looks_dead(cluster):
        ready_after = timedelta(seconds=state.settings.cluster_success_threshold)
        yield NextStep(None, f"{cluster.name} counts as Ready {ready_after.total_seconds():g} s after it answers again")


def _departures(state: FleetState, cluster: Cluster, bindings: tuple[Binding, ...]) -> Iterator[NextStep]:
    """Steps that tell how many applications are due to leave, by instant; and what is held or stays."""
    if not cluster.has_no_execute:
        return
    found = departures_from(cluster, bindings, state.as_of, state.recorded.attention.time)
    due, stays = Counter[tuple[datetime, bool]](), found.resting + found.kept[None]
    for is_held, instants in ((False, found.due), (True, found.kept)):
        for instant, number in instants.items():
            if instant is not None:
                due[max(instant, state.as_of), is_held] += number
    for (instant, is_held), number in sorted(due.items()):
        leaves = counted(number, "application leaves", "applications leave")
        would = f"{counted(number, 'application is', 'applications are')} due to leave {cluster.name}, but cannot"
        yield NextStep(instant, would if is_held else f"{leaves} {cluster.name}")
    if held := found.holds[Hold.HELD]:
        yield NextStep(None, f"{counted(held, 'application')} cannot leave {cluster.name}: see `leeward status`")
    if stays := stays + found.holds.total() - held:
        yield NextStep(None, f"{counted(stays, 'application stays', 'applications stay')} in {cluster.name}")
