"""Rules about room: what would be placed elsewhere, if there were room for it, or a cluster that takes it."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import msgspec

from leeward.answers.decisions import fleet_of
from leeward.answers.fleet_state import FleetState
from leeward.api.policy import Placement
from leeward.api.work import Binding
from leeward.core.placement.cause import cause_of
from leeward.core.placement.ranks import find_replacement
from leeward.core.placement.replacement import place_anew
from leeward.core.scheduling import Unplaceable
from leeward.lint.findings import Diagnostic
from leeward.lint.objects import ClaimedTemplate
from leeward.lint.picture import LintPicture
from leeward.lint.placements import affinity_field, allowed_clusters, can_be_spread, may_move
from leeward.operations.sentences import counted
from leeward.planning.fleet import Fleet

NAMED = 3


@dataclass(frozen=True)
class _Shortage:
    cluster: str
    missing: int
    message: str


class _Fleets:
    """All clusters, or all but one, each fleet made once."""

    def __init__(self, state: FleetState) -> None:
        self.state = state
        self._without: dict[str, Fleet] = {}

    def without(self, lost: str) -> Fleet:
        """An empty name for all clusters."""
        if lost not in self._without:
            rest = [cluster for name, cluster in self.state.clusters.items() if name != lost]
            self._without[lost] = fleet_of(self.state, rest)
        return self._without[lost]


def no_room(picture: LintPicture) -> Iterator[Diagnostic]:
    """Finds what has no room elsewhere. Each application is asked about by itself, as if nothing else moved: `leeward
    resilience` asks about all."""
    if picture.state is None:
        return
    fleets = _Fleets(picture.state)
    for claim in picture.claimed:
        binding, placement = claim.binding, claim.policy.policy.spec.placement
        if not any(each.is_asked for each in claim.objects):
            continue
        if not binding.spec.clusters:
            placed = place_anew(binding, binding.spec, fleets.without(""), picture.state.as_of)
            if isinstance(placed, Unplaceable):
                if _could_be_placed(placement, picture.state, ()):
                    why = cause_of(placed, binding.spec, picture.state.clusters) or placed.message
                    yield _diagnostic(claim, f"{claim.template} fits in no cluster now: {why}")
                continue
            spec = msgspec.structs.replace(binding.spec, clusters=placed.clusters)
            binding = msgspec.structs.replace(binding, spec=spec)
        if may_move(placement, binding.spec.is_workload) and (found := list(_shortages(binding, placement, fleets))):
            yield _diagnostic(claim, _told(claim, found))


def _shortages(binding: Binding, placement: Placement, fleets: _Fleets) -> Iterator[_Shortage]:
    for target in binding.spec.clusters:
        if target.name not in fleets.state.clusters:
            continue
        rest = tuple(each for each in binding.spec.clusters if each.name != target.name)
        left = msgspec.structs.replace(binding.spec, clusters=rest)
        found = find_replacement(binding, left, fleets.without(target.name), fleets.state.as_of)
        if isinstance(found, Unplaceable) and _could_be_placed(placement, fleets.state, (target.name,)):
            why = cause_of(found, left, fleets.state.clusters, lost=target.name)
            yield _Shortage(target.name, target.replicas, why or found.message)


def _could_be_placed(placement: Placement, state: FleetState, without: Collection[str]) -> bool:
    """Tells whether the placement allows it: LW003 and LW004 tell where it does not."""
    allowed = allowed_clusters(placement, state.clusters).difference(without)
    return bool(allowed) and can_be_spread(placement, allowed, state.clusters)


def _told(claim: ClaimedTemplate, found: list[_Shortage]) -> str:
    worst = max(found, key=lambda each: each.missing)
    others = [each.cluster for each in found if each is not worst]
    also = f" (or {', '.join(others[:NAMED])}{' or another' if len(others) > NAMED else ''})" if others else ""
    what = counted(worst.missing, "replica") if claim.binding.spec.is_workload else "the copy"
    return f"If cluster {worst.cluster}{also} is lost, {what} of {claim.template} cannot move. {worst.message}"


def _diagnostic(claim: ClaimedTemplate, sentence: str) -> Diagnostic:
    policy = claim.policy.source
    if claim.template.is_asked:
        return Diagnostic(claim.template, sentence, ("spec", "replicas"), others=(policy,))
    path = affinity_field(claim.policy.policy.spec.placement)
    return Diagnostic(policy, sentence, path, others=(claim.template,))
