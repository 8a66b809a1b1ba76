"""Resilience: for each loss that is possible, can the rest take over? Worst first.

    survey(state, losses_by(state, "region"))

A loss is one cluster, or several at the same time, or all of a region, a zone, a provider or a label's value. Each is
projected by itself (`projection`), to the end of all tolerations.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import combinations
from math import comb

import msgspec

from leeward.answers.fates import ApplicationFate, Fate, fates_in, is_braked, with_second_opinion
from leeward.answers.fleet_state import API_VERSION, KIND, FleetState, RecordedFleet
from leeward.answers.imagined import LABEL, ImaginedChange, group_values
from leeward.answers.projection import project
from leeward.answers.what_if import Fullest, fullest_after
from leeward.api.spread_field import GROUP_FIELDS
from leeward.core.loss_coverage import FleetNow, LossCoverage
from leeward.operations import OperationFailed

CLUSTER = "cluster"
MOST_LOSSES = 5_000
NAMED = 20
"""Applications that are named for one loss."""

Losses = Mapping[str, frozenset[str]]
"""Clusters by the name of the loss."""


class LossReport(msgspec.Struct, frozen=True, rename="camel"):
    """`missing` replicas of `wanting` applications do not serve then, of which `waiting` have no node; `nobody` are the
    applications that serve nobody, `alone` those that have nowhere to go at all. `fullest` is the fullest then of the
    clusters that take something over; None where none does. `by_sum` of the missing find no room by the grades of nodes
    alone: the sum of what is free has room for them. They are looked for in the worst losses.

    `braked`: so much is lost that the brake holds everything.
    """

    loss: str
    clusters: list[str]
    applications: int
    moving: int
    kept: int
    wanting: int
    missing: int
    braked: bool
    worst: list[ApplicationFate]
    alone: list[str]
    fullest: Fullest | None = None
    nobody: int = 0
    waiting: int = 0
    by_sum: int = 0


class Resilience(msgspec.Struct, frozen=True, rename="camel"):
    """`without_second_place` are applications that no other cluster takes when theirs are lost."""

    control_plane: str
    as_of: datetime
    by: str
    losses: list[LossReport]
    without_second_place: list[str]
    unseen: tuple[str, ...] = ()

    @property
    def survives_all(self) -> bool:
        return not any(loss.wanting for loss in self.losses)


def losses_by(state: FleetState, by: str, number: int = 1) -> Losses:
    """Losses of so many groups at the same time. Raises: OperationFailed for what is no such grouping, or too much."""
    groups = dict(_groups(state, by))
    if not groups:
        raise OperationFailed(
            f"--by {by!r}: no cluster says what its {by} is" if by != CLUSTER else "no cluster has joined"
        )
    if not 1 <= number <= len(groups):
        raise OperationFailed(f"--n {number}: there are {len(groups)} to lose; give 1 to {len(groups)}")
    many = comb(len(groups), number)
    if many > MOST_LOSSES:
        raise OperationFailed(
            f"--n {number}: these are {many} losses, and {MOST_LOSSES} at most are looked at; try --by"
        )
    chosen = combinations(sorted(groups), number)
    return {"+".join(names): frozenset[str]().union(*(groups[name] for name in names)) for names in chosen}


def survey(state: FleetState, losses: Losses, by: str = CLUSTER) -> Resilience:
    reports = [_report(state, name, clusters) for name, clusters in losses.items()]
    reports.sort(key=lambda report: (-report.nobody, -report.missing, -report.wanting, report.loss))
    reports[:NAMED] = [_with_second_opinion(state, each) for each in reports[:NAMED]]
    alone = sorted({each for report in reports for each in report.alone})
    return Resilience(state.control_plane, state.as_of, by, reports, alone, state.recorded.unseen)


def _with_second_opinion(state: FleetState, report: LossReport) -> LossReport:
    change = ImaginedChange(fails=frozenset(report.clusters))
    worst = with_second_opinion(state, change, report.worst)
    return msgspec.structs.replace(report, worst=worst, by_sum=sum(each.by_sum for each in worst))


def coverage_of(fleet: FleetNow, clusters: Sequence[str]) -> list[LossCoverage]:
    """Coverage of the loss of each of these alone: replicas that cannot move. The control plane, which looks by
    itself, asks for it."""
    state = FleetState(
        RecordedFleet(
            api_version=API_VERSION,
            kind=KIND,
            control_plane="",
            as_of=fleet.now,
            clusters=fleet.clusters,
            bindings=fleet.bindings,
            cluster_bindings=fleet.cluster_bindings,
            works=fleet.works,
            brake=fleet.brake,
            attention=fleet.attention,
            settings=fleet.settings,
        )
    )
    known = [name for name in clusters if name in state.clusters]
    return [_coverage(_report(state, name, frozenset({name}))) for name in known]


def _coverage(report: LossReport) -> LossCoverage:
    worst = report.worst[0].workload if report.worst else ""
    return LossCoverage(report.loss, report.applications, report.wanting, report.missing, worst, report.braked)


def _groups(state: FleetState, by: str) -> Iterator[tuple[str, frozenset[str]]]:
    """Raises: OperationFailed."""
    if by == CLUSTER:
        yield from ((name, frozenset({name})) for name in state.clusters)
        return
    if by not in GROUP_FIELDS and not (by.startswith(LABEL) and by != LABEL):
        raise OperationFailed(f"--by {by!r}: choose cluster, {', '.join(GROUP_FIELDS)} or {LABEL}KEY")
    values = {value for cluster in state.clusters.values() for value in group_values(cluster, by)}
    for value in values:
        yield value, frozenset(n for n, cluster in state.clusters.items() if value in group_values(cluster, by))


def _report(state: FleetState, name: str, clusters: frozenset[str]) -> LossReport:
    change = ImaginedChange(fails=clusters)
    found = project(state, change)
    fates = fates_in(state, change, found)
    wanting = [each for each in fates if each.missing]
    return LossReport(
        loss=name,
        clusters=sorted(clusters),
        applications=len(fates),
        moving=_count(fates, Fate.MOVES),
        kept=_count(fates, Fate.KEPT),
        wanting=len(wanting),
        missing=sum(each.missing for each in wanting),
        braked=is_braked(found),
        worst=wanting[:NAMED],
        alone=[each.workload for each in wanting if each.fate is Fate.NO_ROOM and each.missing == each.replicas],
        fullest=fullest_after(state, found),
        nobody=sum(each.serves_nobody for each in wanting),
        waiting=sum(sum(each.waiting.values()) for each in wanting),
    )


def _count(fates: Sequence[ApplicationFate], fate: Fate) -> int:
    return sum(each.fate is fate for each in fates)
