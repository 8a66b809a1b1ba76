"""The general estimator: how many more replicas fit into a cluster, by what it reports of its resources.

Karmada: pkg/estimator/client/general.go; same, except that amounts are never truncated to 32 bits.
"""

from collections.abc import Mapping, Sequence

from leeward.api.cluster import Cluster
from leeward.api.quantity import Quantity
from leeward.api.work import Component, ResourceBindingSpec
from leeward.core.scheduling.capacity import Capacity, Demand
from leeward.core.scheduling.model import Estimator


def available_replicas(cluster: Cluster, request: Mapping[str, Quantity] | None) -> int:
    """Replicas that fit, each asking for `request`; None asks for nothing but a pod. Never negative.

    Raises: ValueError or ArithmeticError for a quantity that cannot be read, or is absurd.
    """
    capacity = Capacity.of(cluster)
    return 0 if capacity is None else capacity.replicas(None if request is None else Demand.of(request))


def available_sets(cluster: Cluster, components: Sequence[Component]) -> int:
    """Whole sets of components that fit. Raises: as `available_replicas`."""
    capacity = Capacity.of(cluster)
    return 0 if capacity is None else capacity.sets(components)


def _estimate(spec: ResourceBindingSpec, cluster: Cluster) -> int:
    """What cannot be read leaves no room: a member that reports nonsense harms only itself. Holds: S10."""
    requirements = spec.replica_requirements
    try:
        return available_replicas(cluster, None if requirements is None else requirements.resource_request)
    except (ValueError, ArithmeticError):
        return 0


def _estimate_sets(spec: ResourceBindingSpec, cluster: Cluster) -> int:
    """Holds: S10."""
    try:
        return available_sets(cluster, spec.components)
    except (ValueError, ArithmeticError):
        return 0


GENERAL_ESTIMATOR = Estimator("GeneralEstimator", _estimate, _estimate_sets)
