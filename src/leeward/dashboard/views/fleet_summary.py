"""The head of the page: how the fleet is as one sentence, what comes next, the brake, and what is not seen."""

from collections.abc import Collection, Mapping
from datetime import datetime

import msgspec

from leeward.answers.fleet_story import ComingLine, FleetMood, FleetStory, SeenRows, shortened, titled
from leeward.core.cluster_health.brake import looks_dead
from leeward.dashboard.rights import FleetSight
from leeward.dashboard.seen_fleet import SeenFleet
from leeward.operations.applications import RowState, ServiceLevel
from leeward.operations.findings import Finding
from leeward.operations.sentences import counted


class BrakeSummary(msgspec.Struct, frozen=True, rename="camel"):
    """Summary of the brake, which holds evictions from `needed` clusters on that look dead; `dead` do, of `clusters`.

    `holds` are the applications with a copy in a cluster that looks dead: while it is engaged they stay there.
    """

    engaged: bool
    overruled: bool
    since: datetime | None
    message: str
    sentence: str
    dead: int
    needed: int
    clusters: int
    holds: str = ""


class FleetSummary(msgspec.Struct, frozen=True, rename="camel"):
    """`states` counts applications by their state; `nobody` and `fewer` are those that serve nobody, or with fewer
    replicas, `unknown` those of which nothing tells whether they serve.

    `silent_since`: since when the control plane does not answer, and all else is as it was then. `missing` are rights
    that the user lacks; `hidden` says that sums may include what is not seen.
    """

    control_plane: str
    mood: FleetMood
    headline: str
    detail: str
    coming: list[ComingLine]
    findings: list[Finding]
    clusters: int
    applications: int
    replicas: int
    states: Mapping[RowState, int]
    nobody: int
    fewer: int
    unknown: int
    brake: BrakeSummary | None
    settings_told: bool
    silent_since: datetime | None
    silence: str
    unseen: tuple[str, ...]
    missing: tuple[str, ...]
    hidden: bool


def fleet_summary(
    seen: SeenFleet, sight: FleetSight, story: FleetStory, rows: SeenRows, findings: list[Finding]
) -> FleetSummary:
    return FleetSummary(
        control_plane=seen.control_plane,
        mood=story.mood,
        headline=story.headline,
        detail=story.detail,
        coming=story.coming,
        findings=findings,
        clusters=len(rows.clusters),
        applications=rows.number,
        replicas=rows.replicas,
        states={state: len(of_state) for state, of_state in rows.applications.items()},
        nobody=rows.serving(ServiceLevel.NOBODY),
        fewer=rows.serving(ServiceLevel.FEWER),
        unknown=rows.serving(ServiceLevel.UNKNOWN),
        brake=_brake(seen, rows) if sight.brake and sight.clusters else None,
        settings_told=seen.settings.told,
        silent_since=seen.health.silent_since,
        silence=seen.health.problem,
        unseen=seen.unseen,
        missing=sight.missing,
        hidden=not sight.is_whole,
    )


def _brake(seen: SeenFleet, rows: SeenRows) -> BrakeSummary | None:
    """None where it could not be read."""
    if seen.brake is None:
        return None
    brake, settings, number = seen.brake.brake, seen.settings.brake, len(seen.clusters)
    names = {cluster.name for cluster in seen.clusters if looks_dead(cluster)}
    dead = len(names)
    needed = max(settings.minimum, int(settings.threshold * number) + 1)
    are = "is" if dead == 1 else "are"
    which = "No cluster is down" if dead == 0 else f"{dead} of {counted(number, 'cluster')} {are} down"
    holds = "It stops all automatic evictions" if brake.engaged else f"It would stop evictions from {needed}"
    return BrakeSummary(
        engaged=brake.engaged and not brake.overruled,
        overruled=brake.overruled,
        since=brake.since,
        message=seen.brake.message,
        sentence=f"{which}. {holds}.",
        dead=dead,
        needed=needed,
        clusters=number,
        holds=_held_in(names, rows) if brake.engaged and not brake.overruled else "",
    )


def _held_in(clusters: Collection[str], rows: SeenRows) -> str:
    """`12 applications: pay/auth, pay/fraud and 10 more`; empty where there is none."""
    held = [
        row
        for of_state in rows.applications.values()
        for row in of_state.values()
        if any(place.cluster in clusters for place in row.where)
    ]
    return f"{counted(len(held), 'application')}: {shortened([titled(row) for row in held])}" if held else ""
