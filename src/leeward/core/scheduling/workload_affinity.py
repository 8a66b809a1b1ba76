"""Plug-ins WorkloadAffinity and WorkloadAntiAffinity: next to, or away from, the other bindings of a group.

A group is named by a binding's `workloadAffinityGroups` and lies within one namespace. `WorkloadGroups` knows who is in
which group and where; the plug-ins are made from it, so that a profile without it (gate WorkloadAffinity off) does not
have them. Karmada: plugins/workloadaffinity; same. A cluster that is a target already always passes.
"""

from collections.abc import Iterable, Mapping

from leeward.api.cluster import Cluster
from leeward.api.names import binding_name
from leeward.api.work import Binding, WorkloadAffinityGroups
from leeward.core.scheduling.model import Filter, Request

Places = Mapping[str, frozenset[str]]
"""The clusters of each binding of a group, by the binding's name."""

_Group = tuple[str, str, str]


class WorkloadGroups:
    """Who is in which group, and where; keep it up to date with `put` and `remove`."""

    def __init__(self, bindings: Iterable[Binding] = ()) -> None:
        self._places: dict[_Group, dict[str, frozenset[str]]] = {}
        self._groups: dict[tuple[str, str], list[_Group]] = {}
        for binding in bindings:
            self.put(binding)

    def put(self, binding: Binding) -> None:
        self.remove(binding)
        groups = _groups_of(binding.namespace, binding.spec.workload_affinity_groups)
        targets = frozenset(target.name for target in binding.spec.clusters)
        for group in groups:
            self._places.setdefault(group, {})[binding.name] = targets
        if groups:
            self._groups[binding.namespace, binding.name] = groups

    def remove(self, binding: Binding) -> None:
        for group in self._groups.pop((binding.namespace, binding.name), ()):
            del self._places[group][binding.name]
            if not self._places[group]:
                del self._places[group]

    def others(self, request: Request, kind: str) -> list[frozenset[str]]:
        """Where the other bindings are that share the request's group of this kind."""
        resource, groups = request.spec.resource, request.spec.workload_affinity_groups
        found = next((g for g in _groups_of(resource.namespace, groups) if g[0] == kind), None)
        own = binding_name(resource.kind, resource.name)
        members = self._places.get(found, {}) if found else {}
        return [targets for name, targets in members.items() if name != own]


def workload_affinity_filters(groups: WorkloadGroups) -> tuple[Filter, Filter]:
    """The two plug-ins, looking at `groups` as they are when asked."""

    def reject_alone(request: Request, cluster: Cluster) -> str | None:
        if cluster.name in request.assigned:
            return None
        if all(not targets or cluster.name in targets for targets in groups.others(request, "affinity")):
            return None
        return "ResourceBinding with the same affinity group does not target this cluster"

    def reject_together(request: Request, cluster: Cluster) -> str | None:
        if cluster.name in request.assigned:
            return None
        if any(cluster.name in targets for targets in groups.others(request, "antiAffinity")):
            return "cluster already has workload with the same anti-affinity group"
        return None

    return Filter("WorkloadAffinity", reject_alone), Filter("WorkloadAntiAffinity", reject_together)


def _groups_of(namespace: str, groups: WorkloadAffinityGroups | None) -> list[_Group]:
    if groups is None:
        return []
    named = (("affinity", groups.affinity_group), ("antiAffinity", groups.anti_affinity_group))
    return [(kind, namespace, name) for kind, name in named if name]
