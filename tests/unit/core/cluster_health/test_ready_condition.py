"""Instant from which a change of `Ready` counts, where more than one clock or more than one observer is at work."""

from datetime import datetime

import msgspec
import pytest

from leeward.api.meta import Condition
from leeward.core.cluster_health.ready_condition import (
    BEFORE_ALL,
    TOO_LARGE,
    HealthMemory,
    Sight,
    Thresholds,
    decide_ready,
    is_uncollected,
    ready_condition,
    watched_memory,
)
from tests.builders import at

THRESHOLDS = Thresholds(failure_seconds=30, success_seconds=30)


def ready_at(seconds: float, memory: HealthMemory, current: Condition) -> str:
    """Status of `Ready` when a healthy probe follows `memory`."""
    return decide_ready(memory, ready_condition("healthy"), current, at(seconds), THRESHOLDS)[1].status


@pytest.mark.parametrize(("since", "ready"), [(at(0), "True"), (at(3600), "False")])
def test_an_instant_that_is_still_to_come_counts_as_now(since: datetime, ready: str) -> None:
    dead = Condition("Ready", "False", "Test", last_transition_time=at(-100))
    assert ready_at(40, HealthMemory("True", since), dead) == ready
    memory, _ = decide_ready(HealthMemory("True", since), ready_condition("healthy"), dead, at(40), THRESHOLDS)
    assert memory is not None
    assert ready_at(70, memory, dead) == "True"


@pytest.mark.parametrize("since", [at(0), BEFORE_ALL])
def test_c1_what_another_leader_has_just_decided_holds_for_the_threshold(since: datetime) -> None:
    decided = Condition("Ready", "False", "Test", last_transition_time=at(35))
    assert [ready_at(seconds, HealthMemory("True", since), decided) for seconds in (40, 64, 65)] == [
        "False",
        "False",
        "True",
    ]


def test_a_condition_that_a_clock_dated_ahead_delays_nothing() -> None:
    dead = Condition("Ready", "False", "Test", last_transition_time=at(3600))
    assert ready_at(40, HealthMemory("True", at(10)), dead) == "True"


def test_an_agent_that_was_not_heard_has_counted_on() -> None:
    unheard = Condition("Ready", "Unknown", "Test", last_transition_time=at(35))
    assert ready_at(40, HealthMemory("True", BEFORE_ALL), unheard) == "True"


@pytest.mark.parametrize(
    ("sight", "detail", "status", "reason", "message"),
    [
        ("healthy", "any", "True", "ClusterReady", "cluster is healthy and ready to accept workloads"),
        (
            "unhealthy",
            "any",
            "False",
            "ClusterNotReady",
            "cluster is reachable but health endpoint responded without ok",
        ),
        ("not serving", "reads hang", "False", "ClusterNotServing", "reads hang"),
        ("not serving", "", "False", "ClusterNotServing", "cluster says that it is ready, but serves no reads"),
        ("unreachable", "any", "False", "ClusterNotReachable", "cluster is not reachable"),
        ("refused", "HTTP 403", "False", "StatusCollectionFailed", "HTTP 403"),
        ("refused", "", "False", "StatusCollectionFailed", "the cluster's status could not be read"),
        ("too large", "9 MB", "False", TOO_LARGE, "9 MB"),
        ("too large", "", "False", TOO_LARGE, "the cluster answers more than is read of a member"),
    ],
)
def test_each_sight_has_its_own_reason(sight: Sight, detail: str, status: str, reason: str, message: str) -> None:
    assert ready_condition(sight, detail) == Condition("Ready", status, reason, message)
    assert detail or ready_condition(sight) == ready_condition(sight, detail)


@pytest.mark.parametrize(
    ("sight", "uncollected"),
    [
        ("healthy", False),
        ("unhealthy", False),
        ("not serving", False),
        ("unreachable", False),
        ("refused", True),
        ("too large", True),
    ],
)
def test_what_could_not_be_looked_at_is_no_outage(sight: Sight, *, uncollected: bool) -> None:
    assert is_uncollected(ready_condition(sight)) is uncollected
    ready = msgspec.structs.replace(ready_condition(sight), status="True")
    assert not is_uncollected(ready), "whatever its reason is"


UP, DOWN = ready_condition("healthy"), ready_condition("unreachable")
WAS_UP = Condition("Ready", "True", "ClusterReady", last_transition_time=at(-1_000))
WAS_DOWN = Condition("Ready", "False", "ClusterNotReachable", last_transition_time=at(-1_000))
UNEQUAL = Thresholds(failure_seconds=30, success_seconds=60)


@pytest.mark.parametrize(
    ("memory", "observed", "current", "expected"),
    [
        (None, DOWN, WAS_UP, (HealthMemory("False", BEFORE_ALL), DOWN)),
        (HealthMemory("True", at(0)), DOWN, None, (HealthMemory("True", at(0)), DOWN)),
        (HealthMemory("True", at(0)), DOWN, WAS_UP, (HealthMemory("False", at(100)), WAS_UP)),
        (HealthMemory("False", at(71)), DOWN, WAS_UP, (HealthMemory("False", at(71)), WAS_UP)),
        (HealthMemory("False", at(70)), DOWN, WAS_UP, (HealthMemory("False", at(70)), DOWN)),
        (HealthMemory("True", at(41)), UP, WAS_DOWN, (HealthMemory("True", at(41)), WAS_DOWN)),
        (HealthMemory("True", at(40)), UP, WAS_DOWN, (HealthMemory("True", at(40)), UP)),
        (HealthMemory("True", at(40)), UP, WAS_UP, (HealthMemory("True", at(40)), UP)),
        (HealthMemory("False", at(40)), UP, WAS_UP, (HealthMemory("True", at(100)), UP)),
        (HealthMemory("Unknown", at(40)), DOWN, WAS_DOWN, (HealthMemory("False", at(100)), DOWN)),
    ],
    ids=[
        "the first look", "nothing counts yet", "a failure begins", "it does not last yet", "it has lasted",
        "a success does not last yet", "it has lasted, too", "all is well", "a doubt is over", "another face",
    ],
)  # fmt: skip
def test_a_change_counts_when_it_has_lasted(
    memory: HealthMemory | None,
    observed: Condition,
    current: Condition | None,
    expected: tuple[HealthMemory, Condition],
) -> None:
    assert decide_ready(memory, observed, current, at(100), UNEQUAL) == expected


def test_c1_what_is_decided_in_the_same_instant_holds_for_the_threshold() -> None:
    decided = Condition("Ready", "False", "Test", last_transition_time=at(40))
    memory, ready = decide_ready(HealthMemory("True", at(0)), UP, decided, at(40), THRESHOLDS)
    assert (memory, ready) == (HealthMemory("True", at(40)), decided)


def test_s13_where_one_look_completes_a_threshold_it_has_to_be_made_after_a_pause() -> None:
    memory = HealthMemory("False", at(0))
    again = watched_memory(memory, (at(100), 100.0), (at(400), 400.0), 20, 10, Thresholds(5, 5))
    assert again == HealthMemory("False", at(400))


def watched(since: datetime, wall: float, monotonic: float) -> HealthMemory:
    """The memory at `wall`, when the last look was at 100 seconds by both clocks."""
    memory = HealthMemory("False", since)
    return watched_memory(memory, (at(100), 100.0), (at(wall), monotonic), 20, 10, UNEQUAL)


@pytest.mark.parametrize(
    ("since", "wall", "monotonic", "expected"),
    [
        (at(90), 110, 110, at(90)),
        (at(90), 120, 120, at(90)),
        (at(90), 121, 121, at(101)),
        (at(90), 400, 400, at(380)),
        (at(0), 400, 400, at(380)),
        (at(95), 400, 400, at(380)),
        (at(90), 410, 110, at(390)),
        (at(99), 40, 110, at(29)),
        (BEFORE_ALL, 400, 400, BEFORE_ALL),
    ],
    ids=[
        "watched", "just so", "a second too long", "long", "it has lasted long", "it began late", "a step ahead",
        "a step back", "it needs no threshold",
    ],
)  # fmt: skip
def test_s13_what_nobody_watched_does_not_complete_a_threshold(
    since: datetime, wall: float, monotonic: float, expected: datetime
) -> None:
    assert watched(since, wall, monotonic) == HealthMemory("False", expected)


@pytest.mark.parametrize(
    ("since", "wall", "still", "expected"),
    [(0, 125, 20.0, 20), (0, 126, 20.5, 106), (95, 400, 310.0, 395)],
    ids=["as long as is borne", "longer", "longer than between the looks"],
)
def test_s13_what_this_process_stood_still_does_not_complete_a_threshold(
    since: float, wall: float, still: float, expected: float
) -> None:
    memory = HealthMemory("False", at(since))
    moved = watched_memory(memory, (at(100), 100.0), (at(wall), wall), 20, 10, UNEQUAL, still)
    assert moved == HealthMemory("False", at(expected))
