"""The fleet that placement decides on: clusters, the plug-ins of production, and what is known of other bindings."""

from collections.abc import Iterable

from leeward.api.cluster import Cluster
from leeward.core.failover.brake import looks_dead
from leeward.core.scheduling import Fleet, Profile
from leeward.core.scheduling.estimates import Estimates, estimator_of
from leeward.core.scheduling.steps import DEFAULT_PROFILE
from leeward.core.scheduling.workload_affinity import WorkloadGroups, workload_affinity_filters


def placement_fleet(
    clusters: Iterable[Cluster] = (),
    *,
    estimates: Estimates | None = None,
    groups: WorkloadGroups | None = None,
    multiple_pod_templates: bool = False,
) -> Fleet:
    """`estimates` are what estimators outside of the scheduler answered, `groups` where workload affinity groups are.

    Gates: without `groups` WorkloadAffinity is off; `multiple_pod_templates` is MultiplePodTemplatesScheduling.
    """

    def is_left(name: str) -> bool:
        """Whether what is in the cluster has to leave it."""
        cluster = fleet.get(name)
        return cluster is None or cluster.is_being_deleted or looks_dead(cluster) or has_no_execute(cluster)

    estimates = estimates if estimates is not None else Estimates()
    filters = () if groups is None else workload_affinity_filters(groups, is_left)
    profile = Profile(
        filters=(*DEFAULT_PROFILE.filters, *filters),
        scores=DEFAULT_PROFILE.scores,
        estimators=(*DEFAULT_PROFILE.estimators, estimator_of(estimates)),
        multiple_pod_templates=multiple_pod_templates,
    )
    fleet = Fleet(clusters, profile, estimates, groups)
    return fleet


def has_no_execute(cluster: Cluster) -> bool:
    return any(taint.effect == "NoExecute" for taint in cluster.spec.taints)
