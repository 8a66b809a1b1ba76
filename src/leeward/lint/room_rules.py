"""Rules about room: what would be placed elsewhere, if there were room for it."""

from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from leeward.answers.decisions import fleet_of
from leeward.answers.fleet_state import FleetState
from leeward.api.cluster import Cluster, ResourceSummary
from leeward.api.work import Binding
from leeward.core.placement.replacement import find_replacement, place_anew
from leeward.core.scheduling import Placed, Unplaceable
from leeward.lint.findings import Diagnostic
from leeward.lint.objects import ClaimedTemplate
from leeward.lint.picture import LintPicture
from leeward.lint.placements import affinity_field, may_move
from leeward.operations.sentences import counted
from leeward.planning.fleet import Fleet, placement_fleet

NAMED = 3
BOUNDLESS = str(2**62)
MOST_PODS = str(2**31 - 1)


@dataclass(frozen=True)
class _Shortage:
    cluster: str
    missing: int
    message: str


class _Rooms:
    """Fleets that lack one cluster, each made once: as they are, and with room for anything that is asked for."""

    def __init__(self, state: FleetState) -> None:
        self.state = state
        self._fleets: dict[tuple[str, frozenset[str] | None], Fleet] = {}

    def without(self, lost: str, asked: frozenset[str] | None = None) -> Fleet:
        """`lost` is empty for all clusters; `asked` are resources of which there is no end, None is as it is."""
        if (lost, asked) not in self._fleets:
            rest = [cluster for name, cluster in self.state.clusters.items() if name != lost]
            made = fleet_of(self.state, rest) if asked is None else placement_fleet(_boundless(c, asked) for c in rest)
            self._fleets[lost, asked] = made
        return self._fleets[lost, asked]


def no_room(picture: LintPicture) -> Iterator[Diagnostic]:
    """Each application is asked about by itself, as if nothing else moved: `leeward resilience` asks about all."""
    if picture.state is None:
        return
    rooms = _Rooms(picture.state)
    for claim in picture.claimed:
        binding = claim.binding
        if not binding.spec.is_workload or binding.spec.placement is None or _is_idle(claim):
            continue
        if not binding.spec.clusters:
            placed = place_anew(binding, binding.spec, rooms.without(""), picture.state.as_of)
            if isinstance(placed, Unplaceable):
                if _is_for_want_of_room(binding, rooms):
                    yield _diagnostic(claim, f"{claim.template} finds no room now: {placed.message}")
                continue
            spec = msgspec.structs.replace(binding.spec, clusters=placed.clusters)
            binding = msgspec.structs.replace(binding, spec=spec)
        if may_move(claim.policy.policy.spec.placement, has_replicas=True):
            found = list(_shortages(binding, rooms))
            if found:
                yield _diagnostic(claim, _told(claim, found))


def _is_idle(claim: ClaimedTemplate) -> bool:
    return not any(each.is_asked for each in claim.objects)


def _shortages(binding: Binding, rooms: _Rooms) -> Iterator[_Shortage]:
    now, asked = rooms.state.as_of, _asked_for(binding)
    for target in binding.spec.clusters:
        if target.name not in rooms.state.clusters:
            continue
        rest = tuple(each for each in binding.spec.clusters if each.name != target.name)
        left = msgspec.structs.replace(binding.spec, clusters=rest)
        found = find_replacement(binding, left, rooms.without(target.name), now)
        if isinstance(found, Placed):
            continue
        if isinstance(find_replacement(binding, left, rooms.without(target.name, asked), now), Placed):
            yield _Shortage(target.name, target.replicas, found.message)


def _is_for_want_of_room(binding: Binding, rooms: _Rooms) -> bool:
    fleet = rooms.without("", _asked_for(binding))
    return isinstance(place_anew(binding, binding.spec, fleet, rooms.state.as_of), Placed)


def _asked_for(binding: Binding) -> frozenset[str]:
    requirements = binding.spec.replica_requirements
    return frozenset(requirements.resource_request if requirements is not None else ())


def _boundless(cluster: Cluster, asked: frozenset[str]) -> Cluster:
    room = ResourceSummary(allocatable={**dict.fromkeys(asked, BOUNDLESS), "pods": MOST_PODS})
    status = msgspec.structs.replace(cluster.status, resource_summary=room)
    spec = msgspec.structs.replace(cluster.spec, resource_models=())
    return msgspec.structs.replace(cluster, status=status, spec=spec)


def _told(claim: ClaimedTemplate, found: list[_Shortage]) -> str:
    worst = max(found, key=lambda each: each.missing)
    others = [each.cluster for each in found if each is not worst]
    also = f" (nor when {', '.join(others[:NAMED])}{' or others' if len(others) > NAMED else ''} is)" if others else ""
    what = counted(worst.missing, "replica")
    return f"{claim.template}: {what} would find no room when {worst.cluster} is lost{also}: {worst.message}"


def _diagnostic(claim: ClaimedTemplate, sentence: str) -> Diagnostic:
    policy = claim.policy.source
    if claim.template.is_asked:
        return Diagnostic(claim.template, sentence, ("spec", "replicas"), others=(policy,))
    path = affinity_field(claim.policy.policy.spec.placement)
    return Diagnostic(policy, sentence, path, others=(claim.template,))
