"""Fates of applications in a projection: what is decided of each, and who serves then.

The fate is what the scheduler decides. Whether somebody is needed follows from the service (`missing`): what stays in a
cluster that fails serves nobody, whatever was decided of it.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from enum import Enum

import msgspec

from leeward.answers.decisions import counted_by_sum
from leeward.answers.fleet_state import BindingName, FleetState
from leeward.answers.imagined import ImaginedChange
from leeward.answers.projection import Projection, project
from leeward.answers.room_arithmetic import cores_asked, counted_by_grade
from leeward.answers.service import Service, is_well, purged_in, services_in
from leeward.api.work import Binding, is_application
from leeward.core.eviction.held_reasons import HeldReason
from leeward.core.scheduling import Unplaceable
from leeward.operations.drain import workload_of
from leeward.operations.findings import HOLDS, Hold


class Fate(Enum):
    """Fate of an application, worst first."""

    NO_ROOM = "NoRoom"
    HELD = "Held"
    CHANGED = "Changed"
    MOVES = "Moves"
    KEPT = "Kept"
    STAYS = "Stays"


FOUND_WANTING = (Fate.NO_ROOM, Fate.HELD)


class ApplicationFate(msgspec.Struct, frozen=True, rename="camel"):
    """`before` and `after` are replicas by cluster. Of `replicas` that are asked for, `serves` do while the outage
    lasts; of a copy that is not divided, all its replicas count. `waiting` is how many have no node, by cluster.

    `missing` are those that somebody has to care for, `cores_missing` what they ask for (None where nothing is said of
    one): none where a copy is kept by choice, and another one serves. `left_at` is when it leaves the first of the
    clusters; None where it does not. `by_sum` are those that are missing by the grades of nodes, and that the sum of
    what is free has room for. `gates`, `rollout` and `group` are sentences on what
    waits (`what_waits`).
    """

    workload: str
    binding: str
    fate: Fate
    before: Mapping[str, int]
    after: Mapping[str, int]
    replicas: int
    missing: int = 0
    left_at: datetime | None = None
    reason: str = ""
    message: str = ""
    cores_missing: float | None = None
    serves: int = 0
    waiting: Mapping[str, int] = {}
    by_sum: int = 0
    gates: tuple[str, ...] = ()
    rollout: tuple[str, ...] = ()
    group: tuple[str, ...] = ()

    @property
    def serves_nobody(self) -> bool:
        return self.missing > 0 and not self.serves


def fates_in(state: FleetState, change: ImaginedChange, found: Projection) -> list[ApplicationFate]:
    """Fates of applications in a projection, worst first."""
    keys = list(concerned_in(state, change, found))
    services = services_in(state, change, found, keys)
    fates = [_fate(state, change, key, found, services[key]) for key in keys]
    order = {fate: index for index, fate in enumerate(Fate)}
    return sorted(
        fates,
        key=lambda each: (not each.serves_nobody, not each.missing, order[each.fate], -each.missing, each.workload),
    )


def with_second_opinion(
    state: FleetState, change: ImaginedChange, fates: Sequence[ApplicationFate]
) -> list[ApplicationFate]:
    """The fates, where some find no room by the grades of nodes, with the room by the sum of what is free."""
    if not any(each.fate is Fate.NO_ROOM for each in fates) or not counted_by_grade(state.clusters.values()):
        return [*fates]
    by_sum = counted_by_sum(state)
    missing = {each.binding: each.missing for each in fates_in(by_sum, change, project(by_sum, change))}
    return [
        msgspec.structs.replace(each, by_sum=max(0, each.missing - missing.get(each.binding, each.missing)))
        if each.fate is Fate.NO_ROOM
        else each
        for each in fates
    ]


def is_braked(found: Projection) -> bool:
    """Tells whether the brake engages."""
    return found.braked or any(what == "BrakeEngaged" for _, _, what in found.turns)


def concerned_in(state: FleetState, change: ImaginedChange, found: Projection) -> Iterator[BindingName]:
    about = change.about(state.clusters.values())
    there = {key for name in about for key in state.bindings_in(name)}
    for key in sorted(there | change.bindings.keys() | found.departures.keys()):
        is_target = any(target.name in about for target in state.bindings[key].spec.clusters)
        if is_target or key in change.bindings or key in found.departures:
            yield key


def _fate(
    state: FleetState, change: ImaginedChange, key: BindingName, found: Projection, service: Service
) -> ApplicationFate:
    """Fate of an application while the outage lasts, at its worst; `after` is where it is at the end."""
    before, departures, worst = state.bindings[key], found.departures.get(key, []), found.worst
    decision, then = worst.decisions.get(key), worst.bindings[key]
    held = decision.held if decision is not None else None
    hold = HOLDS.get(held.reason, Hold.HELD) if held is not None else None
    message = held.message if held is not None else ""
    if decision is not None and isinstance(decision.result, Unplaceable):
        message = message or decision.result.told
    missing = _missing(then, service, is_kept=hold is Hold.KEPT)
    if missing and hold is not Hold.KEPT and message:
        fate = Fate.HELD if held is not None and held.reason != HeldReason.NO_PLACE_TO_GO else Fate.NO_ROOM
    elif departures:
        fate = Fate.MOVES
    elif hold is Hold.KEPT:
        fate = Fate.KEPT
    else:
        fate = Fate.CHANGED if key in change.bindings else Fate.STAYS
    return ApplicationFate(
        workload=workload_of(before),
        binding=str(key),
        fate=fate,
        before=before.spec.assigned,
        after=found.bindings[key].spec.assigned,
        replicas=service.asked,
        missing=missing,
        left_at=departures[0].at if departures else None,
        reason=held.reason if held is not None else "",
        message=message or (_why_fewer(change, then, found, service) if missing else ""),
        cores_missing=cores_asked(then.spec, missing) if missing else None,
        serves=service.serves,
        waiting=service.waiting,
    )


def _missing(then: Binding, service: Service, *, is_kept: bool) -> int:
    """Replicas that do not serve and should: not those of a copy that is kept by choice, while another one serves, or
    that runs nothing."""
    serves = service.serves or not is_application(then)
    if then.spec.placement is None or (is_kept and not then.spec.is_divided and serves):
        return 0
    return service.asked - service.serves


def _why_fewer(change: ImaginedChange, then: Binding, found: Projection, service: Service) -> str:
    """Cause in words where no decision tells one: it stays where nothing serves, or more is given than nodes hold."""
    told = [f"{count} wait{'s' if count == 1 else ''} for a node in {name}" for name, count in service.waiting.items()]
    clusters = found.worst.clusters
    stays = [
        t.name
        for t in then.spec.clusters
        if t.name in change.fails or t.name not in clusters or not is_well(clusters[t.name])
    ]
    if purged := purged_in(then.spec) & {name for name in clusters if not is_well(clusters[name])}:
        told.insert(0, f"no new copy is made before {', '.join(sorted(purged))} is back (purgeMode Directly)")
    if stays:
        brake = ", because the brake stops the eviction" if is_braked(found) else ""
        told.insert(0, f"the application stays in {', '.join(stays)}, where no replica is ready{brake}")
    return "; ".join(told) or "members run more replicas than the template asks for, and nobody replaces the surplus"
