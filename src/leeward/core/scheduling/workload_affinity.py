"""Plug-ins WorkloadAffinity and WorkloadAntiAffinity: next to, or away from, the other bindings of a group.

A group is named by a binding's `workloadAffinityGroups` and lies within one namespace.
`leeward.planning.WorkloadGroups` knows the members of each group and their places. A profile without it (gate
WorkloadAffinity off) does not have the plug-ins. A cluster that is a target already always passes.

Karmada: plugins/workloadaffinity; same, but that a place which its holder has to leave holds nobody. A group would
otherwise stay on a dead cluster for ever, each member for the sake of the others.
"""

from collections.abc import Callable, Sequence

from leeward.api.cluster import Cluster
from leeward.core.scheduling.model import Filter, Request

OthersOf = Callable[[Request, str], Sequence[frozenset[str]]]
"""Clusters of each of the other bindings that share the request's group of one kind, `affinity` or `antiAffinity`."""


def stays_everywhere(cluster: str) -> bool:
    return False


def workload_affinity_filters(
    others: OthersOf, is_left: Callable[[str], bool] = stays_everywhere
) -> tuple[Filter, Filter]:
    """The two plug-ins, looking at the groups as they are when asked; `is_left`: copies in the cluster have to go."""

    def reject_alone(request: Request, cluster: Cluster) -> str | None:
        if cluster.name in request.assigned:
            return None
        places = others(request, "affinity")
        if all(cluster.name in targets or all(map(is_left, targets)) for targets in places):
            return None
        return "ResourceBinding with the same affinity group does not target this cluster"

    def reject_together(request: Request, cluster: Cluster) -> str | None:
        if cluster.name in request.assigned:
            return None
        if any(cluster.name in targets for targets in others(request, "antiAffinity")):
            return "cluster already has workload with the same anti-affinity group"
        return None

    return (
        Filter("WorkloadAffinity", reject_alone, concerns=_has_groups),
        Filter("WorkloadAntiAffinity", reject_together, concerns=_has_groups),
    )


def _has_groups(request: Request) -> bool:
    return request.spec.workload_affinity_groups is not None
