"""`decide_placement`: evict, place and finish as one decision."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leeward.api.meta import find_condition
from leeward.api.names import EVICTION_HELD_CONDITION
from leeward.api.policy import ClusterFailover, FailoverBehavior
from leeward.api.work import BindingSuspension, GracefulEvictionTask, ResourceBinding
from leeward.core.placement import Decision, PlacementSettings, decide_placement
from leeward.core.scheduling import Placed, Unplaceable
from tests.builders import at, binding, cluster, dead, divided, duplicated, fleet, reporting, targets

SETTINGS = PlacementSettings()
ONE_TO_TWO = divided({"member1": 1, "member2": 2})


def task(cluster: str, started: float = 0, **fields: object) -> GracefulEvictionTask:
    base = GracefulEvictionTask(
        cluster, "TaintUntolerated", "TaintManager", "Gracefully", creation_timestamp=at(started)
    )
    return msgspec.structs.replace(base, **fields)


def replicas(decision: Decision) -> dict[str, int]:
    return {target.name: target.replicas for target in decision.clusters}


def test_a_new_binding_is_divided_by_weight() -> None:
    decision = decide_placement(binding(ONE_TO_TWO, 3), fleet(cluster("member1"), cluster("member2")), at(0), SETTINGS)
    assert replicas(decision) == {"member1": 1, "member2": 2}


def test_nothing_moves_before_the_toleration_ends() -> None:
    placed = binding(ONE_TO_TWO, 3, targets(member1=1, member2=2))
    decision = decide_placement(placed, fleet(dead("member1"), cluster("member2")), at(299), SETTINGS)
    assert (replicas(decision), decision.eviction_tasks) == ({"member1": 1, "member2": 2}, ())
    assert decision.wake_at == at(300)


def test_when_the_toleration_ends_evicting_and_placing_are_one_decision() -> None:
    placed = binding(ONE_TO_TWO, 3, targets(member1=1, member2=2))
    decision = decide_placement(placed, fleet(dead("member1"), cluster("member2")), at(300), SETTINGS)
    assert replicas(decision) == {"member2": 3}
    (opened,) = decision.eviction_tasks
    assert (opened.from_cluster, opened.replicas, opened.reason) == ("member1", 1, "TaintUntolerated")
    assert (opened.producer, opened.purge_mode, opened.creation_timestamp) == ("TaintManager", "Gracefully", at(300))


def test_s11_nothing_is_evicted_when_there_is_no_place_to_go() -> None:
    placed = binding(ONE_TO_TWO, 3, targets(member1=1, member2=2))
    decision = decide_placement(placed, fleet(dead("member1"), dead("member2")), at(300), SETTINGS)
    assert (replicas(decision), decision.eviction_tasks) == ({"member1": 1, "member2": 2}, ())
    assert decision.held is not None
    assert decision.held.type == EVICTION_HELD_CONDITION
    assert "member1 (cluster.karmada.io/not-ready:NoExecute)" in decision.held.message


def test_s11_a_duplicated_template_stays_when_fewer_clusters_than_min_groups_fit() -> None:
    placed = binding(duplicated("member1", "member2", groups=2), 2, targets(member1=2, member2=2))
    decision = decide_placement(placed, fleet(dead("member1"), cluster("member2")), at(300), SETTINGS)
    assert (replicas(decision), decision.eviction_tasks) == ({"member1": 2, "member2": 2}, ())
    assert decision.held is not None


def test_a_duplicated_template_keeps_its_healthy_copy_and_gains_another() -> None:
    placement = duplicated("member1", "member2", "member3", "member5", groups=2)
    placed = binding(placement, 2, targets(member1=2, member2=2))
    others = [cluster(name) for name in ("member2", "member3", "member4", "member5")]
    decision = decide_placement(placed, fleet(dead("member1"), *others), at(300), SETTINGS)
    assert replicas(decision) == {"member2": 2, "member3": 2}


def test_with_directly_a_copy_leaves_even_without_a_place_to_go() -> None:
    failover = FailoverBehavior(cluster=ClusterFailover(purge_mode="Directly"))
    placed = binding(ONE_TO_TWO, 3, targets(member1=3), failover=failover)
    decision = decide_placement(placed, fleet(dead("member1"), dead("member2")), at(300), SETTINGS)
    assert replicas(decision) == {}
    assert [t.purge_mode for t in decision.eviction_tasks] == ["Directly"]
    assert isinstance(decision.result, Unplaceable)


def test_a_suspended_binding_is_not_evicted_because_it_could_not_be_placed() -> None:
    placed = binding(ONE_TO_TWO, 3, targets(member1=1, member2=2), suspension=BindingSuspension(scheduling=True))
    decision = decide_placement(placed, fleet(dead("member1"), cluster("member2")), at(300), SETTINGS)
    assert replicas(decision) == {"member1": 1, "member2": 2}
    assert decision.held is not None
    assert "suspended" in decision.held.message


def test_without_the_gate_nothing_is_evicted() -> None:
    placed = binding(ONE_TO_TWO, 3, targets(member1=1, member2=2))
    decision = decide_placement(
        placed, fleet(dead("member1"), cluster("member2")), at(9_999), PlacementSettings(evict=False)
    )
    assert replicas(decision) == {"member1": 1, "member2": 2}


def test_a_task_ends_when_the_replacement_is_seen_healthy() -> None:
    moved = binding(ONE_TO_TWO, 3, targets(member2=3), (task("member1"),))
    decision = _decide(reporting(moved, {"member1": 1, "member2": 3}))
    assert (decision.eviction_tasks, decision.finished) == ((), ("member1",))


@pytest.mark.parametrize(
    ("story", "report"),
    [
        ("a health reported before the replica was added", {"member2": 2}),
        ("an unhealthy replacement", {"member2": None}),
        ("no report", {}),
    ],
)
def test_s1_a_task_stays_open_on(story: str, report: dict[str, int | None]) -> None:
    moved = binding(ONE_TO_TWO, 3, targets(member2=3), (task("member1"),))
    assert len(_decide(reporting(moved, report)).eviction_tasks) == 1, story


def test_s1_health_that_was_aggregated_for_an_earlier_generation_is_no_health() -> None:
    moved = binding(ONE_TO_TWO, 3, targets(member2=3), (task("member1"),))
    assert len(_decide(reporting(moved, {"member2": 3}, generation=0)).eviction_tasks) == 1


def test_s1_an_empty_result_is_never_all_healthy() -> None:
    emptied = binding(ONE_TO_TWO, 3, (), (task("member1"),))
    decision = decide_placement(emptied, fleet(dead("member1"), dead("member2")), at(10_000), SETTINGS)
    assert len(decision.eviction_tasks) == 1


def test_a_task_ends_by_time_out_once_a_full_replacement_was_placed() -> None:
    moved = binding(ONE_TO_TWO, 3, targets(member2=3), (task("member1"),))
    assert len(_decide(moved, 600).eviction_tasks) == 1
    assert _decide(moved, 601).eviction_tasks == ()


@pytest.mark.parametrize(("suppress", "open_tasks"), [(True, 1), (False, 0)])
def test_suppress_deletion_overrules_everything(suppress: bool, open_tasks: int) -> None:
    moved = binding(ONE_TO_TWO, 3, targets(member2=3), (task("member1", suppress_deletion=suppress),))
    assert len(_decide(reporting(moved, {"member2": 3}), 10_000).eviction_tasks) == open_tasks


def test_after_recovery_nothing_moves_back() -> None:
    moved = binding(ONE_TO_TWO, 3, targets(member2=3))
    decision = decide_placement(moved, fleet(cluster("member1"), cluster("member2")), at(2_000), SETTINGS)
    assert (replicas(decision), decision.result) == ({"member2": 3}, None)


def test_a_duplicated_template_is_filled_up_again_after_recovery() -> None:
    moved = binding(duplicated("member1", "member2"), 2, targets(member2=2))
    decision = decide_placement(moved, fleet(cluster("member1"), cluster("member2")), at(2_000), SETTINGS)
    assert replicas(decision) == {"member1": 2, "member2": 2}


def test_a_deleted_cluster_is_left_whatever_its_taints() -> None:
    leaving = cluster("member1")
    leaving = msgspec.structs.replace(
        leaving, metadata=msgspec.structs.replace(leaving.metadata, deletion_timestamp=at(0))
    )
    placed = binding(ONE_TO_TWO, 3, targets(member1=1, member2=2))
    decision = decide_placement(placed, fleet(leaving, cluster("member2")), at(1), SETTINGS)
    assert replicas(decision) == {"member2": 3}


def _decide(moved: ResourceBinding, seconds: float = 1) -> Decision:
    return decide_placement(moved, fleet(dead("member1"), cluster("member2")), at(seconds), SETTINGS)


@given(
    weights=st.lists(st.integers(1, 9), min_size=2, max_size=7),
    wanted=st.integers(1, 40),
    victim=st.integers(0, 6),
    before=st.lists(st.integers(0, 20), min_size=7, max_size=7),
)
def test_s3_c2_a_failover_moves_all_replicas_and_shrinks_no_survivor(
    weights: list[int], wanted: int, victim: int, before: list[int]
) -> None:
    names = [f"member{number}" for number in range(len(weights))]
    lost = names[victim % len(names)]
    held = {name: count for name, count in zip(names, before, strict=False) if count}
    held[lost] = held.get(lost, 0) or 1
    placed = binding(divided(dict(zip(names, weights, strict=True))), sum(held.values()), targets(**held))
    world = fleet(dead(lost), *(cluster(name) for name in names if name != lost))
    decision = decide_placement(placed, world, at(300), SETTINGS)
    assert isinstance(decision.result, Placed)
    after = replicas(decision)
    assert sum(after.values()) == placed.spec.replicas
    assert lost not in after
    assert all(after.get(name, 0) >= count for name, count in held.items() if name != lost)
    assert find_condition((decision.held,) if decision.held else (), EVICTION_HELD_CONDITION) is None
