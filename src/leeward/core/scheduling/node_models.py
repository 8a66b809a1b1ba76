"""Estimating by resource models: the cluster as nodes of known grades.

Each node counts as the smallest of its grade, with 110 pods. Karmada: pkg/modeling, pkg/estimator/client/general.go.
"""

from collections.abc import Mapping

from leeward.api.cluster import Cluster, ResourceModel
from leeward.api.quantity import Quantity, milli, whole

PODS_PER_NODE = 110
_NATIVE = frozenset({"cpu", "memory", "ephemeral-storage", "pods"})


def replicas_by_models(cluster: Cluster, request: Mapping[str, Quantity]) -> int | None:
    """Replicas that fit on the modelled nodes; None when the cluster has no usable models."""
    summary = cluster.status.resource_summary
    counts = {} if summary is None else {m.grade: m.count for m in summary.allocatable_modelings}
    models = cluster.spec.resource_models
    if not counts or not models or any(count < 0 for count in counts.values()):
        return None
    return sum(counts.get(model.grade, 0) * _per_node(model, request) for model in models)


def _per_node(model: ResourceModel, request: Mapping[str, Quantity]) -> int:
    offered = {each.name: each.min for each in model.ranges}
    fits = [PODS_PER_NODE]
    for name, amount in request.items():
        if whole(amount) <= 0 or not _is_counted(name):
            continue
        measure = milli if name == "cpu" else whole
        fits.append(measure(offered.get(name, 0)) // measure(amount))
    return max(0, min(fits))


def _is_counted(name: str) -> bool:
    """Whether nodes keep account of this resource: the native ones, extended and attachable ones, huge pages."""
    return name in _NATIVE or "/" in name or name.startswith(("hugepages-", "attachable-volumes-"))
