"""WorkloadGroups: which bindings share an affinity group, and in which clusters they are.

A group lies within one namespace, and is named by a binding's `workloadAffinityGroups`.
"""

from collections.abc import Iterable, Sequence

from kubeapi.meta import Object
from leeward.api.names import binding_name
from leeward.api.work import Binding, TargetCluster, WorkloadAffinityGroups
from leeward.core.scheduling.model import Request


class GroupMember(Object, frozen=True):
    """A binding of a group, and where it is; `kind` is that of the group, as a binding names it."""

    kind: str
    name: str
    clusters: tuple[str, ...] = ()


_Group = tuple[str, str, str]


class WorkloadGroups:
    """Index of workload groups: who is in which, and where; keep it up to date with `put` and `remove`."""

    def __init__(self, bindings: Iterable[Binding] = ()) -> None:
        self._places: dict[_Group, dict[str, frozenset[str]]] = {}
        self._groups: dict[tuple[str, str], list[_Group]] = {}
        for binding in bindings:
            self.put(binding)

    def put(self, binding: Binding, clusters: Sequence[TargetCluster] | None = None) -> None:
        """Takes in where the binding is, or the `clusters` to which it is about to go."""
        self.remove(binding)
        groups = _groups_of(binding.namespace, binding.spec.workload_affinity_groups)
        targets = frozenset(target.name for target in (binding.spec.clusters if clusters is None else clusters))
        for group in groups:
            self._places.setdefault(group, {})[binding.name] = targets
        if groups:
            self._groups[binding.namespace, binding.name] = groups

    def remove(self, binding: Binding) -> None:
        for group in self._groups.pop((binding.namespace, binding.name), ()):
            del self._places[group][binding.name]
            if not self._places[group]:
                del self._places[group]

    def beside(self, binding: Binding) -> set[str]:
        """The names of the bindings of its namespace that share a group with this one."""
        groups = self._groups.get((binding.namespace, binding.name), ())
        return {name for group in groups for name in self._places[group]} - {binding.name}

    def members_beside(self, binding: Binding) -> tuple[GroupMember, ...]:
        """Bindings beside it in its groups, with their clusters."""
        groups = _groups_of(binding.namespace, binding.spec.workload_affinity_groups)
        return tuple(
            GroupMember(kind=group[0], name=name, clusters=tuple(sorted(clusters)))
            for group in groups
            for name, clusters in sorted(self._places.get(group, {}).items())
            if name != binding.name
        )

    def restore(self, binding: Binding, members: Iterable[GroupMember]) -> None:
        """Takes in what `members_beside` told."""
        groups = {group[0]: group for group in _groups_of(binding.namespace, binding.spec.workload_affinity_groups)}
        for member in members:
            if member.kind in groups:
                self._places.setdefault(groups[member.kind], {})[member.name] = frozenset(member.clusters)

    def others(self, request: Request, kind: str) -> list[frozenset[str]]:
        """Clusters of each of the other bindings that share the request's group of this kind."""
        resource, groups = request.spec.resource, request.spec.workload_affinity_groups
        found = next((g for g in _groups_of(resource.namespace, groups) if g[0] == kind), None)
        own = binding_name(resource.kind, resource.name)
        members = self._places.get(found, {}) if found else {}
        return [targets for name, targets in members.items() if name != own]


def _groups_of(namespace: str, groups: WorkloadAffinityGroups | None) -> list[_Group]:
    if groups is None:
        return []
    named = (("affinity", groups.affinity_group), ("antiAffinity", groups.anti_affinity_group))
    return [(kind, namespace, name) for kind, name in named if name]
