"""Outages as stories, with the applications that a user may see by name; figures are those of all."""

from collections.abc import Iterable, Mapping
from datetime import datetime

import msgspec

from leeward.answers.fleet_state import FleetState
from leeward.answers.timeline import OutageFilter, OutageStory, Timeline, timeline
from leeward.api.outage import ClusterOutage, MoveState, OutageApplication, OutagePhase
from leeward.dashboard.rights import FleetSight
from leeward.operations.applications import OutageOf
from leeward.operations.outage_story import is_running


class OutageRow(msgspec.Struct, frozen=True, rename="camel"):
    """One outage without its applications and its steps, which are asked for by its name. `lasted` is in seconds."""

    name: str
    cluster: str
    phase: OutagePhase
    running: bool
    since: datetime
    returned_at: datetime | None
    cleaned_at: datetime | None
    headline: str
    tally: str
    recovery: str
    applications: int
    moved: int
    moving: int
    due: int
    kept: int
    held: int
    returned: int
    median_seconds: int | None
    worst_seconds: int | None


def outage_rows(state: FleetState) -> dict[str, OutageRow]:
    """Rows by name, running ones first, then the newest."""
    return {story.name: _row(story) for story in timeline(_without_bindings(state), OutageFilter()).outages}


def told_outage(state: FleetState, name: str, sight: FleetSight) -> Timeline:
    """Timeline of one outage, as the user may see it. Raises: OperationFailed where there is none of the name."""
    return timeline(_without_bindings(seen_of(state, sight)), OutageFilter(name=name))


def seen_of(state: FleetState, sight: FleetSight) -> FleetState:
    """The picture as the user may see it: no sentence about outages names an application that is not seen."""
    if sight.is_whole and sight.outages:
        return state
    recorded = state.recorded
    outages = tuple(_seen(outage, sight) for outage in recorded.outages) if sight.outages else ()
    clusters = recorded.clusters if sight.clusters else ()
    return FleetState(msgspec.structs.replace(recorded, outages=outages, clusters=clusters))


def known_by_outages(outages: Iterable[ClusterOutage]) -> Mapping[str, OutageOf]:
    """Applications as outages tell of them that are running, or not cleaned up yet; the newest word counts."""
    found: dict[str, OutageOf] = {}
    for outage in sorted(outages, key=lambda each: each.spec.since):
        if outage.status.phase is OutagePhase.OVER:
            continue
        for each in outage.status.listed:
            if is_running(outage) or each.state is MoveState.MOVED:
                found[f"{each.namespace}/{each.kind}/{each.name}"] = OutageOf(outage.name, each)
    return found


def _without_bindings(state: FleetState) -> FleetState:
    """State without bindings, so that an outage is told as it was given: it is as it stands now, and names nobody who
    is not seen."""
    return FleetState(msgspec.structs.replace(state.recorded, bindings=(), cluster_bindings=()))


def _seen(outage: ClusterOutage, sight: FleetSight) -> ClusterOutage:
    listed: tuple[OutageApplication, ...] = tuple(each for each in outage.status.listed if sight.shows(each.namespace))
    return msgspec.structs.replace(outage, status=msgspec.structs.replace(outage.status, listed=listed))


def _row(story: OutageStory) -> OutageRow:
    status, recovery = story.status, story.status.recovery
    return OutageRow(
        name=story.name,
        cluster=story.cluster,
        phase=status.phase,
        running=story.running,
        since=story.spec.since,
        returned_at=status.returned_at,
        cleaned_at=status.cleaned_at,
        headline=story.headline,
        tally=story.tally,
        recovery=story.recovery,
        applications=status.applications,
        moved=status.moved,
        moving=status.moving,
        due=status.due,
        kept=status.kept,
        held=status.held,
        returned=status.returned,
        median_seconds=recovery.median_seconds if recovery.count else None,
        worst_seconds=recovery.worst_seconds if recovery.count else None,
    )
