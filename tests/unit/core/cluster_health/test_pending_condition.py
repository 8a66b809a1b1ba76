"""Conditions that are seen of a cluster and do not count yet, and what a restart makes of them."""

import msgspec
import pytest

from leeward.api.cluster import Cluster
from leeward.api.meta import Condition, find_condition
from leeward.api.names import FAILING_CONDITION
from leeward.core.cluster_health.monitor_grace_period import (
    MonitorGracePeriods,
    decide_observed_conditions,
    is_agent_report,
)
from leeward.core.cluster_health.pending_condition import (
    doubt_of,
    is_failing,
    is_overdue,
    is_recovering,
    overdue_doubt,
    remembered,
    with_doubt,
)
from leeward.core.cluster_health.ready_condition import BEFORE_ALL, HealthMemory, Sight, Thresholds, ready_condition
from tests.builders import at, cluster

THRESHOLDS = Thresholds(failure_seconds=30, success_seconds=60)
PATIENCE = MonitorGracePeriods(grace_seconds=40, startup_seconds=60)
LONG_AGO = at(-10_000)


def doubted(ready: str = "True", doubt: Condition | None = None, mode: str = "Push") -> Cluster:
    there = cluster("member1", ready, sync_mode=mode)
    conditions = with_doubt(there.status.conditions, doubt, at(0))
    return msgspec.structs.replace(there, status=msgspec.structs.replace(there.status, conditions=conditions))


def failing(since: float, status: str = "True", reason: str = "ClusterNotReachable") -> Condition:
    return Condition(FAILING_CONDITION, status, reason, last_transition_time=at(since))


@pytest.mark.parametrize(
    ("sight", "ready", "doubt"),
    [
        ("healthy", "True", None),
        ("unreachable", "False", None),
        ("unreachable", "True", "True"),
        ("healthy", "False", "False"),
    ],
)
def test_there_is_a_doubt_while_a_probe_and_ready_differ(sight: Sight, ready: str, doubt: str | None) -> None:
    memory = HealthMemory("any", at(7.5))
    found = doubt_of(memory, ready_condition(sight), Condition("Ready", ready, "Test"))
    assert (found.status if found else None) == doubt
    assert found is None or found.last_transition_time == at(7), "as the wire keeps it"


def test_who_could_only_not_be_looked_at_is_not_about_to_look_dead() -> None:
    assert is_failing(doubted(doubt=failing(0)))
    assert not is_failing(doubted(doubt=failing(0, reason="StatusCollectionFailed")))
    assert not is_failing(doubted("False", failing(0, "False", "ClusterReady")))
    assert not is_failing(doubted())


@pytest.mark.parametrize(
    ("there", "memory"),
    [
        (cluster("new", None), None),
        (doubted(), HealthMemory("True", BEFORE_ALL)),
        (doubted(doubt=failing(85)), HealthMemory("False", at(85))),
        (doubted(doubt=failing(-900)), HealthMemory("False", at(80))),
        (doubted("False", failing(45, "False")), HealthMemory("True", at(50))),
        (doubted(doubt=overdue_doubt(at(90))), HealthMemory("True", BEFORE_ALL)),
    ],
)
def test_l6_a_restart_goes_on_with_the_clock_of_a_threshold_but_for_one_probe(
    there: Cluster, memory: HealthMemory | None
) -> None:
    assert remembered(there, at(100), THRESHOLDS, frequency_seconds=10) == memory


def test_a_probe_that_fails_begins_a_doubt_of_its_own_though_the_agent_was_overdue() -> None:
    conditions = with_doubt((overdue_doubt(at(0)),), failing(20), at(20))
    assert conditions == (failing(20),)


@pytest.mark.parametrize(
    ("silent_seconds", "ready", "doubt"), [(24, "True", ""), (26, "True", "True"), (41, "Unknown", "")]
)
def test_an_agent_is_overdue_before_its_cluster_is_unknown(silent_seconds: float, ready: str, doubt: str) -> None:
    there = doubted(mode="Pull")
    observed = decide_observed_conditions(there, at(0), LONG_AGO, at(silent_seconds), PATIENCE)
    by_type = {condition.type: condition.status for condition in observed.conditions}
    assert (by_type["Ready"], by_type.get(FAILING_CONDITION, "")) == (ready, doubt)


def test_whoever_has_just_started_listens_before_it_doubts() -> None:
    there = doubted(mode="Pull")
    assert decide_observed_conditions(there, at(-20), at(0), at(14), PATIENCE).conditions == there.status.conditions
    assert find_condition(
        decide_observed_conditions(there, at(-20), at(0), at(16), PATIENCE).conditions, FAILING_CONDITION
    )


def test_a_sign_of_life_ends_the_doubt_and_the_doubt_is_no_sign_of_life() -> None:
    there = doubted(mode="Pull")
    overdue = doubted(doubt=overdue_doubt(at(25)), mode="Pull")
    assert is_overdue(overdue)
    assert not is_agent_report(there.status, overdue.status)
    assert decide_observed_conditions(overdue, at(27), LONG_AGO, at(28), PATIENCE).conditions == there.status.conditions


def test_what_the_agent_itself_doubts_is_left_to_it() -> None:
    there = doubted(doubt=failing(20), mode="Pull")
    assert decide_observed_conditions(there, at(0), LONG_AGO, at(30), PATIENCE).conditions == there.status.conditions


def test_a_doubt_says_what_is_seen_and_what_becomes_of_it() -> None:
    memory = HealthMemory("False", at(7.5))
    refused = Condition("Ready", "False", "ClusterNotReachable", "cluster is not reachable")
    assert doubt_of(memory, refused, Condition("Ready", "True", "Test")) == Condition(
        FAILING_CONDITION,
        "True",
        "ClusterNotReachable",
        "cluster is not reachable; Ready becomes False if that lasts",
        at(7),
    )
    well = Condition("Ready", "True", "ClusterReady", "cluster is healthy")
    assert doubt_of(memory, well, Condition("Ready", "Unknown", "Test")) == Condition(
        FAILING_CONDITION, "False", "ClusterReady", "cluster is healthy; Ready becomes True if that lasts", at(7)
    )


def test_a_doubt_that_lasts_keeps_its_clock_and_silence_has_its_own() -> None:
    first, silence = failing(20), overdue_doubt(at(30))
    ready = Condition("Ready", "True", "Test", last_transition_time=at(0))
    begun = with_doubt((ready,), first, at(40))
    assert begun == (ready, first)
    assert with_doubt(begun, failing(90), at(90)) == (ready, failing(20)), "the same doubt, since then"
    assert with_doubt(begun, silence, at(90)) == (ready, silence)
    assert with_doubt((ready, silence), overdue_doubt(at(60)), at(90)) == (ready, silence)
    undated = Condition(FAILING_CONDITION, "True", "ClusterNotReachable")
    (found,) = with_doubt((), undated, at(55))
    assert found.last_transition_time == at(55)
    assert with_doubt(begun, None, at(90)) == (ready,)


@pytest.mark.parametrize(
    ("there", "fails", "recovers", "overdue"),
    [
        (doubted(), False, False, False),
        (doubted(doubt=failing(0)), True, False, False),
        (doubted("False", failing(0)), False, False, False),
        (doubted("False", failing(0, "False")), False, True, False),
        (doubted("Unknown", failing(0, "False")), False, True, False),
        (doubted(doubt=failing(0, "False")), False, False, False),
        (doubted("False"), False, False, False),
        (doubted(doubt=overdue_doubt(at(0))), True, False, True),
    ],
)
def test_what_a_doubt_means_depends_on_what_counts_now(
    there: Cluster, *, fails: bool, recovers: bool, overdue: bool
) -> None:
    assert (is_failing(there), is_recovering(there), is_overdue(there)) == (fails, recovers, overdue)


def test_a_doubt_without_an_instant_and_a_threshold_below_one_look_start_anew() -> None:
    undated = Condition(FAILING_CONDITION, "True", "ClusterNotReachable")
    there = doubted()
    status = msgspec.structs.replace(there.status, conditions=(*there.status.conditions, undated))
    assert remembered(msgspec.structs.replace(there, status=status), at(100), THRESHOLDS, 10) == HealthMemory(
        "True", BEFORE_ALL
    )
    assert remembered(doubted(doubt=failing(0)), at(100), Thresholds(5, 5), 10) == HealthMemory("False", at(100))
