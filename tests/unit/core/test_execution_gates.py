"""Gates of a binding: which copies wait, what an object says of a gate, and how long until the next look."""

from datetime import timedelta

import msgspec
import pytest

from kubeapi.meta import Manifest, ObjectMeta
from leeward.api.gates import ReplacementGate
from leeward.api.meta import Condition
from leeward.api.names import AWAITED_GATE_ANNOTATION, REPLACEMENT_HELD_CONDITION
from leeward.api.work import AggregatedStatusItem, GracefulEvictionTask, ResourceBinding
from leeward.core.copies.disruption import copies_of
from leeward.core.execution.gate_reviews import answer_of_gate
from leeward.core.execution.gates import (
    GateSight,
    HeldCopy,
    judge_gate,
    pause_after,
    replacement_held,
    replaces,
)
from tests.builders import NOW, binding, cluster, divided, targets, works

PRIMARY = "jsonpath={.status.state}=Primary"


def gate(expression: str) -> ReplacementGate:
    return ReplacementGate("x.example.com/v1", "Volume", "db", "shop", expression=expression)


def condition(status: str, observed: int = 0) -> Manifest:
    return {"status": {"conditions": [{"type": "Ready", "status": status, "observedGeneration": observed}]}}


@pytest.mark.parametrize(
    ("expression", "found", "why"),
    [
        ("create", {}, ""),
        ("create", {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}, "it is being deleted"),
        (PRIMARY, {"status": {"state": "Primary"}}, ""),
        (PRIMARY, {"status": {"state": "Secondary"}}, "its {.status.state} is Secondary"),
        (PRIMARY, {"status": {}}, "it has no {.status.state}"),
        (PRIMARY, {}, "it has no {.status.state}"),
        ("jsonpath={.status.image}", {"status": {"image": "a"}}, ""),
        ("jsonpath={.status.image}", {"status": {"image": ""}}, "its {.status.image} is empty"),
        ("condition=Ready", condition("True"), ""),
        ("condition=Ready", condition("true"), ""),
        ("condition=Ready", condition("Unknown"), "its condition Ready is Unknown"),
        ("condition=Ready=False", condition("False"), ""),
        ("condition=Ready", {}, "it has no condition Ready"),
        ("condition=Ready", {**condition("True", 2), "metadata": {"generation": 2}}, ""),
        (
            "condition=Ready",
            {**condition("True", 1), "metadata": {"generation": 2}},
            "its condition Ready is of generation 1, and it is at 2",
        ),
    ],
)
def test_a_gate_holds_when_its_object_says_so(expression: str, found: Manifest, why: str) -> None:
    assert judge_gate(gate(expression), found) == GateSight(why)


def test_a_gate_that_finds_too_much_does_not_hold_and_says_so() -> None:
    many = ",".join("*" * 60)
    sight = judge_gate(gate(f"jsonpath={{[{many}][{many}][{many}]}}"), {"spec": {"a": {"b": "c"}}})
    assert not sight.holds
    assert "finds more than 1000 values" in sight.why


def moved(**status: object) -> ResourceBinding:
    found = binding(divided({"a": 1, "b": 1}), 2, targets(b=2))
    return msgspec.structs.replace(found, status=msgspec.structs.replace(found.status, **status))


def test_the_first_placement_and_an_added_cluster_replace_nothing() -> None:
    there = (AggregatedStatusItem(cluster_name="b"),)
    assert not replaces(moved(), "b", NOW)
    assert not replaces(moved(aggregated_status=there), "b", NOW)


def test_a_copy_replaces_what_leaves_what_was_there_and_what_it_was_held_for() -> None:
    left = (AggregatedStatusItem(cluster_name="a"),)
    waiting = (Condition(REPLACEMENT_HELD_CONDITION, "True", "WaitingForGate", last_transition_time=NOW),)
    leaving = moved()
    spec = msgspec.structs.replace(
        leaving.spec,
        graceful_eviction_tasks=(
            GracefulEvictionTask(from_cluster="a", reason="TaintUntolerated", producer="TaintManager"),
        ),
    )
    assert replaces(moved(aggregated_status=left), "b", NOW)
    assert replaces(moved(conditions=waiting), "b", NOW)
    assert replaces(msgspec.structs.replace(leaving, spec=spec), "b", NOW)


@pytest.mark.parametrize(("waited", "pause"), [(0, 2), (60, 6), (3600, 30)])
def test_looks_come_less_often_the_longer_it_takes(waited: int, pause: int) -> None:
    assert pause_after(timedelta(seconds=waited)) == timedelta(seconds=pause)


@pytest.mark.parametrize(
    ("held", "waited", "reason"),
    [
        ([HeldCopy("b", True, gate("create"), GateSight("it is not there"))], 0, "WaitingForGate"),
        ([HeldCopy("b", True, gate("create"), GateSight("refused", seen=False))], 0, "CouldNotLook"),
        ([HeldCopy("b", True, gate("create"), GateSight("refused", seen=False))], 300, "GateOverdue"),
        ([HeldCopy("b", True, None, GateSight("for: what"))], 900, "GateUnreadable"),
    ],
)
def test_the_condition_has_the_worst_reason(held: list[HeldCopy], waited: int, reason: str) -> None:
    since = NOW - timedelta(seconds=waited)
    waiting = (Condition(REPLACEMENT_HELD_CONDITION, "True", "WaitingForGate", last_transition_time=since),)
    found = replacement_held(moved(conditions=waiting), held, NOW)
    assert found is not None
    assert (found.reason, "the replacement in b does not start" in found.message) == (reason, True)
    assert replacement_held(moved(), [], NOW) is None


def test_s1_nobody_relies_on_a_copy_before_its_gate_holds() -> None:
    spec = binding(divided({"a": 1, "b": 1}), 2, targets(b=2)).spec
    there = works({"a": 2, "b": 2})
    marked = ObjectMeta(name=there["b"].name, annotations={AWAITED_GATE_ANNOTATION: "Volume shop/db"})
    awaiting = {**there, "b": msgspec.structs.replace(there["b"], metadata=marked)}
    fleet = {"a": cluster("a"), "b": cluster("b")}
    assert copies_of(spec, there, fleet, NOW).may_disrupt({"a": 0})
    assert not copies_of(spec, awaiting, fleet, NOW).may_disrupt({"a": 0})


@pytest.mark.parametrize(
    ("code", "body", "sight"),
    [
        (200, b'{"response": {"uid": "1", "allowed": true}}', GateSight("")),
        (200, b'{"response": {"uid": "1", "allowed": false}}', GateSight("it does not allow it")),
        (200, b'{"response": {"uid": "1", "allowed": false, "status": {"message": "wait"}}}', GateSight("wait")),
        (500, b"", GateSight("it answered with code 500", seen=False)),
        (200, b"<html>", GateSight("its answer is no JSON", seen=False)),
        (200, b"[" * 100_000, GateSight("its answer is no JSON", seen=False)),
    ],
)
def test_a_webhook_answers_as_to_a_review(code: int, body: bytes, sight: GateSight) -> None:
    assert answer_of_gate(code, body, "1") == sight


@pytest.mark.parametrize(
    "body",
    [b"[]", b"{}", b'{"response": {"uid": "2", "allowed": true}}', b'{"response": {"uid": "1", "allowed": "yes"}}'],
)
def test_an_answer_that_makes_no_sense_opens_nothing(body: bytes) -> None:
    assert not answer_of_gate(200, body, "1").seen
