"""Index of groups that move together: which bindings are members, and with whom.

A group lies within one namespace. Its name is that of the annotation `leeward.dev/moves-with`, or of Karmada's workload
affinity where that gate is on.
"""

from collections.abc import Callable, Iterable, Mapping, Set

from leeward.api.cluster import Cluster
from leeward.api.moves_with import MOVES_WITH_ANNOTATION, name_fault
from leeward.api.work import Binding, GracefulEvictionTask, Work
from leeward.core.copies.job_copies import over_in
from leeward.core.moving_together import MOST_MEMBERS, keeps_in_one_cluster, target_of
from leeward.core.placement import Decision, Snapshot
from leeward.core.placement.cause import cause_in
from leeward.core.scheduling import Unplaceable
from leeward.core.scheduling.model import Filter, Request

Look = Callable[[str, str], tuple[Binding, Mapping[str, Work]] | None]


class MovingGroups:
    """Index of groups and their members; keep it up to date with `put` and `remove`. `affinity`: Karmada's count.

    `look` finds a binding by namespace and name, with its Works by cluster; None where nothing may be decided of it.
    """

    def __init__(
        self, bindings: Iterable[Binding] = (), look: Look = lambda _, __: None, *, affinity: bool = False
    ) -> None:
        self._affinity = affinity
        self.look: Look = look
        self._group_of: dict[tuple[str, str], str] = {}
        self._members: dict[tuple[str, str], set[str]] = {}
        for binding in bindings:
            self.put(binding)

    def put(self, binding: Binding) -> None:
        self.remove(binding)
        group = self._named_by(binding)
        if group and binding.namespace and keeps_in_one_cluster(binding.spec.placement):
            self._group_of[binding.namespace, binding.name] = group
            self._members.setdefault((binding.namespace, group), set()).add(binding.name)

    def remove(self, binding: Binding) -> None:
        group = self._group_of.pop((binding.namespace, binding.name), None)
        if group is None:
            return
        members = self._members[binding.namespace, group]
        members.remove(binding.name)
        if not members:
            del self._members[binding.namespace, group]

    def group_of(self, binding: Binding) -> str:
        """Name of its group; empty where it has none."""
        return self._group_of.get((binding.namespace, binding.name), "")

    def beside(self, binding: Binding) -> list[str]:
        """Names of the other bindings of its group, sorted; none where the group is too large."""
        group = self._group_of.get((binding.namespace, binding.name))
        if group is None:
            return []
        members = self._members[binding.namespace, group]
        return sorted(members - {binding.name}) if len(members) <= MOST_MEMBERS else []

    def size_of(self, binding: Binding) -> int:
        """Number of members of its group, itself included; 0 where it has none."""
        return len(self._members.get((binding.namespace, self.group_of(binding)), ()))

    def _named_by(self, binding: Binding) -> str:
        annotations, groups = binding.metadata.annotations, binding.spec.workload_affinity_groups
        name = annotations.get(MOVES_WITH_ANNOTATION, "")
        if name and name_fault(annotations) is None:
            return name
        return groups.affinity_group if self._affinity and groups is not None else ""


def apart_filter(barred: Callable[[], Set[str]]) -> Filter:
    """Plug-in that refuses clusters which are barred while a member is decided; a target always passes."""

    def reject(request: Request, cluster: Cluster) -> str | None:
        is_barred = cluster.name in barred() and cluster.name not in request.assigned
        return "it is not where its group moves together" if is_barred else None

    return Filter("MovesTogether", reject, concerns=lambda _: bool(barred()))


def place_of(member: Snapshot) -> str | None:
    return target_of(member.binding.spec.clusters)


def leaving(which: Snapshot | Decision) -> dict[str, GracefulEvictionTask]:
    tasks = which.eviction_tasks if isinstance(which, Decision) else which.binding.spec.graceful_eviction_tasks
    return {task.from_cluster: task for task in tasks}


def is_over(member: Snapshot) -> bool:
    """Tells whether all that a Job has to do is done: it follows nobody, and holds nobody."""
    return bool(over_in(member.works, member.binding.spec.resource.uid))


def why_not(found: Decision) -> str:
    if found.held is not None:
        return cause_in(found.held.reason, found.held.message)
    result = found.result
    return result.cause or result.message if isinstance(result, Unplaceable) else "it stays where it is"
