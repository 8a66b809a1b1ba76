"""Replicas of a divided template that find a place leave a lost cluster; those that find none stay there."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubeapi.core import Taint
from leeward.api.cluster import Cluster
from leeward.api.policy import (
    ClusterFailover,
    FailoverBehavior,
    ReplicaSchedulingStrategy,
    StatePreservation,
    StatePreservationRule,
)
from leeward.api.work import AggregatedStatusItem, ResourceBinding, ResourceBindingStatus
from leeward.core import placement
from leeward.core.execution.works import replicas_by_cluster
from leeward.core.placement import Decision, PlacementSettings, Snapshot
from tests.builders import aggregated, at, binding, cluster, dead, duplicated, fleet, targets, works
from tests.rooms import AGGREGATED, DYNAMIC, roomy, spread

SETTINGS = PlacementSettings()
DRAIN = Taint(key="leeward.dev/drain", effect="NoExecute", time_added=at(0))


def decide(bound: ResourceBinding, *clusters: Cluster, seconds: float = 300) -> Decision:
    return placement.decide(Snapshot(bound, fleet(*clusters), settings=SETTINGS, now=at(seconds)))


def replicas(decision: Decision) -> dict[str, int]:
    return {target.name: target.replicas for target in decision.clusters}


def after(bound: ResourceBinding, decision: Decision) -> ResourceBinding:
    """The binding with the decision written to it."""
    spec = msgspec.structs.replace(
        bound.spec, clusters=decision.clusters, graceful_eviction_tasks=decision.eviction_tasks
    )
    return aggregated(msgspec.structs.replace(bound, spec=spec))


@pytest.mark.parametrize("strategy", [DYNAMIC, AGGREGATED])
def test_s11_replicas_that_find_room_leave_and_the_others_stay(strategy: ReplicaSchedulingStrategy) -> None:
    decision = decide(spread(strategy, {"a": 5, "b": 2}), dead("a"), roomy(cluster("b"), 3))
    assert replicas(decision) == {"a": 2, "b": 5}
    (task,) = decision.eviction_tasks
    assert (task.from_cluster, task.replicas) == ("a", 3)
    assert decision.held is not None
    assert decision.held.reason == "NoPlaceToGo"
    assert "2 replicas stay in a (cluster.karmada.io/not-ready" in decision.held.message


def test_s11_what_stayed_follows_when_room_appears() -> None:
    bound = spread(DYNAMIC, {"a": 5, "b": 2})
    partly = after(bound, decide(bound, dead("a"), roomy(cluster("b"), 3)))
    waiting = decide(partly, dead("a"), roomy(cluster("b"), 0), seconds=310)
    assert replicas(waiting) == {"a": 2, "b": 5}
    assert waiting.eviction_tasks == partly.spec.graceful_eviction_tasks
    decision = decide(partly, dead("a"), roomy(cluster("b"), 4), seconds=320)
    assert replicas(decision) == {"b": 7}
    (task,) = decision.eviction_tasks
    assert (task.from_cluster, task.replicas, task.creation_timestamp) == ("a", 5, at(320)), "one task for both parts"
    assert decision.held is None


def test_s11_without_any_room_nothing_moves() -> None:
    decision = decide(spread(DYNAMIC, {"a": 5, "b": 2}), dead("a"), roomy(cluster("b"), 0))
    assert (replicas(decision), decision.eviction_tasks) == ({"a": 5, "b": 2}, ())
    assert decision.held is not None
    assert "5 replicas stay in " in decision.held.message


def test_s2_no_part_moves_where_a_spread_constraint_would_not_be_met() -> None:
    decision = decide(spread(DYNAMIC, {"a": 5, "b": 2}, groups=(2, 2)), dead("a"), roomy(cluster("b"), 3))
    assert replicas(decision) == {"a": 5, "b": 2}


def test_what_stays_of_two_clusters_stays_where_it_still_runs() -> None:
    drained = cluster("a", taints=(DRAIN,))
    decision = decide(spread(DYNAMIC, {"a": 3, "b": 3, "c": 1}), drained, dead("b"), roomy(cluster("c"), 4))
    assert replicas(decision) == {"a": 2, "c": 5}
    assert {task.from_cluster: task.replicas for task in decision.eviction_tasks} == {"a": 1, "b": 3}


def test_s1_a_copy_that_leaves_in_part_does_not_shrink_before_its_replacement_is_healthy() -> None:
    bound = spread(DYNAMIC, {"a": 5, "b": 2})
    drained, other = cluster("a", taints=(DRAIN,)), cluster("b")
    partly = after(bound, decide(bound, drained, roomy(other, 3)))
    assert replicas_by_cluster(partly.spec) == {"a": 5, "b": 5}
    fewer = placement.decide(
        Snapshot(partly, fleet(drained, roomy(other, 0)), works({"a": 5, "b": 4}), settings=SETTINGS, now=at(2_000))
    )
    assert fewer.finished == (), "nor by time"
    done = placement.decide(
        Snapshot(partly, fleet(drained, roomy(other, 0)), works({"a": 5, "b": 5}), settings=SETTINGS, now=at(2_000))
    )
    assert done.finished == ("a",)
    assert replicas_by_cluster(after(partly, done).spec) == {"a": 2, "b": 5}


def test_recovery_gives_a_part_back_to_the_copy_that_it_left() -> None:
    bound = spread(DYNAMIC, {"a": 5, "b": 2})
    partly = after(bound, decide(bound, dead("a"), roomy(cluster("b"), 3)))
    decision = placement.decide(
        Snapshot(partly, fleet(cluster("a"), cluster("b")), works({"a": 5, "b": 2}), settings=SETTINGS, now=at(400))
    )
    assert (decision.withdrawn, replicas(decision), decision.eviction_tasks) == (("a",), {"a": 5, "b": 2}, ())


def test_a_cluster_that_is_back_takes_in_what_found_no_place_while_it_was_barred() -> None:
    bound = spread(DYNAMIC, {"a": 2, "b": 1})
    leaving = after(bound, decide(bound, dead("a"), roomy(cluster("b"), 2)))
    more = aggregated(msgspec.structs.replace(leaving, spec=msgspec.structs.replace(leaving.spec, replicas=4)))
    decision = placement.decide(
        Snapshot(
            more, fleet(cluster("a"), roomy(cluster("b"), 0)), works({"a": 2, "b": 3}), settings=SETTINGS, now=at(400)
        )
    )
    assert (decision.withdrawn, replicas(decision)) == (("a",), {"a": 1, "b": 3})
    assert [task.replicas for task in decision.eviction_tasks] == [1], "the rest leaves as was decided"


def test_s3_a_part_that_stays_may_be_all_that_is_asked_for() -> None:
    """The rest of the result was divided as if no replicas were asked for, and got targets of none."""
    drained, back, other = cluster("a", taints=(DRAIN,)), cluster("a"), cluster("b")
    bound = spread(DYNAMIC, {"a": 3, "b": 1})
    partly = after(bound, decide(bound, drained, roomy(other, 1)))
    assert replicas_by_cluster(partly.spec) == {"a": 3, "b": 2}
    fewer = msgspec.structs.replace(partly, spec=msgspec.structs.replace(partly.spec, replicas=2))
    decision = decide(fewer, back, roomy(other, 0))
    assert (replicas(decision), [task.replicas for task in decision.eviction_tasks]) == ({"a": 2}, [1])
    done = placement.decide(
        Snapshot(after(fewer, decision), fleet(back, roomy(other, 0)), works({"a": 3}), settings=SETTINGS, now=at(400))
    )
    assert (done.finished, replicas(done)) == (("a",), {"a": 2}), "what leaves is asked for no more"


@given(
    held=st.lists(st.integers(1, 12), min_size=2, max_size=5),
    rooms=st.lists(st.integers(0, 8), min_size=5, max_size=5),
    lost=st.integers(1, 2),
    strategy=st.sampled_from([DYNAMIC, AGGREGATED]),
)
def test_s3_s11_as_many_replicas_move_as_find_room(
    held: list[int], rooms: list[int], lost: int, strategy: ReplicaSchedulingStrategy
) -> None:
    names = "abcde"[: len(held)]
    before = dict(zip(names, held, strict=True))
    bound = spread(strategy, before)
    alive = names[lost:]
    others = [roomy(cluster(name), rooms[index]) for index, name in enumerate(alive)]
    decision = decide(bound, *(dead(name) for name in names[:lost]), *others)
    now = replicas(decision)
    room = sum(rooms[: len(alive)])
    leaving = sum(before[name] for name in names[:lost])
    moved = {task.from_cluster: task.replicas or 0 for task in decision.eviction_tasks}
    assert sum(now.values()) == sum(held)
    assert sum(moved.values()) == (min(room, leaving) if alive else 0)
    assert all(now.get(name, 0) + moved.get(name, 0) == before[name] for name in names[:lost])
    assert all(now[name] >= before[name] for name in alive), "C2"
    assert (decision.held is None) == (bool(alive) and room >= leaving)


def test_s11_a_cluster_that_looks_dead_is_no_place_to_go_even_before_its_taint_is_written() -> None:
    bound = spread(AGGREGATED, {"member1": 2})
    unseen, alive = roomy(cluster("member2", ready="False"), 9), roomy(cluster("member3"), 2)
    drained = cluster("member1", taints=(DRAIN,))
    assert replicas(decide(bound, drained, unseen, alive)) == {"member3": 2}
    held = decide(bound, drained, unseen)
    assert (replicas(held), held.eviction_tasks) == ({"member1": 2}, ())
    assert held.held is not None


def test_scaling_down_keeps_the_copies_that_live_and_not_the_part_that_stays_in_a_dead_cluster() -> None:
    bound = spread(DYNAMIC, {"a": 3, "b": 1})
    partly = decide(bound, dead("a"), roomy(cluster("b"), 2))
    assert replicas(partly) == {"a": 1, "b": 3}
    bound = after(bound, partly)
    bound = msgspec.structs.replace(bound, spec=msgspec.structs.replace(bound.spec, replicas=1))
    assert replicas(decide(bound, dead("a"), roomy(cluster("b"), 0))) == {"b": 1}


def stateful(reported: AggregatedStatusItem) -> ResourceBinding:
    """A copy in `a` whose job id is to be preserved."""
    rules = (StatePreservationRule("job", "{ .job.id }"),)
    failover = FailoverBehavior(cluster=ClusterFailover("Directly", StatePreservation(rules)))
    bound = binding(duplicated("a", "b", groups=1), 1, targets(a=1), failover=failover)
    return msgspec.structs.replace(bound, status=ResourceBindingStatus(aggregated_status=(reported,)))


def test_the_state_of_a_copy_in_a_lost_cluster_goes_to_its_replacement() -> None:
    bound = stateful(AggregatedStatusItem(cluster_name="a", status={"job": {"id": "42"}}))
    decision = decide(bound, dead("a"), cluster("b"))
    (task,) = decision.eviction_tasks
    assert (replicas(decision), task.reason) == ({"b": 1}, "TaintUntolerated")
    assert (task.preserved_label_state, task.clusters_before_failover) == ({"job": "42"}, ("a",))


def test_a_copy_whose_state_cannot_be_preserved_stays_and_says_so() -> None:
    decision = decide(stateful(AggregatedStatusItem(cluster_name="a")), dead("a"), cluster("b"))
    assert replicas(decision) == {"a": 1}
    assert decision.held is not None
    assert decision.held.reason == "StateNotPreserved"
    assert "the label job: the status in a has not been collected yet" in decision.held.message
