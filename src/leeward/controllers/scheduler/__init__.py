"""The scheduler: decides where every binding goes, and is the only writer of where it goes.

    scheduler         one binding at a time: decided, written, told
    bindings          the bindings of both kinds, under one kind of key, and their Works
    scheduling_cycle  those that are taken together are decided on one state of the fleet
    event_handlers    the changes for which a binding is looked at again
    decision_writer   evicting, placing and finishing an eviction are one write
    decision_events   events and metrics; `eviction_events` of many bindings at once are summed up by cluster

The most urgent bindings come first. A binding without a place is tried again when a cluster changes, with growing
pauses, and at the latest after five minutes. All other deadlines are the decision's `wake_at`.

Karmada: pkg/scheduler, the taint manager of pkg/controllers/cluster, pkg/controllers/gracefuleviction.
"""

from leeward.controllers.scheduler.scheduler import Scheduler
from leeward.controllers.scheduler.scheduling_cycle import SchedulerSettings

__all__ = ["Scheduler", "SchedulerSettings"]
