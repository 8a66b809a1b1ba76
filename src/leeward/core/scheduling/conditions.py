"""The condition `Scheduled`: the result of a binding's scheduling.

Karmada: pkg/scheduler/helper.go (`getConditionByError`); same reasons.
The cause comes first in a message, and Karmada's text behind it.
"""

from collections.abc import Sequence

from leeward.api.meta import Condition
from leeward.core.scheduling.model import Placed, Unplaceable

_REASONS = {"FitError": "NoClusterFit", "UnschedulableError": "Unschedulable"}


def scheduled_condition(result: Placed | Unplaceable) -> Condition:
    if isinstance(result, Placed):
        return Condition("Scheduled", "True", "Success", "Binding has been scheduled successfully.")
    return Condition("Scheduled", "False", _REASONS.get(result.kind, "SchedulerError"), result.told)


def exceeded_condition(refusal: str) -> Condition:
    """Condition of a result that a quota has refused."""
    return Condition("Scheduled", "False", "QuotaExceeded", refusal)


def standing_refusal(conditions: Sequence[Condition]) -> str:
    """Message with which a quota has refused the last result; empty where none has."""
    return next((c.message for c in conditions if (c.type, c.reason) == ("Scheduled", "QuotaExceeded")), "")


def failures_condition(failures: Sequence[Unplaceable]) -> Condition:
    """Condition for an attempt that failed in several respects: a quota that is exceeded is told before that no cluster
    fits."""
    quota = next((failure for failure in failures if failure.kind == "QuotaExceeded"), None)
    if quota is not None:
        return exceeded_condition(quota.message)
    reason = "NoClusterFit" if any(failure.kind == "FitError" for failure in failures) else "SchedulerError"
    messages = list(dict.fromkeys(failure.message for failure in failures))
    message = messages[0] if len(messages) == 1 else f"[{', '.join(messages)}]"
    return Condition("Scheduled", "False", reason, message)
