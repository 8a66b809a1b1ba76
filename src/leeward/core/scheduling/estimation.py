"""The general estimator: how many more replicas fit into a cluster, by what it reports of its resources.

Either by the summary (one big pool), or, when the cluster has resource models, by nodes of the smallest size of each
grade. Karmada: pkg/estimator/client/general.go; same, except that amounts are never truncated to 32 bits.
"""

from collections.abc import Mapping
from decimal import ROUND_CEILING, Decimal

from leeward.api.cluster import Cluster, ResourceSummary
from leeward.api.quantity import Quantity, milli, parse_quantity, whole
from leeward.api.work import ResourceBindingSpec
from leeward.core.scheduling.model import MAX_REPLICAS, Estimator
from leeward.core.scheduling.node_models import replicas_by_models


def available_replicas(cluster: Cluster, request: Mapping[str, Quantity] | None) -> int:
    """Replicas that fit, each asking for `request`; None asks for nothing but a pod. Never negative.

    Raises: ValueError or ArithmeticError for a quantity that cannot be read, or is absurd.
    """
    summary = cluster.status.resource_summary
    if summary is None:
        return 0
    pods = min(_ceil(_free(summary, "pods")), MAX_REPLICAS)
    if pods <= 0:
        return 0
    if request is None:
        return pods
    by_models = replicas_by_models(cluster, request)
    if by_models is None:
        by_models = min((_fit(summary, name, amount) for name, amount in request.items()), default=MAX_REPLICAS)
    return max(0, min(pods, by_models))


def _fit(summary: ResourceSummary, name: str, amount: Quantity) -> int:
    """How often `amount` fits into what is free; a request for nothing fits always."""
    if whole(amount) <= 0:
        return MAX_REPLICAS
    if name not in summary.allocatable:
        return 0
    free = _free(summary, name)
    if _ceil(free) <= 0:
        return 0
    return _ceil(free * 1000) // milli(amount) if name == "cpu" else _ceil(free) // whole(amount)


def _free(summary: ResourceSummary, name: str) -> Decimal:
    parts = (summary.allocatable, summary.allocated, summary.allocating)
    allocatable, allocated, allocating = (parse_quantity(part.get(name, 0)) for part in parts)
    return allocatable - allocated - allocating


def _ceil(amount: Decimal) -> int:
    return int(amount.to_integral_value(ROUND_CEILING))


def _estimate(spec: ResourceBindingSpec, cluster: Cluster) -> int:
    """What cannot be read leaves no room: a member that reports nonsense harms only itself. Holds: S10."""
    requirements = spec.replica_requirements
    try:
        return available_replicas(cluster, None if requirements is None else requirements.resource_request)
    except (ValueError, ArithmeticError):
        return 0


GENERAL_ESTIMATOR = Estimator("GeneralEstimator", _estimate)
