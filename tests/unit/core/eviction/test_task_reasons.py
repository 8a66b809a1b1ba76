"""Reasons of eviction tasks: what each means, and that a task of somebody else is none of ours."""

import pytest

from leeward.api.work import GracefulEvictionTask
from leeward.core.eviction.tasks import (
    RULES,
    ReasonRules,
    TaskReason,
    reason_of,
    reason_rules_of_task,
)


def task(reason: str) -> GracefulEvictionTask:
    return GracefulEvictionTask("a", reason, "somebody", "Gracefully")


@pytest.mark.parametrize(
    ("reason", "fails_over", "is_failback", "was_never_healthy"),
    [
        (TaskReason.TAINT_UNTOLERATED, True, False, False),
        (TaskReason.APPLICATION_FAILURE, True, False, False),
        (TaskReason.AFFINITY_TERM_LEFT, True, False, False),
        (TaskReason.REPLACEMENT_FAILED, True, False, True),
        (TaskReason.FAILBACK, False, True, False),
    ],
)
def test_what_a_reason_means(reason: TaskReason, fails_over: bool, is_failback: bool, was_never_healthy: bool) -> None:
    rules = reason_rules_of_task(task(reason.value))
    assert (rules.withdraws, rules.fails_over) == (True, fails_over)
    assert (rules.is_failback, rules.was_never_healthy) == (is_failback, was_never_healthy)


@pytest.mark.parametrize("reason", ["", "Maintenance", "taintuntolerated"])
def test_what_somebody_else_evicts_is_evicted(reason: str) -> None:
    assert reason_of(task(reason)) is None
    assert reason_rules_of_task(task(reason)) == ReasonRules(False, False, False, False)


def test_every_reason_has_a_meaning() -> None:
    assert RULES.keys() == set(TaskReason)
