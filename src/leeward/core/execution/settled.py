"""Works that say of themselves that nothing is left to do for them.

A process that begins looks at everything once, for what is said may be wrong by now. It looks at these last. Nothing
else rests on it: who is said to be settled is reconciled as all are.
"""

from leeward.api.meta import find_condition
from leeward.api.names import REFLECTED_CONDITION
from leeward.api.work import Work
from leeward.core.interpreter.resource_health import health_rules_in


def is_carried_out(work: Work) -> bool:
    """Tells whether the member is said to contain what this generation of the Work asks for."""
    stays = work.metadata.deletion_timestamp is None and not work.spec.suspend_dispatching
    applied = work.applied
    return (
        stays and work.was_applied and applied is not None and applied.observed_generation == work.metadata.generation
    )


def is_reported(work: Work) -> bool:
    """Tells whether it is carried out, and its objects are said to be well as of this generation, or are of kinds that
    nobody judges."""
    reflected = find_condition(work.status.conditions, REFLECTED_CONDITION)
    rules = [health_rules_in(status) for status in work.status.manifest_statuses]
    is_well = bool(rules) and all(each.is_well or not each.is_known for each in rules)
    is_of_now = reflected is not None and reflected.observed_generation == work.metadata.generation
    return is_well and is_of_now and is_carried_out(work)
