"""Conditions of all objects: their order, and since when each is as it is."""

from datetime import timedelta

from kubeapi.codec import to_wire
from kubeapi.meta import parse_time, wire_time
from leeward.api.meta import Condition, find_condition, put_condition, remove_condition, set_condition

NOW = parse_time("2000-01-01T00:00:00.25Z")
LATER = NOW + timedelta(seconds=10)


def ready(status: str, reason: str = "Because") -> Condition:
    return Condition(type="Ready", status=status, reason=reason)


def test_a_new_condition_gets_the_time_in_whole_seconds() -> None:
    (condition,) = set_condition((), ready("True"), NOW)
    assert condition.last_transition_time == wire_time(NOW)


def test_the_transition_time_stays_while_the_status_stays() -> None:
    (condition,) = set_condition(set_condition((), ready("True"), NOW), ready("True", "Other"), LATER)
    assert condition.reason == "Other"
    assert condition.last_transition_time == wire_time(NOW)


def test_the_transition_time_moves_with_the_status() -> None:
    (condition,) = set_condition(set_condition((), ready("True"), NOW), ready("False"), LATER)
    assert condition.last_transition_time == wire_time(LATER)


def test_other_conditions_keep_their_places() -> None:
    others = tuple(Condition(type=name, status="True", reason="R") for name in ("A", "Ready", "Z"))
    assert [c.type for c in set_condition(others, ready("False"), NOW)] == ["A", "Ready", "Z"]
    assert [c.type for c in remove_condition(others, "Ready")] == ["A", "Z"]
    assert find_condition(others, "B") is None


def test_an_empty_message_is_on_the_wire_because_karmadas_schema_requires_it() -> None:
    assert to_wire(ready("True"))["message"] == ""


def test_a_condition_is_put_in_its_place_or_taken_away() -> None:
    others = (
        Condition("A", "True", "Test", last_transition_time=NOW),
        Condition("Z", "True", "Test", last_transition_time=NOW),
    )
    both = put_condition(others, "Ready", ready("False"), NOW)
    assert both == set_condition(others, ready("False"), NOW)
    assert put_condition(both, "Ready", None, LATER) == others
    assert put_condition(others, "Ready", None, LATER) == others
