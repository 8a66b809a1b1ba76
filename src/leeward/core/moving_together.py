"""Members of a group that moves together: who can be one.

A member has a placement that keeps it in one cluster. `leeward.planning.moving_groups` knows who belongs together, and
`leeward.planning.group_decisions` decides for them.
"""

from leeward.api.policy import Placement
from leeward.api.spread_field import SpreadField
from leeward.api.work import TargetCluster

MOST_MEMBERS = 16
"""A larger group has no effect: each decision may ask about all members, for each place."""
NOT_IN_ONE = (
    "has no effect: the placement does not keep a template in one cluster; add a spread constraint by cluster with "
    "maxGroups 1, or name one cluster in each affinity term"
)


def keeps_in_one_cluster(placement: Placement | None) -> bool:
    """Tells whether a placement chooses one cluster: by a spread constraint, or by terms of one cluster each."""
    if placement is None:
        return False
    terms, strategy = placement.cluster_affinities, placement.replica_scheduling
    if terms and all(len(term.cluster_names) == 1 and not term.overflow_affinities for term in terms):
        return True
    limits = [each.max_groups for each in placement.spread_constraints if each.spread_by_field == SpreadField.CLUSTER]
    return limits[-1:] == [1] and (strategy is None or not strategy.has_static_weights)


def target_of(clusters: tuple[TargetCluster, ...]) -> str | None:
    """Name of the only target, empty where there is none; None where there are several."""
    return None if len(clusters) > 1 else clusters[0].name if clusters else ""
