"""Reasons of eviction tasks: why a copy leaves, and who says so. One row for each; no text is compared elsewhere.

Karmada: `TaintUntolerated` and `ApplicationFailure`, with their producers; the others are ours. A task with another
reason is somebody else's: it is carried out, ends as ours do, and is never taken back.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

from leeward.api.work import GracefulEvictionTask


class TaskReason(StrEnum):
    TAINT_UNTOLERATED = "TaintUntolerated"
    APPLICATION_FAILURE = "ApplicationFailure"
    AFFINITY_TERM_LEFT = "AffinityTermLeft"
    REPLACEMENT_FAILED = "ReplacementFailed"
    """A cluster took the place of another, and what was moved to it never became healthy there."""
    FAILBACK = "Failback"


class Producer(StrEnum):
    """The component that opens an eviction task. Application failover of a ResourceBinding and of a
    ClusterResourceBinding differ."""

    TAINT_MANAGER = "TaintManager"
    APPLICATION_FAILOVER = "resource-binding-application-failover-controller"
    CLUSTER_APPLICATION_FAILOVER = "cluster-resource-binding-application-failover-controller"
    LEEWARD = "Leeward"


@dataclass(frozen=True, slots=True)
class ReasonRules:
    """Meaning of a reason.

    withdraws           the eviction is taken back when its cluster is well again
    fails_over          it is a failover: a replacement that takes nothing is left for the next cluster
    is_failback         it is taken back only when the failback has failed, with all that was moved
    was_never_healthy   where its copy is not well, there was never one that was
    """

    withdraws: bool
    fails_over: bool
    is_failback: bool
    was_never_healthy: bool


_FAILOVER = ReasonRules(withdraws=True, fails_over=True, is_failback=False, was_never_healthy=False)
_IN_VAIN = ReasonRules(withdraws=True, fails_over=True, is_failback=False, was_never_healthy=True)
_FAILBACK = ReasonRules(withdraws=True, fails_over=False, is_failback=True, was_never_healthy=False)
_OF_OTHERS = ReasonRules(withdraws=False, fails_over=False, is_failback=False, was_never_healthy=False)
_OURS = frozenset(TaskReason)


def rules_of_reason(reason: TaskReason) -> ReasonRules:
    match reason:
        case TaskReason.TAINT_UNTOLERATED | TaskReason.APPLICATION_FAILURE | TaskReason.AFFINITY_TERM_LEFT:
            return _FAILOVER
        case TaskReason.REPLACEMENT_FAILED:
            return _IN_VAIN
        case TaskReason.FAILBACK:
            return _FAILBACK
        case _:
            assert_never(reason)


def reason_of(task: GracefulEvictionTask) -> TaskReason | None:
    """None for a task of somebody else."""
    return TaskReason(task.reason) if task.reason in _OURS else None


def reason_rules_of_task(task: GracefulEvictionTask) -> ReasonRules:
    reason = reason_of(task)
    return _OF_OTHERS if reason is None else rules_of_reason(reason)


def moves_on(task: GracefulEvictionTask) -> bool:
    """Tells whether the replacement of its copy goes on to the next cluster where it is not taken."""
    is_failover = reason_rules_of_task(task).fails_over
    return is_failover and task.suppress_deletion is None and task.purge_rules.moves_on
