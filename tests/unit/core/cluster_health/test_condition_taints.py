"""The taints of an outage: which, since when, and what remembers it."""

from collections.abc import Mapping

import msgspec
import pytest

from kubeapi.core import Taint
from leeward.api.cluster import Cluster
from leeward.api.meta import Condition
from leeward.api.names import OUTAGE_ANNOTATION, OUTAGE_CONFIRMED_ANNOTATION, POLICY_TAINTS_ANNOTATION
from leeward.core.cluster_health.condition_taints import (
    TaintDecision,
    confirmation,
    decide_taints,
    describe_taints,
    outage_since,
    policy_taints,
    stamp_no_execute,
)
from leeward.core.cluster_health.watched_time import ALWAYS, Gap, WatchedTime
from tests.builders import at, cluster

NO_MARKS: Mapping[str, str] = {}
NOT_READY, UNREACHABLE = "cluster.karmada.io/not-ready", "cluster.karmada.io/unreachable"
BY_HAND = Taint("example.com/x", "NoExecute", time_added=at(0))


def no_schedule(key: str, seconds: float) -> Taint:
    return Taint(key, "NoSchedule", time_added=at(seconds))


def no_execute(key: str, seconds: float) -> Taint:
    return Taint(key, "NoExecute", time_added=at(seconds))


def lost(
    *taints: Taint,
    ready: str | None = "False",
    since: float | None = 100,
    began: str = "",
    mode: str = "Push",
    marks: Mapping[str, str] = NO_MARKS,
) -> Cluster:
    """A cluster whose Ready turned at `since`, and whose outage began at `began`."""
    there = cluster("m1", ready, taints=taints, sync_mode=mode)
    annotations = {**marks, **({OUTAGE_ANNOTATION: began} if began else {})}
    conditions = tuple(
        msgspec.structs.replace(c, last_transition_time=None if since is None else at(since))
        for c in there.status.conditions
    )
    status = msgspec.structs.replace(there.status, conditions=conditions)
    return msgspec.structs.replace(
        there, metadata=msgspec.structs.replace(there.metadata, annotations=annotations), status=status
    )


def decide(
    there: Cluster,
    seconds: float,
    *,
    last_seen: float | None = None,
    failover: bool = True,
    watched: WatchedTime = ALWAYS,
) -> TaintDecision:
    seen = None if last_seen is None else at(last_seen)
    return decide_taints(there, at(seconds), last_seen=seen, eviction_seconds=300, failover=failover, watched=watched)


BEGAN = "2026-01-01T00:01:40Z"
"""100 seconds into the story."""


def since(text: str | None) -> dict[str, str | None]:
    return {OUTAGE_ANNOTATION: text}


@pytest.mark.parametrize(
    ("there", "seconds", "expected"),
    [
        (lost(), 110, TaintDecision((no_schedule(NOT_READY, 110),), since(BEGAN), at(400))),
        (lost(since=900), 110, TaintDecision((no_schedule(NOT_READY, 110),), since("2026-01-01T00:01:50Z"), at(410))),
        (lost(since=None), 110, TaintDecision((no_schedule(NOT_READY, 110),), since("2026-01-01T00:01:50Z"), at(410))),
        (lost(mode="Pull"), 110, TaintDecision((no_schedule(NOT_READY, 110),), since("2026-01-01T00:01:50Z"), at(410))),
        (lost(no_schedule(NOT_READY, 100), began=BEGAN), 399.5,
         TaintDecision((no_schedule(NOT_READY, 100),), {}, at(400))),
        (lost(no_schedule(NOT_READY, 100), began=BEGAN), 400,
         TaintDecision((no_schedule(NOT_READY, 100), no_execute(NOT_READY, 400)), {}, None, is_due=True)),
        (lost(no_schedule(NOT_READY, 100)), 110,
         TaintDecision((no_schedule(NOT_READY, 100),), since("2026-01-01T00:01:50Z"), at(410))),
        (lost(since=50, began=BEGAN), 100, TaintDecision((no_schedule(NOT_READY, 100),), {}, at(400))),
        (lost(began="nonsense"), 110, TaintDecision((no_schedule(NOT_READY, 110),), since(BEGAN), at(400))),
        (lost(no_schedule(UNREACHABLE, 100), no_execute(UNREACHABLE, 400), began=BEGAN), 500,
         TaintDecision((no_schedule(NOT_READY, 500), no_execute(NOT_READY, 400)), {}, None, is_due=True)),
        (lost(no_schedule(NOT_READY, 100), no_execute(NOT_READY, 900), began=BEGAN), 500,
         TaintDecision((no_schedule(NOT_READY, 100), no_execute(NOT_READY, 500)), {}, None, is_due=True)),
        (lost(BY_HAND, began=BEGAN), 500, TaintDecision(
            (BY_HAND, no_schedule(NOT_READY, 500), no_execute(NOT_READY, 500)), {}, None, is_due=True)),
    ],
    ids=[
        "it begins", "dated ahead", "undated", "an agent's clock", "not due yet", "due", "its face has changed",
        "in the same instant", "a clock that nobody can read", "it goes on with another face", "a taint dated ahead",
        "others' taints stay",
    ],
)  # fmt: skip
def test_an_outage_is_tainted_at_once_and_drives_out_when_its_time_is_over(
    there: Cluster, seconds: float, expected: TaintDecision
) -> None:
    assert decide(there, seconds) == expected


def test_a_cluster_without_a_condition_keeps_its_taints_and_gains_one() -> None:
    there = (no_schedule(UNREACHABLE, 100), no_execute(UNREACHABLE, 400))
    assert decide(lost(*there, ready=None), 500).taints == (*there, no_schedule(NOT_READY, 500))


def test_a_taint_with_a_value_of_its_own_stays_beside_another() -> None:
    gpu = msgspec.structs.replace(no_schedule(NOT_READY, 50), value="gpu")
    plain = no_schedule(NOT_READY, 60)
    assert decide(lost(gpu, plain, began=BEGAN), 110).taints == (gpu, plain)
    assert decide(lost(gpu, plain, ready="True"), 110).taints == ()


def test_silence_counts_from_the_last_sign_of_life() -> None:
    unknown = lost(ready="Unknown", mode="Pull")
    assert decide(unknown, 110, last_seen=60).annotations == since("2026-01-01T00:01:00Z")
    assert decide(unknown, 110).annotations == since("2026-01-01T00:01:50Z")
    assert decide(unknown, 110, last_seen=60).taints == (no_schedule(UNREACHABLE, 110),)


def test_without_failover_nothing_is_driven_out_and_what_was_stays_so() -> None:
    due = lost(no_schedule(NOT_READY, 100), began=BEGAN)
    assert decide(due, 500, failover=False) == TaintDecision((no_schedule(NOT_READY, 100),), {}, None, is_due=True)
    already = lost(no_schedule(NOT_READY, 100), no_execute(NOT_READY, 400), began=BEGAN)
    assert decide(already, 500, failover=False).taints == already.spec.taints


def test_s13_the_time_runs_while_somebody_watches() -> None:
    there = lost(no_schedule(NOT_READY, 100), began=BEGAN)
    missed = WatchedTime((Gap(at(200), at(260)),))
    assert decide(there, 459, watched=missed).wake_at == at(460)
    assert decide(there, 460, watched=missed).is_due


ENDS: dict[str, str | None] = {OUTAGE_ANNOTATION: None, OUTAGE_CONFIRMED_ANNOTATION: None}


def test_when_it_is_ready_again_the_four_go_and_the_clock_with_them() -> None:
    taints = (no_schedule(NOT_READY, 100), BY_HAND, no_execute(NOT_READY, 400))
    back = lost(*taints, ready="True", began=BEGAN, marks={OUTAGE_CONFIRMED_ANNOTATION: "one"})
    assert decide(back, 500) == TaintDecision((BY_HAND,), ENDS)
    assert decide(lost(BY_HAND, ready="True"), 500) == TaintDecision((BY_HAND,))


def test_what_could_not_be_looked_at_is_no_outage_unless_karmada_is_asked_for() -> None:
    there = lost(no_schedule(NOT_READY, 100), no_execute(NOT_READY, 400), began=BEGAN)
    refused = Condition("Ready", "False", "StatusCollectionFailed", last_transition_time=at(100))
    there = msgspec.structs.replace(there, status=msgspec.structs.replace(there.status, conditions=(refused,)))
    assert decide(there, 500) == TaintDecision((no_schedule(NOT_READY, 100),), since(None))
    exact = decide_taints(there, at(500), last_seen=None, eviction_seconds=300, could_not_look=False)
    assert exact.taints == there.spec.taints
    assert decide(lost(ready=None, began=BEGAN), 500) == TaintDecision((no_schedule(NOT_READY, 500),), since(None))


def test_a_taint_that_a_policy_has_added_is_not_the_conditions() -> None:
    mine = {POLICY_TAINTS_ANNOTATION: f"{NOT_READY}:NoExecute"}
    back = lost(no_execute(NOT_READY, 0), ready="True", marks=mine)
    assert decide(back, 500).taints == (no_execute(NOT_READY, 0),)
    fails = decide(lost(no_execute(NOT_READY, 0), began=BEGAN, marks=mine), 110)
    assert fails.taints == (no_execute(NOT_READY, 0), no_schedule(NOT_READY, 110))
    other = decide(lost(no_execute(NOT_READY, 0), ready="Unknown", began=BEGAN, marks=mine), 110)
    assert other.taints == (no_execute(NOT_READY, 0), no_schedule(UNREACHABLE, 110))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("a:NoExecute", [("a", "NoExecute")]),
        ("a:NoExecute,b/c:d:NoSchedule", [("a", "NoExecute"), ("b/c:d", "NoSchedule")]),
        ("nonsense", []),
    ],
)
def test_the_taints_of_policies_are_read_from_their_list(text: str, expected: list[tuple[str, str]]) -> None:
    assert sorted(policy_taints(lost(marks={POLICY_TAINTS_ANNOTATION: text}))) == expected
    assert policy_taints(lost()) == set()


def test_s13_an_outage_is_confirmed_once_for_each_heartbeat() -> None:
    assert confirmation(lost(), "one") == {OUTAGE_CONFIRMED_ANNOTATION: "one"}
    assert confirmation(lost(marks={OUTAGE_CONFIRMED_ANNOTATION: "one"}), "one") == {}
    assert confirmation(lost(marks={OUTAGE_CONFIRMED_ANNOTATION: "one"}), "two") == {OUTAGE_CONFIRMED_ANNOTATION: "two"}


def test_the_clock_of_an_outage_is_read_where_it_can_be() -> None:
    assert outage_since(lost(began=BEGAN)) == at(100)
    assert outage_since(lost(began="nonsense")) is None
    assert outage_since(lost()) is None


def test_taints_are_told_as_karmada_tells_them() -> None:
    assert describe_taints(()) == "cluster now does not have taints."
    assert describe_taints((no_schedule(NOT_READY, 0), BY_HAND)) == (
        "cluster now has taints([{Key:cluster.karmada.io/not-ready,Effect:NoSchedule},"
        "{Key:example.com/x,Effect:NoExecute}])."
    )


def test_a_taint_by_hand_counts_from_when_it_is_seen() -> None:
    undated = Taint("example.com/y", "NoExecute", "v")
    soft = Taint("example.com/z", "NoSchedule")
    stamped = stamp_no_execute((BY_HAND, undated, soft), at(7.5))
    assert stamped == (BY_HAND, Taint("example.com/y", "NoExecute", "v", at(7)), soft)
