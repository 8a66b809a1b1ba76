"""Where a template's replicas go: filter, score, select, divide.

`schedule` answers for one binding on one snapshot of the fleet: `Placed`, or `Unplaceable` with the reason.
`plan` answers for many, so that none is given what another was promised. Plug-ins are values (a name and a function) in
a `Profile`; each has its own module. A new one is added to the profile, the pipeline stays as it is.

Karmada: pkg/scheduler/core; same, proven by the recorded cases in `tests/data/oracle`.

This package never writes: applying the result (and keeping the old one when there is none) is the caller's.
Start reading at `pipeline.py`; `fleet.py` and `vectors.py` are the same on arrays.
"""

from leeward.core.scheduling.batch import plan
from leeward.core.scheduling.conditions import failures_condition, scheduled_condition
from leeward.core.scheduling.fleet import Fleet
from leeward.core.scheduling.model import Placed, Profile, Unplaceable
from leeward.core.scheduling.pipeline import schedule
from leeward.core.scheduling.reschedule import needs_scheduling
from leeward.core.scheduling.trace import Trace

__all__ = [
    "Fleet",
    "Placed",
    "Profile",
    "Trace",
    "Unplaceable",
    "failures_condition",
    "needs_scheduling",
    "plan",
    "schedule",
    "scheduled_condition",
]
