"""Scheduling of a template's replicas: filter, score, select, divide.

`schedule` answers for one binding on one state of the clusters: `Placed`, or `Unplaceable` with the reason. Plug-ins
are values (a name and a function) in a `Profile`, most of them in `filters.py`. A new one is added to the profile, the
pipeline stays as it is.

Karmada: pkg/scheduler/core; same, proven by the recorded cases in `tests/data/oracle`.

This package never writes: applying the result (and keeping the old one when there is none) is the caller's. Start
reading at `pipeline.py`; then `vectors.py`. `leeward.planning` keeps the arrays, and answers for many bindings, so that
none gets another's reservation.
"""

from leeward.core.scheduling.cluster_arrays import ClusterArrays
from leeward.core.scheduling.conditions import failures_condition, scheduled_condition
from leeward.core.scheduling.model import Placed, Profile, Unplaceable
from leeward.core.scheduling.pipeline import schedule
from leeward.core.scheduling.reschedule import applied_placement, needs_scheduling, same_targets, term_of_targets
from leeward.core.scheduling.trace import Trace

__all__ = [
    "ClusterArrays",
    "Placed",
    "Profile",
    "Trace",
    "Unplaceable",
    "applied_placement",
    "failures_condition",
    "needs_scheduling",
    "same_targets",
    "schedule",
    "scheduled_condition",
    "term_of_targets",
]
