"""Loss coverage: can the other clusters take over what runs in one, should it be lost (N+1)?

It is looked at in turns. What changed since the last look is due again; in one turn no more is projected than a bound,
so that it costs a large fleet no more than a small one. Holds: S9, L5.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum

from leeward.api.cluster import Cluster
from leeward.api.meta import Condition, find_condition
from leeward.api.names import LOSS_COVERED_CONDITION
from leeward.api.work import ClusterResourceBinding, ResourceBinding, Work
from leeward.core.cluster_health.brake import Brake
from leeward.core.cluster_health.watched_time import Attention
from leeward.core.settings_in_force import SettingsInForce

TURN = timedelta(minutes=1)
"""Time between two looks."""
REST = 50
"""Factor by which the pause after a look is longer than the look: it costs a fiftieth of a core at most."""
BINDINGS_IN_A_TURN = 2_500
"""Bindings that are projected in one look, unless a single cluster has more: a second or two of the processor."""


@dataclass(frozen=True, slots=True)
class FleetNow:
    """State of the fleet of which a projection is made. Nothing in it changes."""

    now: datetime
    clusters: tuple[Cluster, ...]
    bindings: tuple[ResourceBinding, ...]
    cluster_bindings: tuple[ClusterResourceBinding, ...]
    works: tuple[Work, ...]
    brake: Brake
    attention: Attention
    settings: SettingsInForce


@dataclass(frozen=True, slots=True)
class LossCoverage:
    """Coverage of the loss of one cluster: `missing` replicas of `wanting` applications cannot move.

    `worst` names the application that misses most. `braked`: the brake would hold everything.
    """

    cluster: str
    applications: int
    wanting: int
    missing: int
    worst: str = ""
    braked: bool = False


LossSurvey = Callable[[FleetNow, Sequence[str]], Sequence[LossCoverage]]
"""Projects the loss of each of these clusters by itself."""


class CoverageReason(Enum):
    """Reasons of the condition LossCovered."""

    NOTHING_RUNS_HERE = "NothingRunsHere"
    ROOM_ELSEWHERE = "RoomElsewhere"
    ROOM_MISSING = "RoomMissing"
    BRAKE_WOULD_HOLD = "BrakeWouldHold"


def loss_condition(coverage: LossCoverage) -> Condition:
    """The condition of the cluster. Its message has numbers only where something is missing: so it rarely changes."""
    reason = _reason(coverage)
    status = "False" if reason in (CoverageReason.ROOM_MISSING, CoverageReason.BRAKE_WOULD_HOLD) else "True"
    return Condition(LOSS_COVERED_CONDITION, status, reason.value, loss_sentence(coverage))


def standing_coverage(cluster: Cluster) -> Condition | None:
    """The condition of a cluster that may yet be lost; None of one that is so, or that leaves: what it says is past."""
    is_there = cluster.is_ready and not cluster.is_being_deleted
    return find_condition(cluster.status.conditions, LOSS_COVERED_CONDITION) if is_there else None


def loss_sentence(coverage: LossCoverage) -> str:
    """Sentence on what would become of what runs there, and on who says more."""
    missing = f"{coverage.missing} replica{'s' if coverage.missing != 1 else ''}"
    applications = f"{coverage.wanting} application{'s' if coverage.wanting != 1 else ''}"
    why = f"`leeward what-if --fail {coverage.cluster}` says why"
    match _reason(coverage):
        case CoverageReason.NOTHING_RUNS_HERE:
            return "nothing runs here that would have to move"
        case CoverageReason.ROOM_ELSEWHERE:
            return "if this cluster is lost, the other clusters can run what runs here"
        case CoverageReason.ROOM_MISSING:
            worst = f"; {coverage.worst} loses the most replicas" if coverage.worst else ""
            return f"if this cluster is lost, {missing} of {applications} cannot move{worst}; {why}"
        case CoverageReason.BRAKE_WOULD_HOLD:
            return f"if this cluster is lost, most of the fleet is, and the brake stops all evictions; {why}"


def _reason(coverage: LossCoverage) -> CoverageReason:
    if not coverage.applications:
        return CoverageReason.NOTHING_RUNS_HERE
    if coverage.braked:
        return CoverageReason.BRAKE_WOULD_HOLD
    return CoverageReason.ROOM_MISSING if coverage.wanting else CoverageReason.ROOM_ELSEWHERE


def next_losses(
    due: Mapping[str, datetime | None], bindings: Mapping[str, int], most: int = BINDINGS_IN_A_TURN
) -> Sequence[str]:
    """The clusters to look at in this turn, of those that are `due` since their last look (None: never).

    Who was never looked at comes first, then who waits longest; at least one, and as many as have no more than `most`
    `bindings` together.
    """
    in_order = sorted(due, key=lambda name: (due[name] is not None, due[name], name))
    chosen: list[str] = []
    for name in in_order:
        most -= bindings.get(name, 0)
        if chosen and most < 0:
            break
        chosen.append(name)
    return chosen


def next_turn(begun: datetime, took: timedelta) -> datetime:
    """Instant of the look after one that began then and took so long."""
    return begun + max(TURN, took + REST * took)


def same_room(old: Cluster, new: Cluster) -> bool:
    """Tells whether projections are the same on both: nothing has changed that a placement asks of a cluster."""
    before, after = old.status, new.status
    return (
        old.spec == new.spec
        and old.is_ready == new.is_ready
        and old.metadata.labels == new.metadata.labels
        and old.metadata.deletion_timestamp == new.metadata.deletion_timestamp
        and before.resource_summary == after.resource_summary
        and before.api_enablements == after.api_enablements
    )
