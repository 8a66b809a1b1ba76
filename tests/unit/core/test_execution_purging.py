"""Copies that are purged Directly: which of them go first, and what stays as it is meanwhile."""

import pytest

from leeward.core.execution.removal import held_by_purge, purged_now
from tests.unit.core.test_execution import binding, task

LOST, FOLLOWS = "TaintUntolerated", "AffinityTermLeft"


@pytest.mark.parametrize(
    ("reasons", "works", "required", "purged"),
    [
        ({"m1": LOST, "m2": LOST}, {"m1", "m2"}, (), {"m1", "m2"}),
        ({"m1": LOST, "m2": FOLLOWS}, {"m1", "m2"}, (), {"m1"}),
        ({"m1": LOST, "m2": FOLLOWS}, {"m2"}, (), {"m1", "m2"}),
        ({"m1": LOST, "m2": FOLLOWS}, {"m1", "m2"}, ("m1",), {"m1", "m2"}),
        ({"m1": FOLLOWS, "m2": FOLLOWS}, {"m1", "m2"}, (), {"m1", "m2"}),
        ({"m1": "Another", "m2": FOLLOWS}, {"m1", "m2"}, (), {"m1"}),
    ],
    ids=["both are lost", "one is well", "the lost one is gone", "others need it", "nobody waits", "somebody else's"],
)
def test_s1_a_copy_that_is_well_is_purged_after_the_lost_one(
    reasons: dict[str, str], works: set[str], required: tuple[str, ...], purged: set[str]
) -> None:
    tasks = [{**task(name, "Directly", 1), "reason": reason} for name, reason in reasons.items()]
    needed = [{"namespace": "default", "name": "other", "clusters": [{"name": name} for name in required]}]
    assert purged_now(binding(gracefulEvictionTasks=tasks, requiredBy=needed).spec, works) == purged


def test_a_copy_that_leaves_gracefully_is_not_purged() -> None:
    tasks = [{**task("m1", "Gracefully", 1), "reason": LOST}, {**task("m2", "Directly", 1), "reason": FOLLOWS}]
    assert purged_now(binding(gracefulEvictionTasks=tasks).spec, {"m1", "m2"}) == {"m2"}


@pytest.mark.parametrize(
    ("growth", "held"),
    [
        ({}, set[str]()),
        ({"m2": 0, "m3": -1}, set[str]()),
        ({"m2": -1, "m3": None}, {"m2", "m3"}),
        ({"m2": -1, "m3": 1, "m4": 0}, {"m2", "m3"}),
    ],
    ids=["nothing is wanted", "nothing grows", "one is not there", "one grows"],
)
def test_s1_nothing_shrinks_where_something_may_not_grow(growth: dict[str, int | None], held: set[str]) -> None:
    assert held_by_purge(growth) == held
