"""Ends of evictions by what old copies and their replacements are known to serve."""

import msgspec
import pytest

from leeward.api.work import GracefulEvictionTask, ResourceBinding, TargetCluster, Work
from leeward.core.eviction.progress import assess_tasks
from tests.builders import NOW, aggregated, at, binding, cluster, divided, duplicated, fleet, targets, work, works
from tests.unit.core.copies.test_evidence import told_by_karmada

GRACE_SECONDS = 600.0


def task(name: str, count: int | None = None, **fields: object) -> GracefulEvictionTask:
    opened = GracefulEvictionTask(
        name, "TaintUntolerated", "TaintManager", "Gracefully", replicas=count, creation_timestamp=NOW
    )
    return msgspec.structs.replace(opened, **fields)


OLD = works({"member1": 2})["member1"]


def assess(bound: ResourceBinding, copies: dict[str, Work], seconds: float, *, brake: bool = False) -> tuple[str, ...]:
    clusters = fleet(*(cluster(f"member{number}") for number in (1, 2, 3)))
    assessment = assess_tasks(aggregated(bound), clusters, copies, at(seconds), GRACE_SECONDS, brake=brake)
    if not assessment.finished and assessment.wake_at is not None:
        assert assessment.wake_at > at(seconds), "an instant to wake up at lies ahead"
    return assessment.finished


ONE = duplicated("member1", "member2", "member3")


@pytest.mark.parametrize(
    ("old", "new", "ends"),
    [(2, 0, False), (2, 1, False), (1, 1, True), (0, 1, True), (0, 0, True), (2, 2, True)],
)
def test_s1_time_ends_a_task_only_where_the_old_copy_serves_no_more(old: int, new: int, ends: bool) -> None:
    bound = binding(ONE, 3, targets(member2=3), (task("member1", 3),))
    copies = works({"member1": old, "member2": new})
    assert bool(assess(bound, copies, GRACE_SECONDS + 1)) is ends
    assert not assess(bound, copies, GRACE_SECONDS - 1), "not before its time"
    assert not assess(bound, copies, 10 * GRACE_SECONDS, brake=True), "S4"


def test_s1_a_whole_grace_period_passes_after_the_last_change_of_the_old_copy() -> None:
    bound = binding(ONE, 3, targets(member2=3), (task("member1", 3),))
    copies = {**works({"member2": 1}), "member1": work("member1", 0, reflected=1_000)}
    assert not assess(bound, copies, 1_000 + GRACE_SECONDS)
    assert assess(bound, copies, 1_000 + GRACE_SECONDS + 1) == ("member1",)


def test_s1_a_part_that_leaves_is_held_against_what_of_its_replacement_is_ready() -> None:
    shares = divided({"member1": 1, "member2": 1})
    bound = binding(shares, 6, targets(member2=6), (task("member1", 3),))
    assert not assess(bound, works({"member1": 2, "member2": 4}), 10_000), "one of three is replaced, two serve"
    assert assess(bound, works({"member1": 2, "member2": 5}), 10_000) == ("member1",)
    assert assess(bound, works({"member1": 1, "member2": 4}), 10_000) == ("member1",)


def test_s1_two_old_copies_never_rest_on_the_same_ready_replicas() -> None:
    shares = divided({"member1": 1, "member2": 1, "member3": 1})
    bound = binding(shares, 4, targets(member3=4), (task("member1", 2), task("member2", 2)))
    assert assess(bound, works({"member1": 2, "member2": 2, "member3": 2}), 10_000) == ("member1",)


def test_s1_what_left_twice_is_replaced_once() -> None:
    """m3's copy of 3 went to m1 and m2; then m1 was left with 3, of which 1 had come from m3."""
    shares = divided({"member1": 1, "member2": 1, "member3": 1})
    later = task("member1", 3, creation_timestamp=at(60))
    bound = binding(shares, 9, targets(member2=9), (task("member3", 3), later))
    assert assess(bound, works({"member3": 3, "member1": 1, "member2": 8}), 10_000) == ("member1",)
    assert assess(bound, works({"member3": 3, "member1": 0, "member2": 9}), 10_000) == ("member3", "member1")


def test_s1_what_stays_of_a_divided_copy_is_no_part_of_what_leaves() -> None:
    shares = divided({"member1": 1, "member2": 1})
    bound = binding(shares, 4, (TargetCluster("member1", 1), TargetCluster("member2", 3)), (task("member1", 1),))
    assert not assess(bound, works({"member1": 2, "member2": 2}), 10_000), "two serve, and one of them leaves"
    assert assess(bound, works({"member1": 1, "member2": 2}), 10_000) == ("member1",), "what serves is what stays"


def test_a_copy_whose_cluster_has_left_the_fleet_with_its_work_bars_nothing() -> None:
    bound = binding(ONE, 3, targets(member2=3), (task("gone", 3),))
    assert not assess(bound, works({"member2": 0}), 2 * GRACE_SECONDS), "the next cluster is tried meanwhile"
    assert assess(bound, works({"member2": 0}), 2 * GRACE_SECONDS + 1) == ("gone",)
    stays = {**works({"member2": 0}), "gone": OLD}
    assert not assess(bound, stays, 10 * GRACE_SECONDS), "as long as its Work is there something may run there"


def test_the_grace_period_of_the_task_comes_before_the_default() -> None:
    bound = binding(ONE, 3, targets(member2=3), (task("member1", 3, grace_period_seconds=60),))
    copies = works({"member1": 1, "member2": 1})
    assert not assess(bound, copies, 60)
    assert assess(bound, copies, 61) == ("member1",)


def test_an_eviction_ends_by_such_a_report_only_then_s1() -> None:
    moved = aggregated(binding(duplicated("member1"), 2, targets(member1=2), (task("member2"),)))
    clusters, copies = fleet(cluster("member1"), cluster("member2")), {"member1": told_by_karmada(2)}
    copies["member2"] = works({"member2": 2})["member2"]
    early = assess_tasks(moved, clusters, copies, at(59), GRACE_SECONDS)
    assert (early.finished, early.wake_at) == ((), at(60))
    assert assess_tasks(moved, clusters, copies, at(60), GRACE_SECONDS).finished == ("member2",)
