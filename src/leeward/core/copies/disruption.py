"""The one law for taking replicas away from an application.

    may_disrupt(taken)  for every copy in `taken` that may lose something:
                            what it keeps + what the others surely serve  >=  asked

Who may lose something leaves enough. A copy in `taken` shrinks to that many replicas; 0 takes it away. For every truth
within the bounds, what serves afterwards is then no less than what is asked for, or than what served before, whichever
is less. What the law refuses would break that for some truth.

Nothing is remembered from one question to the next. Each is about what is known now.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from leeward.api.cluster import Cluster
from leeward.api.work import GracefulEvictionTask, ResourceBindingSpec, Work
from leeward.core.cluster_health.pending_condition import is_failing
from leeward.core.copies.availability import Availability, at_instant, availability
from leeward.core.copies.purge_modes import rules_of_task

NO_SIZES: Mapping[str, int] = {}


@dataclass(frozen=True, slots=True)
class KnownCopy:
    """Row of the table: the copy of a binding in one cluster.

    `assigned` replicas are to run there; by the override policies it is `need` of them. It serves `at_least`, and may
    serve `at_most`. A copy that is `ordered` to go counts for nothing, though it is still told.
    """

    assigned: int
    need: int
    at_least: int
    at_most: int
    ordered: bool = False


@dataclass(frozen=True, slots=True)
class CopyTable:
    """The table of one binding by cluster; `asked` replicas are asked for in all. `settles_at` is the next instant at
    which a report comes to be believed."""

    rows: Mapping[str, KnownCopy]
    asked: int
    settles_at: datetime | None = None

    @property
    def is_served(self) -> bool:
        """Tells whether all that is asked for surely serves: a copy that is not in the table may go."""
        return sum(0 if row.ordered else row.at_least for row in self.rows.values()) >= self.asked

    def may_disrupt(self, taken: Mapping[str, int]) -> bool:
        """Tells whether the copies in `taken` may shrink to so many replicas. Holds: S1."""
        left = {name: taken[name] for name in taken if name in self.rows}
        kept = {
            name: 0 if row.ordered and name not in left else min(row.at_least, left.get(name, row.at_least))
            for name, row in self.rows.items()
        }
        losing = [name for name, stays in left.items() if self.rows[name].at_most > stays]
        return all(sum(kept.values()) - kept[name] + left[name] >= self.asked for name in losing)


def copies_of(
    spec: ResourceBindingSpec,
    works: Mapping[str, Work],
    clusters: Mapping[str, Cluster],
    now: datetime,
    sizes: Mapping[str, int] = NO_SIZES,
    needs: Mapping[str, int] = NO_SIZES,
    *,
    watched: bool = True,
) -> CopyTable:
    """The table of a binding; `works` are its Works by cluster. `sizes` are the replicas of Works that are larger than
    they are to be, `needs` those of targets that override policies give other numbers. While the fleet is not
    `watched`, nothing surely serves."""
    assigned = {target.name: target.replicas for target in spec.clusters}
    leaving = {task.from_cluster: task for task in spec.graceful_eviction_tasks}
    rows, instants = dict[str, KnownCopy](), list[datetime]()
    for name in {**assigned, **leaving, **works}:
        there = sizes.get(name, _there(spec, assigned.get(name), leaving.get(name)))
        work, cluster = works.get(name), clusters.get(name)
        told = availability(work, cluster, there)
        known = at_instant(told, there, now)
        instants += [told.believed_from] if told.believed_from is not None and told.believed_from > now else []
        is_doubted = not watched or cluster is None or is_failing(cluster)
        at_least, at_most = _counted(spec, known)
        is_kept = name in assigned or (name in leaving and rules_of_task(leaving[name]).keeps_copy)
        given = assigned.get(name, 0) if spec.is_divided else _whole(spec) if name in assigned else 0
        rows[name] = KnownCopy(
            given,
            min(given, needs.get(name, given)),
            0 if is_doubted else at_least,
            at_most,
            ordered=not is_kept or (work is not None and _goes(work)),
        )
    return CopyTable(rows, _asked(spec, rows), min(instants, default=None))


def _goes(work: Work) -> bool:
    """Tells whether the member deletes the objects of the Work."""
    return work.metadata.deletion_timestamp is not None and not work.spec.preserve_resources_on_deletion


def _asked(spec: ResourceBindingSpec, rows: Mapping[str, KnownCopy]) -> int:
    """Number of replicas that are asked for in all. A copy that has no target yet is asked for as a whole."""
    if spec.is_divided:
        return spec.replicas - sum(row.assigned - row.need for row in rows.values())
    return sum(row.need for row in rows.values() if row.assigned) or _whole(spec)


def _whole(spec: ResourceBindingSpec) -> int:
    """Size of a copy that is not divided; 1 where its kind has no replicas."""
    return max(1, spec.replicas)


def _there(spec: ResourceBindingSpec, assigned: int | None, task: GracefulEvictionTask | None) -> int:
    """Number of replicas that a copy has until its eviction has ended."""
    if not spec.is_divided:
        return spec.replicas if assigned is not None or task is None else task.replicas or spec.replicas
    return (assigned or 0) + (task.replicas or 0 if task is not None else 0)


def _counted(spec: ResourceBindingSpec, known: Availability) -> tuple[int, int]:
    """Bounds in the unit that is asked for. A copy that is not divided stands for one cluster: beyond that it replaces
    no other. One of a kind without replicas serves as a whole."""
    if spec.is_divided:
        return known.at_least, known.at_most
    if spec.replicas == 0:
        return int(known.is_whole), min(1, known.at_most)
    return min(known.at_least, spec.replicas), min(known.at_most, spec.replicas)
