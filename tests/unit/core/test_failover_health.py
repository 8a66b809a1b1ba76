"""From when a change of `Ready` counts, where more than one clock or more than one observer is at work."""

from datetime import datetime

import pytest

from leeward.api.meta import Condition
from leeward.core.failover.health import BEFORE_ALL, HealthMemory, Thresholds, decide_ready, ready_condition
from tests.builders import at

THRESHOLDS = Thresholds(failure_seconds=30, success_seconds=30)


def ready_at(seconds: float, memory: HealthMemory, current: Condition) -> str:
    """What `Ready` is when a healthy probe follows `memory`."""
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
