"""The general estimator: how many more replicas fit into a cluster, by what it reports of its resources.

Karmada: pkg/estimator/client/general.go; same, except that amounts are never truncated to 32 bits.
"""

from collections.abc import Callable, Mapping, Sequence

from leeward.api.cluster import Cluster
from leeward.api.quantity import Quantity
from leeward.api.work import Component
from leeward.core.scheduling.capacity import Capacity, Demand
from leeward.core.scheduling.model import Estimator, Request


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


def _estimate(request: Request) -> Callable[[Cluster], int]:
    return _sets_in(request.spec.components) if request.is_set else _replicas_in(request)


def _replicas_in(request: Request) -> Callable[[Cluster], int]:
    requirements = request.spec.replica_requirements
    asked = None if requirements is None else requirements.resource_request
    return _or_none(lambda cluster: available_replicas(cluster, asked))


def _sets_in(components: Sequence[Component]) -> Callable[[Cluster], int]:
    return _or_none(lambda cluster: available_sets(cluster, components))


def _or_none(count: Callable[[Cluster], int]) -> Callable[[Cluster], int]:
    """What cannot be read leaves no room: a member that reports nonsense harms only itself. Holds: S10."""

    def careful(cluster: Cluster) -> int:
        try:
            return count(cluster)
        except (ValueError, ArithmeticError):
            return 0

    return careful


GENERAL_ESTIMATOR = Estimator("GeneralEstimator", _estimate)
