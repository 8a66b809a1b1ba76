"""Sizes of copies that replace others (`core.execution.sizes`)."""

from typing import Any

import msgspec
import pytest

from leeward.api.names import REPLICAS_ANNOTATION
from leeward.api.work import GracefulEvictionTask, ResourceBindingSpec, Work
from leeward.core.execution.sizes import (
    LOAD_ARRIVES,
    floors,
    kept_until,
    leaving_copies,
    size_text,
    sizes,
    surplus,
    with_floor,
    with_sizes,
)
from leeward.core.execution.works import replicas_by_cluster
from tests.builders import at, binding, cluster, dead, divided, duplicated, fleet, targets, wanting, work

HALVES = divided({"a": 1, "b": 1, "c": 1})
LEAVES_A = GracefulEvictionTask("a", "TaintUntolerated", "TaintManager", replicas=2)


def spec(placement: Any = HALVES, replicas: int = 6, **fields: Any) -> ResourceBindingSpec:
    return binding(placement=placement, replicas=replicas, **fields).spec


def made(copy: Work, text: str) -> Work:
    metadata = msgspec.structs.replace(copy.metadata, annotations={REPLICAS_ANNOTATION: text})
    return msgspec.structs.replace(copy, metadata=metadata)


def test_each_target_of_a_divided_binding_gets_its_share_of_what_leaves() -> None:
    leaving = spec(clusters=targets(b=2, c=4), tasks=(LEAVES_A,))
    assert sizes(leaving, {}, frozenset("a"), {"a": 9}, None) == {"b": 5, "c": 10}
    assert sizes(leaving, {"b": work("b", 5)}, frozenset("a"), {"a": 9, "b": 3}, None) == {"b": 8, "c": 10}
    assert sizes(leaving, {}, frozenset("a"), {"a": 9}, 7) == {"b": 5, "c": 7}, "an autoscaler makes no more"


def test_a_new_target_is_as_large_as_the_largest_copy_that_leaves() -> None:
    leaving = spec(duplicated("a", "b", "c"), 2, clusters=targets(b=2, c=2), tasks=(LEAVES_A,))
    there = {"a": work("a", 9), "b": work("b", 2)}
    assert sizes(leaving, there, frozenset("a"), {"a": 7}, None) == {"c": 9}


def test_a_size_does_not_fall_while_a_copy_leaves_nor_soon_after() -> None:
    leaving = spec(clusters=targets(b=6), tasks=(LEAVES_A,))
    there = {"b": made(work("b", 6), "12")}
    assert sizes(leaving, there, frozenset("a"), {}, None) == {"b": 12}
    assert sizes(spec(clusters=targets(b=6)), there, frozenset(), {}, None) == {"b": 12}
    assert sizes(spec(clusters=targets(b=6)), {"b": work("b", 6)}, frozenset(), {}, None) == {}


def test_what_was_told_of_an_earlier_work_does_not_count() -> None:
    """The size of a Work is known without a report."""
    grown, older = wanting(9, work("a", 9)), wanting(9, work("a", 9, carried=0))
    assert surplus(grown, 2) == 7
    assert surplus(wanting(9, work("a", 5)), 2) == 3, "so many serve"
    assert surplus(older, 2) == 0
    assert surplus(made(older, "12"), 2) == 10


def test_what_a_work_was_made_larger_by_is_not_counted_again() -> None:
    """Each look made the Works of both targets larger, without end."""
    leaving, left = spec(clusters=targets(b=3, c=3), tasks=(LEAVES_A,)), frozenset("a")
    there = {"a": wanting(12, work("a", 12)), "b": wanting(2, work("b", 2)), "c": wanting(4, work("c", 4))}
    more = {"a": 10, "b": 0, "c": 2}
    first = sizes(leaving, there, left, more, None)
    assert first == {"b": 8, "c": 10}
    for _ in range(5):
        there |= {name: made(wanting(size, work(name, size)), str(size)) for name, size in first.items()}
        more = {"a": 10} | {name: surplus(there[name], 3) for name in first}
        assert sizes(leaving, there, left, more, None) == first


def test_what_was_not_wanted_while_its_cluster_was_away_is_replaced_no_more() -> None:
    clusters = fleet(cluster("a"), cluster("b"), dead("c"))
    assert leaving_copies(spec(clusters=targets(b=6)), {"a": work("a", 2), "c": work("c", 2)}, clusters) == {"a"}
    assert leaving_copies(spec(clusters=targets(b=6)), {"b": work("b", 2)}, clusters) == frozenset()
    ended = msgspec.structs.replace(LEAVES_A, suppress_deletion=False)
    assert leaving_copies(spec(clusters=targets(b=6), tasks=(ended,)), {}, clusters) == frozenset()
    paused = spec(clusters=targets(b=6), tasks=(LEAVES_A,))
    assert leaving_copies(paused, {}, clusters) == {"a"}


def test_a_drain_that_is_undone_makes_no_copy_larger_than_before() -> None:
    """The other copy, which is as large, leaves again."""
    back = spec(clusters=targets(a=4), tasks=(msgspec.structs.replace(LEAVES_A, from_cluster="b"),))
    there = {"a": wanting(12, work("a", 12)), "b": made(wanting(12, work("b", 12)), "12")}
    assert sizes(back, there, frozenset("b"), {"a": 8, "b": 8}, None) == {"a": 12}


def test_the_copies_of_a_binding_with_sizes_are_as_large() -> None:
    parted = binding(placement=HALVES, replicas=6, clusters=targets(a=1, b=3), tasks=(LEAVES_A,))
    assert replicas_by_cluster(parted.spec) == {"a": 3, "b": 3}
    assert replicas_by_cluster(with_sizes(parted, {"a": 5, "b": 9}).spec) == {"a": 5, "b": 9}
    gone = binding(placement=HALVES, replicas=6, clusters=targets(b=4), tasks=(LEAVES_A,))
    assert replicas_by_cluster(with_sizes(gone, {"a": 5}).spec) == {"a": 5, "b": 4}


@pytest.mark.parametrize(
    ("least", "most", "floor", "found"), [(1, 12, 8, 8), (9, 12, 8, 9), (1, 6, 8, 6), (None, 6, 1, None)]
)
def test_an_autoscaler_has_the_floor_within_its_own_bounds(
    least: int | None, most: int, floor: int, found: int | None
) -> None:
    assert with_floor({"spec": {"minReplicas": least, "maxReplicas": most}}, floor)["spec"]["minReplicas"] == found


def test_floors_are_the_sizes_while_a_copy_leaves_and_soon_after() -> None:
    clusters, there = fleet(cluster("a"), cluster("b")), {"b": made(work("b", 2), "12")}
    leaving = spec(clusters=targets(b=4, c=2), tasks=(LEAVES_A,))
    assert floors(leaving, there, clusters) == {"b": 12, "c": 2}
    assert floors(spec(clusters=targets(b=4, c=2)), there, clusters) == {"b": 12}
    assert floors(spec(clusters=targets(b=4, c=2)), {}, clusters) == {}


def test_a_size_is_kept_for_a_while_once_nothing_leaves_any_more() -> None:
    now = at(0)
    until = kept_until(made(work("b", 2), "12"), now)
    assert until == now + LOAD_ARRIVES
    later = made(work("b", 2), size_text(12, until))
    assert later.replicas == 12
    assert kept_until(later, at(60)) == until
    assert kept_until(later, at(301)) is None
    assert kept_until(made(work("b", 2), "12 until 2999-01-01T00:00:00Z"), now) == now + LOAD_ARRIVES
    assert kept_until(made(work("b", 2), "12 until soon"), now) is None
    assert kept_until(made(work("b", 2), "many"), now) is kept_until(None, now) is None
