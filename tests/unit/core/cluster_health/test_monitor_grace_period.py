"""Silence of a Pull cluster's agent: when it counts, and what is written of it."""

import msgspec
import pytest

from leeward.api.cluster import Cluster
from leeward.api.meta import Condition
from leeward.api.names import FAILING_CONDITION
from leeward.core.cluster_health.monitor_grace_period import (
    MonitorGracePeriods,
    ObservedConditions,
    ObservedReady,
    decide_observed_conditions,
    decide_observed_ready,
    is_agent_report,
    last_seen_before,
)
from tests.builders import at, cluster

PATIENCE = MonitorGracePeriods(grace_seconds=40, startup_seconds=60)
JUST = 0.000001


def pull(ready: str | None = "True", *more: Condition, mode: str = "Pull") -> Cluster:
    there = cluster("m1", ready, sync_mode=mode)
    conditions = (*there.status.conditions, *more)
    return msgspec.structs.replace(there, status=msgspec.structs.replace(there.status, conditions=conditions))


STOPPED = Condition(
    "Ready", "Unknown", "ClusterStatusUnknown", "Cluster status controller stopped posting cluster status."
)
NEVER = Condition(
    "Ready", "Unknown", "ClusterStatusNeverUpdated", "Cluster status controller never posted cluster status."
)  # fmt: skip


@pytest.mark.parametrize(
    ("there", "seconds", "expected"),
    [
        (pull(), 0, ObservedReady(None, at(40 + JUST))),
        (pull(), 40, ObservedReady(None, at(40 + JUST))),
        (pull(), 40 + JUST, ObservedReady(STOPPED, None)),
        (pull("False"), 41, ObservedReady(STOPPED, None)),
        (pull("Unknown"), 39, ObservedReady(None, at(40 + JUST))),
        (pull("Unknown"), 41, ObservedReady(None, None)),
        (pull(None), 60, ObservedReady(None, at(60 + JUST))),
        (pull(None), 60 + JUST, ObservedReady(NEVER, None)),
        (pull(mode="Push"), 10_000, ObservedReady(None, None)),
        (pull(mode="Push"), 0, ObservedReady(None, None)),
    ],
)
def test_after_its_grace_period_silence_is_unknown(there: Cluster, seconds: float, expected: ObservedReady) -> None:
    assert decide_observed_ready(there, at(0), at(seconds), PATIENCE) == expected


def observed(there: Cluster, seconds: float, last_seen: float = 0, started: float = -10_000) -> ObservedConditions:
    return decide_observed_conditions(there, at(last_seen), at(started), at(seconds), PATIENCE)


READY = pull().status.conditions[0]
OVERDUE = Condition(
    FAILING_CONDITION,
    "True",
    "AgentOverdue",
    "nothing has been heard of the agent for longer than usual; Ready becomes Unknown if that lasts",
    at(25),
)
DOUBT = Condition(FAILING_CONDITION, "True", "ClusterNotReachable", "it fails", at(3))
NOT_READY = pull("False").status.conditions[0]


@pytest.mark.parametrize(
    ("there", "seconds", "conditions", "wake_at"),
    [
        (pull(), 10, (READY,), 25 + JUST),
        (pull(), 25, (READY,), 25 + JUST),
        (pull(), 25 + JUST, (READY, OVERDUE), 40 + JUST),
        (pull("True", OVERDUE), 30, (READY, OVERDUE), 40 + JUST),
        (pull("True", DOUBT), 30, (READY, DOUBT), 40 + JUST),
        (pull("False"), 30, (NOT_READY,), 40 + JUST),
        (pull(mode="Push"), 30, (READY,), None),
        (pull("Unknown"), 100, pull("Unknown").status.conditions, None),
    ],
    ids=["heard", "at the end of that", "overdue", "overdue still", "its own doubt", "not ready", "probed", "unknown"],
)
def test_an_agent_that_is_late_is_overdue_before_it_is_lost(
    there: Cluster, seconds: float, conditions: tuple[Condition, ...], wake_at: float | None
) -> None:
    expected = ObservedConditions(conditions, None if wake_at is None else at(wake_at))
    assert observed(there, seconds) == expected


@pytest.mark.parametrize("doubt", [(), (OVERDUE,), (DOUBT,)])
def test_what_is_unknown_is_in_no_doubt(doubt: tuple[Condition, ...]) -> None:
    unknown = msgspec.structs.replace(STOPPED, last_transition_time=at(41))
    assert observed(pull("True", *doubt), 41) == ObservedConditions((unknown,), None)


def test_who_is_heard_again_is_overdue_no_more() -> None:
    assert observed(pull("True", OVERDUE), 30, last_seen=28) == ObservedConditions((READY,), at(53 + JUST))


def test_who_has_just_started_listens_first() -> None:
    assert observed(pull(), 14, last_seen=-20, started=0) == ObservedConditions((READY,), at(15 + JUST))
    late = observed(pull(), 16, last_seen=-20, started=0)
    assert late.conditions[1].last_transition_time == at(15)


@pytest.mark.parametrize(
    ("before", "after", "is_life"),
    [
        (pull(), pull("False"), True),
        (pull(), pull(), False),
        (pull(), pull("Unknown"), False),
        (pull("Unknown"), pull(), True),
        (pull(), pull("True", OVERDUE), False),
        (pull("True", DOUBT), pull("False", DOUBT), True),
        (pull(), pull(None), False),
    ],
)
def test_a_sign_of_life_is_a_change_that_is_not_made_of_silence(
    before: Cluster, after: Cluster, *, is_life: bool
) -> None:
    assert is_agent_report(before.status, after.status) is is_life


@pytest.mark.parametrize(("received", "expected"), [(0, 80), (79, 80), (90, 90)])
def test_who_may_have_been_away_listens_for_half_of_its_patience(received: float, expected: float) -> None:
    assert last_seen_before(at(received), at(100), PATIENCE) == at(expected)
