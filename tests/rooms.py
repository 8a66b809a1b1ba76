"""Clusters with so much room, and bindings that divide their replicas by it."""

from collections.abc import Mapping

import msgspec

from leeward.api.cluster import Cluster, ResourceSummary
from leeward.api.policy import ClusterPreferences, Placement, ReplicaSchedulingStrategy, SpreadConstraint
from leeward.api.work import ReplicaRequirements, ResourceBinding
from tests.builders import DEFAULT_TOLERATIONS, binding, targets

DYNAMIC = ReplicaSchedulingStrategy(
    replica_scheduling_type="Divided",
    replica_division_preference="Weighted",
    weight_preference=ClusterPreferences(dynamic_weight="AvailableReplicas"),
)
AGGREGATED = ReplicaSchedulingStrategy(replica_scheduling_type="Divided", replica_division_preference="Aggregated")


def roomy(there: Cluster, room: int) -> Cluster:
    """`there` with room for so many more replicas."""
    summary = ResourceSummary(allocatable={"cpu": str(room), "pods": "110"})
    return msgspec.structs.replace(there, status=msgspec.structs.replace(there.status, resource_summary=summary))


def spread(
    strategy: ReplicaSchedulingStrategy, held: Mapping[str, int], groups: tuple[int, int] | None = None
) -> ResourceBinding:
    """A divided binding that holds these replicas, each of which asks for a whole core."""
    constraint = groups and SpreadConstraint(spread_by_field="cluster", min_groups=groups[0], max_groups=groups[1])
    placement = Placement(
        cluster_tolerations=DEFAULT_TOLERATIONS,
        replica_scheduling=strategy,
        spread_constraints=(constraint,) if constraint else (),
    )
    asked = ReplicaRequirements(resource_request={"cpu": "1"})
    return binding(placement, sum(held.values()), targets(**held), replica_requirements=asked)
