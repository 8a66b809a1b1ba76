"""What a binding says about its scheduling: the condition `Scheduled`.

Karmada: pkg/scheduler/helper.go (`getConditionByError`); same reasons and messages.
"""

from leeward.api.meta import Condition
from leeward.core.scheduling.model import Placed, Unplaceable

_REASONS = {"FitError": "NoClusterFit", "UnschedulableError": "Unschedulable", "Error": "SchedulerError"}


def scheduled_condition(result: Placed | Unplaceable) -> Condition:
    if isinstance(result, Placed):
        return Condition("Scheduled", "True", "Success", "Binding has been scheduled successfully.")
    return Condition("Scheduled", "False", _REASONS[result.kind], result.message)
