"""Texts of the condition `Scheduled`, in Karmada's words."""

from typing import Any

import pytest

from leeward.api.meta import Condition
from leeward.core.scheduling import Placed, Unplaceable
from leeward.core.scheduling.conditions import (
    exceeded_condition,
    failures_condition,
    scheduled_condition,
    standing_refusal,
)


def unplaceable(kind: Any, message: str) -> Unplaceable:
    return Unplaceable(kind, message, {})


def test_what_was_placed_says_so() -> None:
    assert scheduled_condition(Placed(())) == Condition(
        "Scheduled", "True", "Success", "Binding has been scheduled successfully."
    )


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("FitError", "NoClusterFit"),
        ("UnschedulableError", "Unschedulable"),
        ("Error", "SchedulerError"),
    ],
)
def test_what_was_not_placed_says_why(kind: str, reason: str) -> None:
    assert scheduled_condition(unplaceable(kind, "no")) == Condition("Scheduled", "False", reason, "no")


def test_what_a_quota_refuses_stands_until_something_else_is_said() -> None:
    refused = exceeded_condition("too much")
    assert refused == Condition("Scheduled", "False", "QuotaExceeded", "too much")
    assert standing_refusal([Condition("Other", "False", "QuotaExceeded", "not this"), refused]) == "too much"
    assert standing_refusal([scheduled_condition(Placed(()))]) == ""
    assert standing_refusal([]) == ""


@pytest.mark.parametrize(
    ("failures", "reason", "message"),
    [
        ([("FitError", "none fits")], "NoClusterFit", "none fits"),
        ([("Error", "a"), ("FitError", "b")], "NoClusterFit", "[a, b]"),
        ([("Error", "a"), ("Error", "a"), ("UnschedulableError", "b")], "SchedulerError", "[a, b]"),
        ([("Error", "a"), ("Error", "a")], "SchedulerError", "a"),
        ([("FitError", "none fits"), ("QuotaExceeded", "too much")], "QuotaExceeded", "too much"),
    ],
)
def test_of_several_terms_each_reason_is_told_once(failures: list[tuple[str, str]], reason: str, message: str) -> None:
    told = failures_condition([unplaceable(*failure) for failure in failures])
    assert told == Condition("Scheduled", "False", reason, message)
