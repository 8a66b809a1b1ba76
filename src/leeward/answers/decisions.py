"""The scheduler's decision about a binding of a picture, asked with its reasons: the same functions as in production.

    fleet_of       the clusters as the planner keeps them, with what is on its way there
    snapshot_of    all that the decision about one binding is made on
    explained      the decision now, and why; explained_then: the one that is to come
    as_written     the decision that is written: the same, unless it is refused
    expected_of    the same picture with the taints that outages will have led to
    foreseen       what will become of copies in clusters that are lost

What other bindings have been given and their clusters do not report yet is reserved: a copy whose Work has not been
applied there.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

import msgspec

from leeward.answers.fleet_state import BindingName, FleetState
from leeward.answers.moving_group import member_of
from leeward.api.cluster import Cluster
from leeward.api.work import Binding, ResourceBindingSpec
from leeward.core.cluster_health.brake import holds
from leeward.core.cluster_health.outage import OutageReport, has_outage
from leeward.core.cluster_health.watched_time import Attention
from leeward.core.outlook import expected_taints, foresee
from leeward.core.placement import Decision, PlacementSettings, Snapshot
from leeward.core.placement.cause import with_cause
from leeward.core.placement.check import check, refused
from leeward.core.placement.replacement import place_anew
from leeward.core.placement.situation import situation_kind
from leeward.core.scheduling import Placed, Trace, Unplaceable
from leeward.core.scheduling.conditions import standing_refusal
from leeward.planning.batch import owner_of
from leeward.planning.fleet import Fleet, placement_fleet
from leeward.planning.group_decisions import decide_together
from leeward.planning.workload_groups import WorkloadGroups


@dataclass(frozen=True, slots=True)
class Explained:
    """A decision, what the scheduling pipeline answered, and its reasons.

    `asked_anew`: nothing is due, and the answer is what placing the binding once more would give. `at` is the instant
    of the answer, where that is yet to come.
    """

    decision: Decision
    result: Placed | Unplaceable
    trace: Trace
    asked_anew: bool = False
    at: datetime | None = None


def fleet_of(state: FleetState, clusters: Iterable[Cluster] | None = None) -> Fleet:
    """Fleet of the picture's clusters, or of these in their place."""
    settings = state.settings
    groups = WorkloadGroups(state.bindings.values()) if settings.workload_affinity else None
    given = state.clusters.values() if clusters is None else clusters
    fleet = placement_fleet(given, groups=groups, multiple_pod_templates=settings.multiple_pod_templates)
    for binding in state.bindings.values():
        fleet.claims.put(binding.spec.resource, state.held_claims(binding))
        fleet.together.put(binding)
    fleet.together.look = partial(member_of, state, state.bindings)
    reserve_coming(fleet, state.coming)
    return fleet


def reserve_coming(fleet: Fleet, coming: Iterable[tuple[Binding, ResourceBindingSpec]]) -> None:
    """Reserves what is on its way: bindings, with their specs without it."""
    for binding, there in coming:
        fleet.reserve(owner_of(binding), there, binding.spec.clusters)


def is_braked(state: FleetState, clusters: Iterable[Cluster]) -> bool:
    """Tells whether the brake holds evictions, for clusters that are so."""
    return holds(state.recorded.brake, clusters, state.settings.brake)


def snapshot_of(
    state: FleetState,
    key: BindingName,
    fleet: Fleet,
    now: datetime | None = None,
    settings: PlacementSettings | None = None,
    binding: Binding | None = None,
) -> Snapshot:
    """Snapshot of a binding of the picture, or of another one in its place, on a fleet on which nothing else was
    decided."""
    given = state.bindings[key] if binding is None else binding
    fleet.release(owner_of(given), unless_at=given.spec.clusters)
    return Snapshot(
        given,
        fleet,
        state.works_of(key),
        is_braked(state, fleet.values()),
        attention=state.recorded.attention,
        settings=state.settings.placement if settings is None else settings,
        quota_refusal=standing_refusal(given.status.conditions),
        brake_reason=state.recorded.brake.reason,
        now=state.as_of if now is None else now,
    )


def explained(snapshot: Snapshot) -> Explained:
    """Decision of now, with its reasons; where nothing is due, those of placing the binding once more."""
    trace = Trace()
    decision = decide_together(snapshot, trace)
    answer = _answer_of(decision)
    if trace.terms and answer is not None:
        return Explained(decision, answer, trace)
    trace, binding, exact = Trace(), snapshot.binding, not situation_kind(snapshot.settings).spares_the_living
    result = place_anew(binding, binding.spec, snapshot.clusters, snapshot.now, trace=trace, exact=exact)
    if isinstance(result, Unplaceable):
        result = with_cause(result, binding.spec, snapshot.clusters)
    return Explained(decision, result, trace, asked_anew=True)


def as_written(snapshot: Snapshot, asked: Explained) -> Explained:
    """The decision as the scheduler writes it: one that would break an invariant is refused, and nothing moves."""
    violations = check(snapshot, asked.decision)
    return replace(asked, decision=refused(snapshot, violations)) if violations else asked


def explained_then(state: FleetState, key: BindingName, now: Decision, report: OutageReport | None) -> Explained | None:
    """Decision that will be made when a copy in a lost cluster is due, if that is to come, and why; beside what is
    `now`."""
    outlooks = () if report is None else report.outlooks
    instants = [outlook.at for outlook in outlooks if outlook.at is not None]
    due = min((instant for instant in instants if instant > state.as_of), default=None)
    if due is None:
        return None
    trace, attention = Trace(), Attention(state.recorded.attention.time)
    snapshot = snapshot_of(state, key, fleet_of(state, expected_of(state).values()), due)
    answer = _answer_of(decide_together(replace(snapshot, attention=attention), trace))
    return Explained(now, answer, trace, at=due) if trace.terms and answer is not None else None


def _answer_of(decision: Decision) -> Placed | Unplaceable | None:
    """Answer of the pipeline, where it was asked: of what is held, why there is no place."""
    if decision.result is None and decision.held is not None:
        return Unplaceable("Error", decision.held.message, {})
    return decision.result


def counted_by_sum(state: FleetState) -> FleetState:
    """The picture with room counted as the sum of what is free, and not by the grades of nodes."""
    clusters = tuple(
        msgspec.structs.replace(each, spec=msgspec.structs.replace(each.spec, resource_models=()))
        for each in state.recorded.clusters
    )
    return FleetState(msgspec.structs.replace(state.recorded, clusters=clusters))


def expected_of(state: FleetState) -> Mapping[str, Cluster]:
    """The clusters by name, with the taints that will be there if their outages last."""
    watched, expectation = state.recorded.attention.time, state.settings.expectation
    return {
        name: expected_taints(cluster, state.as_of, expectation, watched) if has_outage(cluster) else cluster
        for name, cluster in state.clusters.items()
    }


def foreseen(state: FleetState, key: BindingName, decision: Decision) -> OutageReport | None:
    """Report that the binding will give of its outages, see `core.outlook.foresee`."""
    snapshot = snapshot_of(state, key, fleet_of(state, expected_of(state).values()))
    then = replace(snapshot, attention=Attention(state.recorded.attention.time))
    return foresee(then, decision, decide_together)
