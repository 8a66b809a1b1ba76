"""Report of a projection, of what would happen, application by application and cluster by cluster.

answer = what_if(state, ImaginedChange(fails=frozenset({"fra-2"})))
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime
from enum import Enum

import msgspec

from leeward.answers.cluster_timeline import ClusterTimeline
from leeward.answers.decisions import fleet_of
from leeward.answers.fates import FOUND_WANTING, ApplicationFate, concerned_in, fates_in, is_braked, with_second_opinion
from leeward.answers.fates import Fate as Fate
from leeward.answers.fleet_state import BindingName, FleetState
from leeward.answers.imagined import ImaginedChange
from leeward.answers.missing_dependencies import MissingDependency, missing_there
from leeward.answers.projection import Projection, project
from leeward.answers.return_losses import ReturnLosses, losses_on_return
from leeward.answers.room_arithmetic import CPU, ResourceAmount, amounts_in, counted_by_grade, free_cores
from leeward.answers.what_helps import Help, cordons_to_try, effect_on
from leeward.answers.what_waits import with_waits
from leeward.api.work import Binding
from leeward.core.cluster_health.brake import looks_dead
from leeward.core.eviction.blocked_evictions import alarm_of
from leeward.core.wording import listed
from leeward.operations.clusters import is_application

TIGHT_SHARE = 0.95


class ClusterFate(msgspec.Struct, frozen=True, rename="camel"):
    """Cores are None where they are not known, or where the cluster is lost. `waiting` replicas have no node there.

    `room` is its room then by resource, the shortest first; nothing where it is lost.
    """

    cluster: str
    change: str
    replicas_before: int
    replicas_after: int
    cores_free_before: float | None = None
    cores_free_after: float | None = None
    waiting: int = 0
    room: list[ResourceAmount] = []


class InstantKind(Enum):
    """Kind of an instant, by what turns then: of a cluster, of the brake, or of applications."""

    NOT_READY = "NotReady"
    READY = "Ready"
    NO_EXECUTE = "NoExecute"
    BRAKE_ENGAGED = "BrakeEngaged"
    BRAKE_RELEASED = "BrakeReleased"
    LEAVES = "Leaves"


class Instant(msgspec.Struct, frozen=True, rename="camel"):
    """`after_seconds` count from the picture's instant."""

    at: datetime
    after_seconds: float
    kind: InstantKind
    sentence: str


class Fullest(msgspec.Struct, frozen=True, rename="camel"):
    """Cluster with the share of its shortest resource that is requested or reserved; `tight` is over 95 %.

    Of an `overfull` cluster more is asked than it has.
    """

    cluster: str
    share: float
    tight: bool
    resource: str = CPU

    @property
    def overfull(self) -> bool:
        return self.share > 1


class WhatIf(msgspec.Struct, frozen=True, rename="camel"):
    """`applications` are those in clusters that the change is about, or changed by it. `helps` are changes that would
    give what finds no room a place; `clocks` are the flags that are imagined otherwise, in seconds. `by_grade` are
    clusters whose nodes are counted by grade; of any other the sum of what is free counts.
    """

    control_plane: str
    as_of: datetime
    fails: list[str]
    drained: list[str]
    lost_before: list[str]
    applications: list[ApplicationFate]
    clusters: list[ClusterFate]
    instants: list[Instant]
    losses: ReturnLosses
    braked: bool
    cut_off: bool
    settings_told: bool
    missing_dependencies: list[MissingDependency] = []
    helps: list[Help] = []
    clocks: Mapping[str, float] = {}
    unseen: tuple[str, ...] = ()
    held_if_silent: bool = False
    by_grade: list[str] = []

    @property
    def wanting(self) -> list[ApplicationFate]:
        return [each for each in self.applications if each.missing]


def what_if(state: FleetState, change: ImaginedChange) -> WhatIf:
    found = project(state, change)
    fates = with_waits(state, change, found, with_second_opinion(state, change, fates_in(state, change, found)))
    left = {key: _left_wholly(state, change, key, found) for key in concerned_in(state, change, found)}
    lost = sorted(name for name, cluster in state.clusters.items() if looks_dead(cluster))
    return WhatIf(
        control_plane=state.control_plane,
        as_of=state.as_of,
        fails=sorted(change.fails),
        drained=sorted(change.drained),
        lost_before=lost,
        applications=fates,
        clusters=list(_clusters(state, change, found, fates)),
        instants=list(_instants(state, change, found)),
        losses=losses_on_return(state, left),
        braked=is_braked(found),
        cut_off=found.cut_off,
        settings_told=state.settings.told,
        missing_dependencies=missing_there(state, found.worst.bindings),
        helps=list(_helps(state, change, fates)),
        by_grade=counted_by_grade(state.clusters.values()),
        clocks=change.clocks,
        unseen=state.recorded.unseen,
        held_if_silent=ClusterTimeline(state.as_of, change, state.settings).holds_if_silent(state.clusters.values()),
    )


def fates_of(state: FleetState, change: ImaginedChange) -> tuple[list[ApplicationFate], bool]:
    """Fates of applications, worst first, and whether the brake engages."""
    found = project(state, change)
    return fates_in(state, change, found), is_braked(found)


def fullest_after(state: FleetState, found: Projection) -> Fullest | None:
    """The fullest of the clusters that have taken something; None where none has, or nothing is known of it."""
    before = {key: state.bindings[key].spec.assigned for key in found.departures}
    took = {
        name
        for key, departures in found.departures.items()
        for departure in departures
        for name, replicas in departure.after.items()
        if replicas > before[key].get(name, 0)
    }
    shortest = ((name, amounts_in(found.fleet, name)[:1]) for name in sorted(took) if name in found.fleet)
    known = [Fullest(name, a.share, a.share > TIGHT_SHARE, a.resource) for name, amounts in shortest for a in amounts]
    return max(known, key=lambda each: each.share, default=None)


def _helps(state: FleetState, change: ImaginedChange, fates: list[ApplicationFate]) -> Iterator[Help]:
    """Cordons that keep something without a place: each is taken off in a projection of its own."""
    wanting = [each for each in fates if each.missing]
    is_without_place = any(each.fate in FOUND_WANTING for each in wanting)
    for name, without in cordons_to_try(state, change.fails | change.drained) if is_without_place else ():
        left = [each for each in fates_of(without, change)[0] if each.missing]
        before, after = (sum(each.missing for each in part) for part in (wanting, left))
        if after < before:
            effect = effect_on(len(wanting), len(left), before - after)
            yield Help(f"uncordon {name}", effect, f"leeward uncordon {name}")


def _left_wholly(state: FleetState, change: ImaginedChange, key: BindingName, found: Projection) -> list[str]:
    after = {target.name for target in found.bindings[key].spec.clusters}
    about = change.about(state.clusters.values())
    return [t.name for t in state.bindings[key].spec.clusters if t.name in about and t.name not in after]


def _clusters(
    state: FleetState, change: ImaginedChange, found: Projection, fates: list[ApplicationFate]
) -> Iterator[ClusterFate]:
    """Clusters whose fate changes, those first that the change is about."""
    waiting = Counter[str]()
    for each in fates:
        waiting.update(each.waiting)
    before, after = _replicas(state.bindings), _replicas(found.bindings)
    fleet = fleet_of(state)
    for name in sorted(fleet, key=lambda each: (each not in change.fails, each not in change.drained, each)):
        what = "fails" if name in change.fails else "is drained" if name in change.drained else ""
        if not what and before[name] == after[name]:
            continue
        gained = after[name] - before[name]
        is_lost = name in change.fails and change.recover_after_seconds is None
        free, room = (None, []) if is_lost else (free_cores(found.fleet, name), amounts_in(found.fleet, name))
        said = what or f"{gained:+d}"
        yield ClusterFate(name, said, before[name], after[name], free_cores(fleet, name), free, waiting[name], room)


def _replicas(bindings: Mapping[BindingName, Binding]) -> Counter[str]:
    totals = Counter[str]()
    for binding in bindings.values():
        for target in binding.spec.clusters:
            totals[target.name] += target.replicas
    return totals


TURNS = {
    "NotReady": "{who} not Ready; no new replica is placed there",
    "Ready": "{who} Ready again",
    "NoExecute": "{who} tainted with NoExecute",
    "BrakeEngaged": "the brake is engaged, and stops automatic evictions: {why}",
    "BrakeReleased": "the brake is released",
}


def _instants(state: FleetState, change: ImaginedChange, found: Projection) -> Iterator[Instant]:
    sentences: dict[tuple[datetime, str], list[str]] = {}
    for at, cluster, what in found.turns:
        sentences.setdefault((at, what), []).append(cluster)
    of_applications = [each for key, each in found.departures.items() if is_application(state.bindings[key])]
    leaving = Counter(departures[0].at for departures in of_applications)
    following = Counter(departure.at for departures in of_applications for departure in departures[1:])
    told = [
        (at, InstantKind(what), TURNS[what].format(who=who_is(names), why=alarm_of(names[0])))
        for (at, what), names in sorted(sentences.items())
    ]
    told += [
        (at, InstantKind.LEAVES, f"{number} application{'s leave' if number > 1 else ' leaves'}")
        for at, number in leaving.items()
    ]
    told += [
        (at, InstantKind.LEAVES, f"{number} application{'s move' if number > 1 else ' moves'} more replicas")
        for at, number in following.items()
    ]
    for at, kind, sentence in sorted(told, key=lambda each: each[0]):
        yield Instant(at, (at - state.as_of).total_seconds(), kind, sentence)


def who_is(names: list[str]) -> str:
    if len(names) > 3:
        return f"{names[0]} and {len(names) - 1} more are"
    return f"{listed(filter(None, names))} {'is' if len(names) == 1 else 'are'}"
