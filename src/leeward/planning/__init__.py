"""Planning: what changes while decisions are made. It keeps what is fast and mutable, and decisions only read it.

    fleet               all clusters as arrays, with what is kept from one decision to the next     feasibility
    reservations        what clusters have left, less what was given away since they reported       capacity, nodes
    batch               many bindings decided on one fleet
    eviction_limiter    the rate of evictions, and the budget of a drained cluster
    estimates           the latest answers of estimators outside of the scheduler
    workload_groups     which bindings share an affinity group, and where they are
    rendered_overrides  what was rendered for one cluster, for the others of the binding
    recording           a snapshot as JSON, and back

Between `core`, which changes nothing, and the controllers, which write.
"""

from leeward.planning.batch import plan
from leeward.planning.fleet import Fleet

__all__ = ["Fleet", "plan"]
