"""Filter plug-ins that ask one question of a cluster each. That of affinity is in `affinity.py`: it also knows tiers.

Karmada: plugins/apienablement, tainttoleration, spreadconstraint, clustereviction; same.
"""

from kubeapi.toleration import untolerated_taint
from leeward.api.cluster import Cluster
from leeward.api.spread_field import rules_of_field
from leeward.core.scheduling.model import Filter, Request
from leeward.core.scheduling.spread_fields import field_of


def is_enabled(cluster: Cluster, api_version: str, kind: str) -> bool:
    """A kind that is not listed counts as absent, even where the list is incomplete."""
    return any(
        resource.kind == kind
        for enablement in cluster.status.api_enablements
        if enablement.group_version == api_version
        for resource in enablement.resources
    )


def _without_api(request: Request, cluster: Cluster) -> str | None:
    resource = request.spec.resource
    if cluster.name in request.assigned or is_enabled(cluster, resource.api_version, resource.kind):
        return None
    return "cluster(s) did not have the API resource"


def _not_tolerated(request: Request, cluster: Cluster) -> str | None:
    """A target is never filtered out for its taints: only an eviction takes a copy away."""
    if cluster.name in request.assigned:
        return None
    taint = untolerated_taint(cluster.taints, request.placement.cluster_tolerations)
    return None if taint is None else f"cluster(s) had untolerated taint {{{taint}}}"


def _lacking_spread_field(request: Request, cluster: Cluster) -> str | None:
    for constraint in request.placement.spread_constraints:
        field = field_of(constraint)
        if field is not None and not any(rules_of_field(field).values(cluster)):
            return f"cluster(s) did not have {rules_of_field(field).lacking} property"
    return None


def _being_evicted(request: Request, cluster: Cluster) -> str | None:
    """Filter by eviction tasks: any open one bars its cluster, even one that is still a target."""
    return "cluster(s) is in the process of eviction" if cluster.name in request.evicted_from else None


API_ENABLEMENT = Filter("APIEnablement", _without_api, shared=True)
TAINT_TOLERATION = Filter("TaintToleration", _not_tolerated, shared=True)
SPREAD_CONSTRAINT = Filter("SpreadConstraint", _lacking_spread_field, shared=True)
CLUSTER_EVICTION = Filter("ClusterEviction", _being_evicted, shared=True)
