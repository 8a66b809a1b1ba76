"""Copy: the row of a binding in one cluster, as its Work, its eviction task and its cluster tell it.

A decision is made on the table of these rows (`disruption.CopyTable`).
"""

from dataclasses import dataclass
from datetime import datetime

from leeward.api.cluster import Cluster
from leeward.api.work import GracefulEvictionTask, ResourceBindingSpec, Work, awaits_gate
from leeward.core.cluster_health.pending_condition import is_failing
from leeward.core.copies.availability import NOTHING, Availability, at_instant, availability, wanted_by_itself
from leeward.core.copies.purge_modes import rules_of_task
from leeward.core.interpreter.resource_health import ResourceHealth, health_in


@dataclass(frozen=True, slots=True)
class KnownCopy:
    """The copy of a binding in one cluster.

    `assigned` replicas are to run there, and `leaving` are to go. Of the assigned ones it is to run `need`: an override
    policy or its own cluster may want fewer. It surely serves `at_least`, and may serve `at_most`. One that is
    `ordered` to go counts for nothing, though it is still told. `task` says why it leaves, and in which way. `known` is
    its availability in the unit of its own kind.
    """

    assigned: int
    need: int
    at_least: int
    at_most: int
    leaving: int = 0
    ordered: bool = False
    task: GracefulEvictionTask | None = None
    work: Work | None = None
    home: Cluster | None = None
    known: Availability = NOTHING

    @property
    def is_serving(self) -> bool:
        """Tells whether all that it is to run surely serves."""
        return self.at_least >= self.need

    @property
    def is_gone(self) -> bool:
        """Tells whether there is nothing left to take away: it was purged, or its cluster has left the fleet."""
        keeps = self.task is not None and rules_of_task(self.task).keeps_copy
        return self.work is None and not (keeps and self.home is not None)

    @property
    def is_under_way(self) -> bool:
        """Tells whether it is a Job that runs: its end decides, and not the time that it takes."""
        return self.known.since is not None and self.known.at_most > self.known.told

    @property
    def is_unjudged(self) -> bool:
        """Tells whether nobody can say how the copy is, whatever it counts as ready."""
        statuses = self.work.status.manifest_statuses if self.work is not None else ()
        return any(health_in(status) is ResourceHealth.UNKNOWN for status in statuses)

    @property
    def wish(self) -> int:
        """Number of replicas that its own cluster wants of it, where it is whole with fewer than are assigned."""
        return min(wanted_by_itself(self.work, self.home) or self.assigned, self.assigned)


def row_of(
    spec: ResourceBindingSpec,
    work: Work | None,
    home: Cluster | None,
    task: GracefulEvictionTask | None,
    now: datetime,
    *,
    assigned: int | None,
    there: int,
    watched: bool,
) -> KnownCopy:
    """The row of a copy of `there` replicas; None are `assigned` where it is no target. While the fleet is not
    `watched`, it does not surely serve."""
    known = at_instant(told := availability(work, home, there), there, now)
    at_least, at_most = _counted(spec, known)
    is_doubted = not watched or home is None or is_failing(home) or awaits_gate(work)
    is_kept = assigned is not None or (task is not None and rules_of_task(task).keeps_copy)
    given = 0 if assigned is None else assigned if spec.is_divided else max(1, assigned)
    ordered = not is_kept or (work is not None and _goes(work))
    serving = 0 if is_doubted else at_least
    return KnownCopy(given, given, serving, at_most, there - (assigned or 0), ordered, task, work, home, told)


def _goes(work: Work) -> bool:
    """Tells whether the member deletes the objects of the Work."""
    return work.metadata.deletion_timestamp is not None and not work.spec.preserve_resources_on_deletion


def _counted(spec: ResourceBindingSpec, known: Availability) -> tuple[int, int]:
    """Bounds in the unit that is asked for. A copy that is not divided stands for one cluster: beyond that it replaces
    no other. One of a kind without replicas serves as a whole."""
    if spec.is_divided:
        return known.at_least, known.at_most
    if spec.replicas == 0:
        return int(known.is_whole), min(1, known.at_most)
    return min(known.at_least, spec.replicas), min(known.at_most, spec.replicas)
