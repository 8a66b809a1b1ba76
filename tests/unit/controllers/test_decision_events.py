"""The sentence that tells a move: counted from what is seen, and from nothing that is only believed."""

import pytest

from leeward.api.work import GracefulEvictionTask
from leeward.controllers.scheduler.decision_events import describe_move
from tests.builders import NOW, at, binding, cluster, dead, divided, targets, works

LEFT = GracefulEvictionTask(
    "m1", reason="TaintUntolerated", producer="TaintManager", replicas=2, creation_timestamp=NOW
)


@pytest.mark.parametrize(
    ("placed", "ready", "told"),
    [
        ({"m3": 2}, {"m3": 2}, "Moved from m1 to m3: 2 of 2 healthy after 12 s."),
        ({"m2": 1, "m3": 2}, {"m2": 1, "m3": 1}, "Moved from m1 to m2, m3: 2 of 3 healthy after 12 s."),
        ({"m3": 2}, {"m3": None}, "Moved from m1 to m3: 0 of 2 healthy after 12 s."),
        ({"m3": 2}, {}, "Moved from m1 to m3: 0 of 2 healthy after 12 s."),
        ({"gone": 2}, {"gone": 2}, "Moved from m1 to gone: 0 of 2 healthy after 12 s."),
        ({"m3": 0}, {"m3": 0}, "Moved from m1 to m3: 1 of 1 healthy after 12 s."),
        ({"m2": 0, "m3": 0}, {"m2": 0, "m3": None}, "Moved from m1 to m2, m3: 1 of 2 healthy after 12 s."),
        ({"gone": 0}, {"gone": 0}, "Moved from m1 to gone: 0 of 1 healthy after 12 s."),
        ({}, {}, "Moved from m1 to no other cluster: 0 of 0 healthy after 12 s."),
    ],
    ids=[
        "all", "a part", "unhealthy", "no Work", "a cluster that is not seen", "a copy without replicas",
        "copies without replicas", "a copy without replicas that is not seen", "nowhere",
    ],
)  # fmt: skip
def test_s1_only_what_is_seen_healthy_is_told_as_healthy(
    placed: dict[str, int], ready: dict[str, int | None], told: str
) -> None:
    spec = binding(divided(dict.fromkeys(placed, 1)), 2, targets(**placed)).spec
    clusters = {"m2": cluster("m2"), "m3": cluster("m3"), "gone": dead("gone")}
    assert describe_move(LEFT, spec, works(ready), clusters, at(12)) == told


@pytest.mark.parametrize(("seconds", "told"), [(0.4, "0 s"), (0.6, "1 s"), (-30, "0 s")])
def test_a_move_takes_no_less_than_no_time(seconds: float, told: str) -> None:
    """The task of a move may be dated by a clock that is ahead."""
    spec = binding(divided({"m3": 1}), 1, targets(m3=1)).spec
    sentence = describe_move(LEFT, spec, works({"m3": 1}), {"m3": cluster("m3")}, at(seconds))
    assert sentence == f"Moved from m1 to m3: 1 of 1 healthy after {told}."


def test_a_task_without_an_instant_has_no_duration() -> None:
    task = GracefulEvictionTask("m1", reason="TaintUntolerated", producer="TaintManager")
    spec = binding(divided({"m3": 1}), 1, targets(m3=1)).spec
    told = describe_move(task, spec, works({"m3": 1}), {"m3": cluster("m3")}, at(12))
    assert told == "Moved from m1 to m3: 1 of 1 healthy."
