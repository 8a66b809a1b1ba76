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
from leeward.planning.batch import owner_of
from leeward.planning.fleet import Fleet, placement_fleet

NAMED = 3
BOUNDLESS = str(2**62)
MOST_PODS = str(2**31 - 1)


@dataclass(frozen=True)
class _Shortage:
    cluster: str
    missing: int
    message: str


def no_room(picture: LintPicture) -> Iterator[Diagnostic]:
    """Each application is asked about by itself, as if nothing else moved: `leeward resilience` asks about all."""
    state = picture.state
    if state is None:
        return
    whole, without = fleet_of(state), dict[str, Fleet]()
    shortages: dict[ClaimedTemplate, list[_Shortage]] = {}
    for claim in picture.claimed:
        binding = claim.binding
        if not binding.spec.is_workload or binding.spec.placement is None or _is_idle(claim):
            continue
        if not binding.spec.clusters:
            placed = place_anew(binding, binding.spec, whole, state.as_of)
            if isinstance(placed, Unplaceable):
                if _is_for_want_of_room(binding, state):
                    said = f"{claim.template} finds no room now: {placed.message}"
                    yield _diagnostic(claim, said)
                continue
            binding = msgspec.structs.replace(
                binding, spec=msgspec.structs.replace(binding.spec, clusters=placed.clusters)
            )
        if may_move(claim.policy.policy.spec.placement, has_replicas=True):
            shortages[claim] = list(_shortages(state, binding, without))
    for claim, found in shortages.items():
        if found:
            yield _diagnostic(claim, _told(claim, found))


def _is_idle(claim: ClaimedTemplate) -> bool:
    return not any(each.is_asked for each in claim.objects)


def _shortages(state: FleetState, binding: Binding, without: dict[str, Fleet]) -> Iterator[_Shortage]:
    for target in binding.spec.clusters:
        if target.name not in state.clusters:
            continue
        if target.name not in without:
            without[target.name] = fleet_of(state, [c for name, c in state.clusters.items() if name != target.name])
        fleet = without[target.name]
        fleet.release(owner_of(binding), unless_at=binding.spec.clusters)
        rest = tuple(each for each in binding.spec.clusters if each.name != target.name)
        left = msgspec.structs.replace(binding.spec, clusters=rest)
        found = find_replacement(binding, left, fleet, state.as_of)
        if isinstance(found, Placed):
            continue
        boundless = placement_fleet(_boundless(cluster, binding) for cluster in fleet.values())
        if isinstance(find_replacement(binding, left, boundless, state.as_of), Placed):
            yield _Shortage(target.name, target.replicas, found.message)


def _is_for_want_of_room(binding: Binding, state: FleetState) -> bool:
    boundless = placement_fleet(_boundless(cluster, binding) for cluster in state.clusters.values())
    return isinstance(place_anew(binding, binding.spec, boundless, state.as_of), Placed)


def _boundless(cluster: Cluster, binding: Binding) -> Cluster:
    """The cluster with room for anything that the binding asks for."""
    asked = binding.spec.replica_requirements
    names = {"cpu", "memory", *(asked.resource_request if asked is not None else ())}
    room = ResourceSummary(allocatable={**dict.fromkeys(names, BOUNDLESS), "pods": MOST_PODS})
    status = msgspec.structs.replace(cluster.status, resource_summary=room)
    return msgspec.structs.replace(
        cluster, status=status, spec=msgspec.structs.replace(cluster.spec, resource_models=())
    )


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
