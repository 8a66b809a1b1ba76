"""A decision that a quota has bounded: what there is moves, and nothing grows."""

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from kubeapi.meta import ObjectMeta
from leeward.api.cluster import Cluster
from leeward.api.meta import Condition, find_condition
from leeward.api.work import Binding, GracefulEvictionTask, ReplicaRequirements, ResourceBinding, Work
from leeward.core.binding_status import status_after
from leeward.core.placement import Decision, EvictionBudget, Snapshot, decide
from leeward.core.placement.check import check
from leeward.core.placement.snapshot import UNLIMITED
from leeward.core.placement.within_usage import decide_within_usage
from leeward.core.scheduling import Placed, Trace, Unplaceable
from leeward.planning.recording import decode_recorded, encode_snapshot
from tests.builders import aggregated, at, binding, cluster, dead, divided, duplicated, fleet, targets, works

HALVES = divided({"member1": 1, "member2": 1})
NO_WORKS: Mapping[str, Work] = {}
NAMES = ("member1", "member2", "member3", "member4")


def bounded(placed: ResourceBinding, *clusters: Cluster, copies: Mapping[str, Work] = NO_WORKS) -> Decision:
    """The decision, which breaks no invariant and is the same of a recorded snapshot."""
    snapshot = Snapshot(placed, fleet(*clusters), copies, quota_refusal="exceeded", now=at(300))
    decision = decide(snapshot)
    assert check(snapshot, decision) == ()
    assert decide(decode_recorded(encode_snapshot(snapshot))[0]) == decision
    assert decision.quota_refusal == "exceeded"
    return decision


def replicas(decision: Decision) -> dict[str, int]:
    return {target.name: target.replicas for target in decision.clusters}


def within(placed: ResourceBinding, decided: Decision) -> tuple[Decision, Binding]:
    """Decision that comes of another, and the binding that was asked about."""
    asked: list[Binding] = []

    def decide_so(snapshot: Snapshot, wanted: Binding) -> Decision:
        assert wanted is placed
        asked.append(snapshot.binding)
        return decided

    snapshot = Snapshot(placed, fleet(*map(cluster, NAMES)), quota_refusal="exceeded", now=at(300))
    return decide_within_usage(snapshot, decide_so), asked[0]


def test_what_would_grow_stays_with_all_that_was_decided_of_its_evictions() -> None:
    tasks = (evicted("member3", 1), evicted("member4", 1))
    placed = binding(HALVES, 6, targets(member1=2), tasks)
    held = Condition("leeward.dev/EvictionHeld", "True", "NoPlace")
    grown = targets(member1=3)
    told: dict[str, Any] = {"held": held, "finished": ("member4",), "wake_at": at(400)}
    decided = Decision(grown, (), Placed(grown), foreign=True, foreign_held=True, **told)
    found, _ = within(placed, decided)
    assert found == Decision(
        placed.spec.clusters, tasks[:1], foreign=True, foreign_held=True, quota_refusal="exceeded", **told
    )
    nowhere = Decision((), (), Unplaceable("Error", "none", {}))
    assert within(binding(HALVES, 6), nowhere)[0] == Decision((), (), quota_refusal="exceeded")


def test_copies_are_asked_for_and_replaced_as_large_as_they_are() -> None:
    placed = binding(duplicated(*NAMES), 6, targets(member1=4, member2=3))
    left = (evicted("member1", 4),)
    found, asked = within(placed, Decision(targets(member2=6, member3=6, member4=6), left))
    assert asked.spec.replicas == 4
    assert replicas(found) == {"member2": 3, "member3": 4}
    fewer, _ = within(placed, Decision(targets(member1=6, member2=2), ()))
    assert replicas(fewer) == {"member1": 4, "member2": 2}
    shared = binding(HALVES, 6, targets(member1=2, member2=1))
    assert within(shared, Decision(shared.spec.clusters, ()))[1].spec.replicas == 3


def test_s2_what_is_left_of_a_decision_is_spread_as_the_policy_asks_or_all_stays() -> None:
    placed = binding(duplicated(*NAMES, groups=2), 6, targets(member1=4, member2=4))
    assert replicas(within(placed, Decision(targets(member2=6), ()))[0]) == {"member1": 4, "member2": 4}
    one_is_left = Decision(targets(member2=6), (evicted("member1", 4),))
    assert replicas(within(placed, one_is_left)[0]) == {"member1": 4, "member2": 4}


def test_what_was_never_placed_stays_so() -> None:
    decision = bounded(binding(HALVES, 6), cluster("member1"), cluster("member2"))
    assert (decision.clusters, decision.result) == ((), None)


def test_more_replicas_are_not_placed_and_the_condition_says_why() -> None:
    placed = binding(HALVES, 6, targets(member1=2, member2=2))
    decision = bounded(placed, cluster("member1"), cluster("member2"))
    assert replicas(decision) == {"member1": 2, "member2": 2}
    status = status_after(placed.status, placed, decision, at(300))
    said = find_condition(status.conditions, "Scheduled")
    assert said is not None
    assert (said.status, said.reason, said.message) == ("False", "QuotaExceeded", "exceeded")
    assert status.scheduler_observed_generation == 0


def test_divided_replicas_leave_a_dead_cluster_as_many_as_they_are() -> None:
    placed = binding(HALVES, 6, targets(member1=2, member2=2))
    decision = bounded(placed, dead("member1"), cluster("member2"))
    assert replicas(decision) == {"member2": 4}
    assert [task.from_cluster for task in decision.eviction_tasks] == ["member1"]


def test_a_lost_copy_is_replaced_by_one_of_its_size_though_more_clusters_match_now() -> None:
    placed = binding(duplicated(*NAMES), 6, targets(member1=4, member2=4))
    decision = bounded(placed, dead("member1"), *map(cluster, NAMES[1:]))
    assert replicas(decision) == {"member2": 4, "member3": 4}
    assert [task.from_cluster for task in decision.eviction_tasks] == ["member1"]


def test_s1_a_refused_placement_takes_nothing_out_of_clusters_that_it_names_no_more() -> None:
    placed = binding(duplicated("member1", "member2"), 5, targets(member1=1, member2=1, member3=3))
    decision = bounded(placed, *map(cluster, NAMES))
    assert (replicas(decision), decision.eviction_tasks) == ({"member1": 1, "member2": 1, "member3": 3}, ())
    fewer = binding(duplicated("member1", "member2"), 2, targets(member1=1, member2=1, member3=3))
    assert replicas(bounded(fewer, *map(cluster, NAMES))) == {"member1": 1, "member2": 1, "member3": 2}


def test_s1_a_refused_placement_takes_no_copy_away_for_a_cluster_that_it_names_anew() -> None:
    placed = binding(duplicated("member1", "member2", "member4"), 1, targets(member2=1, member3=1))
    assert replicas(bounded(placed, *map(cluster, NAMES))) == {"member2": 1, "member3": 1}


def test_a_new_cluster_takes_over_what_is_evicted_and_not_what_the_placement_names_no_more() -> None:
    placed = binding(duplicated("member1", "member2", "member4"), 4, targets(member1=2, member2=2, member3=4))
    decided = Decision(targets(member1=4, member4=4), (evicted("member2", 2),))
    assert replicas(within(placed, decided)[0]) == {"member1": 2, "member3": 4, "member4": 2}
    last = Decision(targets(member1=4, member4=4), (evicted("member3", 4),))
    assert replicas(within(placed, last)[0]) == {"member1": 2, "member2": 2, "member4": 4}


def unjoining(name: str) -> Cluster:
    return msgspec.structs.replace(cluster(name), metadata=ObjectMeta(name=name, deletion_timestamp=at(200)))


@pytest.mark.parametrize("there", [[], [unjoining("member3")]], ids=["gone", "being unjoined"])
def test_what_is_gone_or_leaves_the_fleet_is_not_kept_by_a_quota(there: list[Cluster]) -> None:
    placed = binding(duplicated("member1", "member2"), 5, targets(member1=1, member2=1, member3=3))
    snapshot = Snapshot(placed, fleet(cluster("member1"), cluster("member2"), *there), quota_refusal="no", now=at(300))

    def decide_so(_: Snapshot, wanted: Binding) -> Decision:
        return Decision(targets(member1=5, member2=5), ())

    assert replicas(decide_within_usage(snapshot, decide_so)) == {"member1": 1, "member2": 1}


def test_no_cluster_is_added_where_none_is_lost() -> None:
    placed = binding(duplicated(*NAMES), 4, targets(member1=4, member2=4))
    decision = bounded(placed, *map(cluster, NAMES))
    assert replicas(decision) == {"member1": 4, "member2": 4}


def test_what_would_be_spread_too_little_stays() -> None:
    placed = binding(duplicated(*NAMES, groups=3), 4, targets(member1=4, member2=4))
    decision = bounded(placed, dead("member1"), *map(cluster, NAMES[1:]))
    assert (replicas(decision), decision.eviction_tasks) == ({"member1": 4, "member2": 4}, ())


def test_an_eviction_that_is_under_way_is_not_forgotten_where_all_stays() -> None:
    task = GracefulEvictionTask("member4", "TaintUntolerated", "TaintManager", "Gracefully", creation_timestamp=at(299))
    placed = binding(duplicated(*NAMES, groups=3), 4, targets(member1=4, member2=4), (task,))
    decision = bounded(placed, dead("member1"), cluster("member2"), cluster("member3"), dead("member4"))
    assert (replicas(decision), decision.eviction_tasks) == ({"member1": 4, "member2": 4}, (task,))


def evicted(name: str, replicas: int) -> GracefulEvictionTask:
    return GracefulEvictionTask(
        name, "TaintUntolerated", "TaintManager", "Gracefully", replicas=replicas, creation_timestamp=at(0)
    )


@pytest.mark.parametrize(("assigned", "left"), [(4, ["member1"]), (6, [])], ids=["refused", "replaced"])
def test_s1_an_eviction_does_not_end_while_the_quota_refuses_what_replaces_it(assigned: int, left: list[str]) -> None:
    placed = aggregated(binding(HALVES, 6, targets(member2=assigned), (evicted("member1", 3),)))
    copies = works({"member1": 3, "member2": assigned})
    decision = bounded(placed, dead("member1"), cluster("member2"), copies=copies)
    assert replicas(decision) == {"member2": assigned}
    assert [task.from_cluster for task in decision.eviction_tasks] == left
    assert [*left, *decision.finished] == ["member1"]


@pytest.mark.parametrize("turn_at", [9_000, None], ids=["another waits for its turn", "another goes"])
def test_s1_nor_while_another_one_waits_for_its_turn(turn_at: float | None) -> None:
    """The replicas that were left serve nothing, and four of six replicas are all that the quota allows."""
    placement = divided({"member1": 1, "member2": 1, "member3": 1})
    placed = aggregated(binding(placement, 6, targets(member2=2, member3=2), (evicted("member1", 3),)))
    copies = works({"member1": 0, "member2": 2, "member3": 2})
    clusters = fleet(cluster("member1"), cluster("member2"), dead("member3"))
    budget = UNLIMITED if turn_at is None else EvictionBudget(at(turn_at))
    snapshot = Snapshot(placed, clusters, copies, budget=budget, quota_refusal="exceeded", now=at(2_000))
    decision = decide(snapshot)
    left = {task.from_cluster for task in decision.eviction_tasks}
    assert (left, decision.finished) == ({"member1"} if turn_at else {"member1", "member3"}, ())
    assert set(decision.deferred) == ({"member3"} if turn_at else set())


def test_why_it_goes_where_it_goes_is_told_within_a_quota_too() -> None:
    trace = Trace()
    placed = binding(HALVES, 6, targets(member1=2, member2=2))
    clusters = fleet(dead("member1"), cluster("member2"))
    decide(Snapshot(placed, clusters, quota_refusal="exceeded", now=at(300)), trace)
    assert [list(term.candidates) for term in trace.terms] == [["member2"]]


def test_s1_an_eviction_does_not_end_where_nothing_is_assigned_yet() -> None:
    placed = binding(
        HALVES, 6, targets(member2=0), (evicted("member1", 3),), replica_requirements=ReplicaRequirements()
    )
    decision = bounded(aggregated(placed), dead("member1"), cluster("member2"), copies=works({"member1": 3}))
    assert ([task.from_cluster for task in decision.eviction_tasks], decision.finished) == (["member1"], ())


@pytest.mark.parametrize("wanted", [4, 6], ids=["as many as there are", "more than there are"])
def test_s1_a_copy_that_comes_back_and_has_no_room_beside_its_replacement_is_not_forgotten(wanted: int) -> None:
    task = evicted("member1", 4)
    placed = aggregated(binding(duplicated(*NAMES), wanted, targets(member2=4), (task,)))
    copies = works({"member1": 4, "member2": 0})
    decision = bounded(placed, cluster("member1"), cluster("member2"), copies=copies)
    assert (replicas(decision), decision.eviction_tasks, decision.withdrawn) == ({"member2": 4}, (task,), ())


def test_a_copy_that_comes_back_in_the_place_of_its_replacement_does_so_within_a_quota() -> None:
    placed = aggregated(binding(HALVES, 8, targets(member2=4), (evicted("member1", 4),)))
    copies = works({"member1": 4, "member2": 0})
    decision = bounded(placed, cluster("member1"), cluster("member2"), copies=copies)
    assert (replicas(decision), decision.eviction_tasks, decision.withdrawn) == ({"member1": 4}, (), ("member1",))


@pytest.mark.parametrize("assigned", [{}, {"member2": 4}], ids=["nothing else", "its replacement"])
def test_an_eviction_whose_copy_may_not_come_back_says_why_it_is_not_finished(assigned: dict[str, int]) -> None:
    """The quota has no room for it beside the assigned replicas, though its cluster is well again."""
    task = evicted("member1", 4)
    placed = aggregated(binding(duplicated("member1", "member2"), 6, targets(**assigned), (task,)))
    copies = works({"member1": 4, "member2": 0})
    snapshot = Snapshot(
        placed, fleet(cluster("member1"), cluster("member2")), copies, quota_refusal="exceeded", now=at(9_000)
    )
    decision = decide(snapshot)
    assert (replicas(decision), decision.eviction_tasks, decision.withdrawn) == (assigned, (task,), ())
    assert decision.held is not None
    assert decision.held.reason == "ReplacementMissing"
