"""Explanation of one binding: where it is, why there and nowhere else, what holds it, and what happens next.

Everything follows from the decision itself, asked with its reasons (`decisions.explained`). The words of what is held
are those of the condition that the binding bears, and those of what is expected are the condition's of an outage.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from enum import Enum

import msgspec

from leeward.answers.claiming_policies import PolicyClaim, claim_sentence, policies_selecting
from leeward.answers.copies import CopyRow, copies_of, is_scaled_to_none, short_of_nodes
from leeward.answers.decisions import Explained, as_written, explained, explained_then, fleet_of, foreseen, snapshot_of
from leeward.answers.fleet_state import BindingName, FleetState
from leeward.answers.moving_group import group_sentence
from leeward.answers.next_steps import NextStep, next_steps
from leeward.answers.room_arithmetic import RoomRow, room_rows
from leeward.answers.what_helps import Help, by_sum_words, rollout_helps, rollout_of, what_helps
from leeward.api.meta import find_condition
from leeward.api.names import REPLACEMENT_HELD_CONDITION
from leeward.api.rollout import ROLLOUT_CONDITION
from leeward.api.work import Binding
from leeward.core.cluster_health.brake import looks_dead
from leeward.core.cluster_health.outage import has_outage
from leeward.core.cluster_health.ready_condition import is_uncollected
from leeward.core.eviction.original_placement import failback_options, parse_original_placement
from leeward.core.placement import Decision, Snapshot
from leeward.core.placement.cause import cause_in
from leeward.core.quota.enforcement import quota_cause
from leeward.core.scheduling import Placed, Unplaceable
from leeward.core.scheduling.selection import room_decides
from leeward.core.scheduling.trace import DivisionTrace, TermTrace
from leeward.core.wording import listed
from leeward.operations.drain import workload_of
from leeward.operations.findings import HOLDS, Hold
from leeward.operations.hindrances import hindrances_of, stopped_rollout
from leeward.operations.rollout_view import RolloutView
from leeward.operations.sentences import counted, in_moments, moment, since


class ApplicationState(Enum):
    """Worst first: the first three need somebody."""

    HELD = "Held"
    UNPLACED = "NotPlaced"
    HINDERED = "Hindered"
    OUTAGE = "Outage"
    MOVING = "Moving"
    NOT_SERVING = "NotServing"
    WAITING = "Waiting"
    KEPT = "Kept"
    WELL = "Well"


NOTHING_MOVES = (
    "A running application stays where it is, even if other clusters would be chosen now. To move it, set "
    "leeward.dev/failback in its policy, or create a WorkloadRebalancer."
)
_HELD = {ApplicationState.HELD: "Cannot move", ApplicationState.WAITING: "Waits to move"}
NEEDS_SOMEBODY = (ApplicationState.HELD, ApplicationState.UNPLACED, ApplicationState.HINDERED)


class ClusterVerdict(msgspec.Struct, frozen=True, rename="camel"):
    """Clusters for which one plug-in has the same reason; an empty plug-in keeps them."""

    clusters: tuple[str, ...]
    plugin: str = ""
    reason: str = ""


class DivisionStep(msgspec.Struct, frozen=True, rename="camel"):
    """One division: `replicas` more on top of `initial`, by `weights`, gave `result`."""

    replicas: int
    weights: Mapping[str, int]
    initial: Mapping[str, int]
    result: Mapping[str, int]


class Explanation(msgspec.Struct, frozen=True, rename="camel"):
    """`asked_anew`: verdicts, room and division are those of placing it once more, since nothing is due. They are those
    of `reasons_at`, where an outage leads to a decision that is yet to come.
    """

    control_plane: str
    as_of: datetime
    workload: str
    binding: str
    replicas: int
    state: ApplicationState
    headline: str
    reason: str
    where: list[CopyRow]
    why: list[str]
    policies: list[PolicyClaim]
    verdicts: list[ClusterVerdict]
    room: list[RoomRow]
    divisions: list[DivisionStep]
    next: tuple[NextStep, ...]
    helps: tuple[Help, ...]
    decides: Mapping[str, int]
    asked_anew: bool
    reasons_at: datetime | None
    settings_told: bool
    unseen: tuple[str, ...] = ()
    rollout: RolloutView | None = None

    @property
    def needs_somebody(self) -> bool:
        serves_nobody = bool(self.replicas) and not any(row.ready for row in self.where)
        return self.state in NEEDS_SOMEBODY or (self.state is ApplicationState.OUTAGE and serves_nobody)


def explain_binding(state: FleetState, key: BindingName) -> Explanation:
    """Raises: KeyError where the picture has no such binding."""
    binding, fleet = state.bindings[key], fleet_of(state)
    snapshot, rollout = snapshot_of(state, key, fleet), rollout_of(state, key)
    asked = as_written(snapshot, explained(snapshot))
    decision, report = asked.decision, foreseen(state, key, asked.decision)
    if asked.asked_anew:
        asked = explained_then(state, key, decision, report) or asked
    term = next(reversed(asked.trace.terms), TermTrace())
    rooms = {name: candidate.room for name, candidate in term.candidates.items()}
    placed = binding.spec.placement if binding.spec.is_workload else None
    room = room_rows(binding.spec, fleet, rooms) if placed is not None and room_decides(placed) else []
    where, verdicts, now = copies_of(state, key), verdicts_of(snapshot, term), state.as_of
    told = (*group_sentence(state, binding), *_why(state, binding, asked, verdicts))
    how = _seen(state, binding, where, _state_of(binding, decision, bool(report and report.outlooks)))
    return Explanation(
        control_plane=state.control_plane,
        as_of=now,
        workload=workload_of(binding),
        binding=str(key),
        replicas=binding.spec.replicas,
        state=how,
        headline=in_moments(by_sum_words(state, key, decision) or _headline(state, binding, asked, how, where), now),
        reason=decision.held.reason if decision.held is not None else "",
        where=where,
        why=[claim_sentence(state, binding), *(in_moments(each, now) for each in told)],
        policies=policies_selecting(state, binding),
        verdicts=verdicts,
        room=room,
        divisions=[DivisionStep(each.replicas, each.weights, each.initial, each.result) for each in term.divisions],
        next=next_steps(state, key, decision, report, rollout),
        helps=(*what_helps(state, key, decision, room), *rollout_helps(rollout)),
        decides={target.name: target.replicas for target in decision.clusters},
        asked_anew=asked.asked_anew,
        reasons_at=asked.at,
        settings_told=state.settings.told,
        unseen=state.recorded.unseen,
        rollout=rollout,
    )


def _state_of(binding: Binding, decision: Decision, has_outage: bool) -> ApplicationState:
    hold = HOLDS.get(decision.held.reason, Hold.HELD) if decision.held is not None else None
    if find_condition(binding.status.conditions, REPLACEMENT_HELD_CONDITION, "True") is not None:
        return ApplicationState.HINDERED
    if hold is Hold.HELD:
        return ApplicationState.HELD
    if (isinstance(decision.result, Unplaceable) or decision.quota_refusal) and not decision.foreign:
        return ApplicationState.UNPLACED
    if any(hindrances_of(binding)):
        return ApplicationState.HINDERED
    if has_outage and hold is None:
        return ApplicationState.OUTAGE
    if decision.evicted or binding.spec.graceful_eviction_tasks or decision.clusters != binding.spec.clusters:
        return ApplicationState.MOVING
    if stopped_rollout(binding) is not None:
        return ApplicationState.HINDERED
    if hold is Hold.WAITING:
        return ApplicationState.WAITING
    return ApplicationState.KEPT if hold is Hold.KEPT else ApplicationState.WELL


def _seen(state: FleetState, binding: Binding, where: Sequence[CopyRow], how: ApplicationState) -> ApplicationState:
    """The state where something is due, else the one that its copies are seen in."""
    if how is not ApplicationState.WELL or not where or is_scaled_to_none(binding):
        return how
    if not any(row.ready for row in where):
        return ApplicationState.NOT_SERVING
    return ApplicationState.HINDERED if short_of_nodes(state, where) else how


def _headline(
    state: FleetState, binding: Binding, asked: Explained, how: ApplicationState, where: Sequence[CopyRow]
) -> str:
    decision, ready = asked.decision, sum(row.ready or 0 for row in where)
    total = binding.spec.replicas if binding.spec.is_divided else sum(max(1, row.assigned) for row in where)
    known = "known to be ready" if any(row.ready is None for row in where) else "ready"
    serves = f"{ready} of {counted(total, 'replica')} {'is' if 1 in (ready, total) else 'are'} {known}"
    if is_scaled_to_none(binding):
        serves = "the application is scaled to 0 replicas"
    if how in (*_HELD, ApplicationState.KEPT) and (held := decision.held) is not None:
        return f"{_HELD.get(how, 'Stays')} ({held.reason}): {cause_in(held.reason, held.message)}"
    if how is ApplicationState.UNPLACED and decision.quota_refusal:
        has = "is not placed as wanted" if binding.spec.clusters else "has no copy anywhere"
        return f"The application {has}: {quota_cause(decision.quota_refusal)}"
    if how is ApplicationState.UNPLACED and isinstance(decision.result, Unplaceable):
        return f"Not placed: {decision.result.cause or decision.result.message}"
    hindrance = next(filter(None, (*hindrances_of(binding), stopped_rollout(binding))), None)
    if how is ApplicationState.HINDERED and hindrance is not None:
        return f"The application {hindrance.what} ({hindrance.reason}): {hindrance.message}"
    if how is ApplicationState.HINDERED and (short := short_of_nodes(state, where)):
        return f"Pods wait for a node in {', '.join(short)}; {serves}"
    if how is ApplicationState.OUTAGE:
        return f"{', '.join(_outages(state, binding))}; {serves}"
    if how is ApplicationState.MOVING:
        return f"The application is moving; {serves}"
    if how is ApplicationState.NOT_SERVING:
        return f"No eviction is planned, and {serves}"
    if not binding.spec.clusters:
        return "The application is placed in no cluster"
    return f"No eviction is planned; {serves}{_way_back(binding)}"


def _way_back(binding: Binding) -> str:
    """The affinity term that a failback is to bring it back to, and when; empty where it waits for none."""
    original = parse_original_placement(binding) if failback_options(binding).automatic else None
    term, observed = original.term if original is not None else "", binding.status.scheduler_observing_affinity_name
    if not term or term == observed:
        return ""
    return f"; it returns to affinity term {term} when clusters there stay healthy and have free capacity"


def _outages(state: FleetState, binding: Binding) -> Iterator[str]:
    """`a and b are down`, and `c is not seen`: nobody knows that a cluster is down which only refuses a look."""
    known = (state.clusters.get(target.name) for target in binding.spec.clusters)
    there = [cluster for cluster in known if cluster is not None and has_outage(cluster)]
    unseen = [cluster.name for cluster in there if cluster.ready is not None and is_uncollected(cluster.ready)]
    down = [cluster.name for cluster in there if cluster.name not in unseen]
    for names, what in ((down, "down"), (unseen, "not seen")):
        if names:
            yield f"{listed(names)} {'is' if len(names) == 1 else 'are'} {what}"


def _why(state: FleetState, binding: Binding, asked: Explained, verdicts: Sequence[ClusterVerdict]) -> Iterator[str]:
    """Sentences that follow the claim: what evicts, what passes, how it is divided, and why it stays."""
    for target in binding.spec.clusters:
        cluster = state.clusters.get(target.name)
        harmful = [] if cluster is None else [t for t in cluster.taints if t.effect == "NoExecute"]
        for taint in harmful:
            yield f"{target.name} has the taint {taint}{since(taint.time_added, state.as_of)}."
    kept = next((each.clusters for each in verdicts if not each.plugin), ())
    anew, is_only_asked = "", asked.asked_anew
    if is_only_asked:
        anew = "If the application were placed again now, "
    elif asked.at:
        anew = f"At {moment(asked.at, state.as_of)}, "
    passing = "would be" if is_only_asked else "is" if len(kept) == 1 else "are"
    these = f": {', '.join(kept)}" if kept else ""
    yield f"{anew}{len(kept)} of {counted(len(state.clusters), 'cluster')} {passing} eligible{these}."
    term = asked.trace.terms[-1] if asked.trace.terms else None
    yield from _claims(state, binding, term)
    for division in () if term is None else term.divisions:
        yield division_sentence(division, is_only_asked=is_only_asked)
    if is_only_asked and _would_be_elsewhere(binding, asked):
        yield NOTHING_MOVES
    if asked.decision.held is not None:
        said = asked.decision.held.message.rstrip(".")
        yield f"{said[:1].upper()}{said[1:]} ({asked.decision.held.reason})."
    elif isinstance(asked.result, Unplaceable):
        yield f"{asked.result.told.rstrip('.')}."
    for hindrance in hindrances_of(binding):
        yield f"{hindrance.message.rstrip('.')} ({hindrance.reason})."
    if (rollout := find_condition(binding.status.conditions, ROLLOUT_CONDITION, "True")) is not None:
        yield f"{rollout.message.rstrip('.')} ({rollout.reason})."


def _claims(state: FleetState, binding: Binding, term: TermTrace | None) -> Iterator[str]:
    """`Its claim data is in member1: of equally good clusters, member1 comes first.`"""
    preferred = {} if term is None else {name: rank for name, rank in term.claims.items() if name in term.candidates}
    for claim, clusters in state.held_claims(binding).items():
        first = max((name for name in clusters if name in preferred), key=lambda name: preferred[name], default="")
        comes = f"of equally good clusters, {first} comes first" if first else "no copy can be placed there now"
        yield f"Its claim {claim} is in {', '.join(clusters)}: {comes}."


def _would_be_elsewhere(binding: Binding, asked: Explained) -> bool:
    """Tells whether it stays as it is, though it would be placed otherwise."""
    there = binding.spec.clusters
    if not there or not isinstance(asked.result, Placed) or asked.decision.clusters != there:
        return False
    there, then = ({t.name: t.replicas for t in targets} for targets in (binding.spec.clusters, asked.result.clusters))
    return there != then if binding.spec.is_divided else there.keys() != then.keys()


def division_sentence(division: DivisionTrace, *, is_only_asked: bool = False) -> str:
    """`3 replicas are divided by weight: member1 gets 2 (3 * 1/2 = 1.50), ...`, also of one only asked about."""
    gets, divided = ("would get", "would be divided") if is_only_asked else ("gets", "are divided")
    total = sum(division.weights.values())
    parts = [
        f"{name} {gets} {division.result.get(name, 0) - division.initial.get(name, 0)} ({division.replicas} * "
        f"{weight}/{total} = {division.replicas * weight / total if total else 0:.2f})"
        for name, weight in division.weights.items()
        if weight
    ]
    kept = listed(f"{name} keeps {count}" for name, count in division.initial.items() if count)
    number = counted(division.replicas, f"{'more ' * bool(kept)}replica")
    return f"{number} {divided} by weight: {', '.join(parts)}{'. ' * bool(kept)}{kept}."


def verdicts_of(snapshot: Snapshot, term: TermTrace) -> list[ClusterVerdict]:
    """Verdicts in the order in which they are shown: kept clusters first, then by plug-in and reason."""
    kept, found = tuple(sorted(term.candidates)), defaultdict[tuple[str, str], list[str]](list)
    for name in snapshot.clusters:
        if name in term.candidates:
            continue
        said = term.rejected.get(name)
        plugin, _, reason = said.partition(": ") if said else ("Candidates", "", _why_no_candidate(snapshot, name))
        found[plugin, reason].append(name)
    refused = [ClusterVerdict(tuple(sorted(names)), *why) for why, names in sorted(found.items())]
    return [ClusterVerdict(kept), *refused] if kept else refused


def _why_no_candidate(snapshot: Snapshot, name: str) -> str:
    """Reason of a cluster that no plug-in was asked about."""
    cluster = snapshot.clusters[name]
    if cluster.is_being_deleted:
        return "is being unjoined"
    if looks_dead(cluster):
        return "is down"
    if cluster.has_no_execute:
        return "a copy would have to leave at once"
    return "is not asked for the missing replicas"
