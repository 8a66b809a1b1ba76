"""The condition `leeward.dev/Rollout` of a binding, and of a template while not all clusters have its revision."""

from datetime import datetime

from msgspec import structs

from kubeapi.diff import is_equal
from kubeapi.meta import Manifest, ReadOnlyManifest, format_time
from leeward.api.meta import Condition, put_condition
from leeward.api.rollout import ROLLOUT_CONDITION
from leeward.api.work import ResourceBindingStatus
from leeward.core.execution.unseen import WORKLOADS
from leeward.core.interpreter.fields import list_at, text_at
from leeward.core.rollout.rollout_decision import Reason, RolloutDecision

STOPPED = frozenset((Reason.OUTAGE, Reason.NOT_SERVING, Reason.FAILED, Reason.ROLLED_BACK, Reason.UNREADABLE))
"""Reasons of which somebody wants to hear."""


def condition_of(decision: RolloutDecision) -> Condition:
    is_done = decision.reason is Reason.COMPLETE
    return Condition(
        type=ROLLOUT_CONDITION,
        status="False" if is_done else "True",
        reason=decision.reason,
        message=decision.message,
    )


def with_rollout(status: ResourceBindingStatus, rollout: Condition | None, now: datetime) -> ResourceBindingStatus:
    """`status` that says so, or says nothing of the kind."""
    return structs.replace(status, conditions=put_condition(status.conditions, ROLLOUT_CONDITION, rollout, now))


def with_rollout_told(
    template: ReadOnlyManifest, status: ReadOnlyManifest, rollout: Condition | None, now: datetime
) -> Manifest:
    """The template's status with the condition, while it is True, or without it."""
    if (template.get("apiVersion"), template.get("kind")) not in WORKLOADS:
        return dict(status)
    conditions = list_at(status, "conditions")
    others = [each for each in conditions if text_at(each, "type") != ROLLOUT_CONDITION]
    if rollout is not None and rollout.status == "True":
        known = [
            each for each in list_at(template, "status", "conditions") if text_at(each, "type") == ROLLOUT_CONDITION
        ]
        since = next((text_at(each, "lastTransitionTime") for each in known), "") or format_time(now)
        what = {"type": ROLLOUT_CONDITION, "status": "True", "reason": rollout.reason, "message": rollout.message}
        others.append({**what, "lastTransitionTime": since})
    if is_equal(others, list(conditions)):
        return dict(status)
    rest = {name: value for name, value in status.items() if name != "conditions"}
    return {**rest, "conditions": others} if others else rest
