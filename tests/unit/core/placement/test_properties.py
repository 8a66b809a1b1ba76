"""Properties of every decision when clusters die: S2, S3, S11 and C2, from placements that the scheduler made."""

from hypothesis import given
from msgspec.structs import replace

from leeward.api.work import ResourceBindingSpec
from leeward.core.placement import Decision, Snapshot, decide
from leeward.core.scheduling import Placed
from leeward.core.scheduling.cluster_matching import cluster_matches
from leeward.core.scheduling.groups import groupings
from leeward.core.scheduling.selection import ignores_constraints
from leeward.planning import Fleet
from tests.builders import at
from tests.outages import Outage, directly, outages

LATER = 10_000
"""Seconds after which every toleration has ended."""


def decided(outage: Outage, seconds: float = LATER) -> Decision:
    return decide(Snapshot(outage.binding, Fleet(outage.fleet.values()), now=at(seconds)))


@given(outages())
def test_nothing_is_evicted_without_a_place_to_go_s11(outage: Outage) -> None:
    spec = outage.binding.spec
    decision = decided(outage)
    evicted = {eviction.cluster for eviction in decision.evicted}
    if not evicted or spec.failover is not None:
        return
    assert isinstance(decision.result, Placed)
    placed = {target.name: target.replicas for target in decision.clusters}
    assert placed
    assert evicted & set(placed) == parts_left(outage, decision)
    assert set(placed) - outage.dead, "a place to go is alive"
    if spec.is_divided:
        assert sum(placed.values()) == spec.replicas
    else:
        assert len(placed) >= least_copies(spec)


def parts_left(outage: Outage, decision: Decision) -> set[str]:
    """The clusters that replicas leave in part: the others stay for want of a place, and the binding says so."""
    moved = {task.from_cluster: task.replicas or 0 for task in decision.eviction_tasks}
    parts = {target.name: target.replicas for target in decision.clusters if target.name in moved}
    assert all(outage.before[name] == count + moved[name] for name, count in parts.items())
    assert not parts or (outage.binding.spec.is_divided and decision.held is not None)
    return set(parts)


def least_copies(spec: ResourceBindingSpec) -> int:
    assert spec.placement is not None
    if ignores_constraints(spec.placement.replica_scheduling):
        return 1
    return max((constraint.min_groups for constraint in spec.placement.spread_constraints), default=1)


@given(outages())
def test_what_is_not_evicted_stays_and_says_why_s11(outage: Outage) -> None:
    decision = decided(outage)
    evicted = {eviction.cluster for eviction in decision.evicted}
    staying = outage.dead & set(outage.before) - evicted
    placed = {target.name: target.replicas for target in decision.clusters}
    if staying and outage.binding.spec.failover is None and isinstance(decision.result, Placed | None):
        assert decision.held is not None
        assert {name: placed.get(name) for name in staying} == {name: outage.before[name] for name in staying}


@given(outages())
def test_a_directly_purged_copy_goes_at_once_s11(outage: Outage) -> None:
    spec = replace(outage.binding.spec, failover=directly)
    outage = Outage(replace(outage.binding, spec=spec), outage.fleet)
    decision = decided(outage)
    assert {e.cluster for e in decision.evicted} == outage.dead & set(outage.before)


@given(outages())
def test_a_decision_shrinks_no_healthy_cluster_c2(outage: Outage) -> None:
    decision = decided(outage)
    placed = {target.name: target.replicas for target in decision.clusters}
    for name, replicas in outage.before.items():
        if name not in outage.dead and decision.evicted:
            assert placed[name] >= replicas


@given(outages())
def test_every_new_assignment_is_legal_s2(outage: Outage) -> None:
    placement = outage.binding.spec.placement
    assert placement is not None
    assert placement.cluster_affinity is not None
    decision = decided(outage)
    leaving = {task.from_cluster for task in decision.eviction_tasks} - parts_left(outage, decision)
    for target in decision.clusters:
        assert cluster_matches(outage.fleet[target.name], placement.cluster_affinity)
        assert target.name not in leaving
        assert target.name in outage.before or target.name not in outage.dead
        for grouping in groupings(placement.spread_constraints):
            assert any(grouping.values(outage.fleet[target.name])) or not grouping.constraint.spread_by_field


@given(outages())
def test_replicas_are_conserved_or_the_binding_says_so_s3(outage: Outage) -> None:
    spec = outage.binding.spec
    decision = decided(outage)
    counts = [target.replicas for target in decision.clusters]
    assert all(count >= 0 for count in counts)
    if isinstance(decision.result, Placed) and spec.is_divided:
        assert sum(counts) == spec.replicas


@given(outages())
def test_before_tolerations_end_nothing_is_evicted_and_it_is_known_when_c1(outage: Outage) -> None:
    decision = decided(outage, seconds=299)
    assert decision.evicted == ()
    if outage.dead & set(outage.before):
        assert decision.wake_at == at(300)
