"""The table of an application's copies, and the one law for taking replicas away from it.

A copy is a row: a binding in one cluster, as its Work, its eviction task and its cluster tell it.

    may_disrupt(taken)  for every copy in `taken` that may lose something:
                            kept there + surely served by the others  >=  asked

A copy in `taken` shrinks to that many replicas; 0 takes it away. Then for every truth within the bounds no fewer
replicas serve than are asked for, or than served before, whichever is less. A step that the law refuses would break
that for some truth.

Nothing is remembered from one question to the next. Each is about the present knowledge.
"""

import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from leeward.api.cluster import Cluster
from leeward.api.work import GracefulEvictionTask, ResourceBindingSpec, Work, awaits_gate
from leeward.core.cluster_health.brake import looks_dead
from leeward.core.cluster_health.pending_condition import is_failing
from leeward.core.copies.availability import NOTHING, Availability, at_instant, availability, wanted_by_itself
from leeward.core.copies.evidence import was_there_before
from leeward.core.interpreter.own_replicas import told_to_run
from leeward.core.interpreter.resource_health import ResourceHealth, health_in

NO_SIZES: Mapping[str, int] = {}


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
        keeps = self.task is not None and self.task.purge_rules.keeps_copy
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


@dataclass(frozen=True, slots=True)
class CopyTable:
    """The copies of one binding by cluster; `asked` replicas are asked for in all. `settles_at` is the next instant at
    which a report comes to be believed."""

    rows: Mapping[str, KnownCopy]
    asked: int
    settles_at: datetime | None = None

    @property
    def is_served(self) -> bool:
        """Tells whether all that is asked for surely serves: a copy that is not in the table may go."""
        return sum(self._kept(NO_SIZES).values()) >= self.asked

    def serves(self, names: Iterable[str]) -> bool:
        """Tells whether the copies in these clusters surely serve all that they are to run, or that is wanted there."""
        rows = [(row, wanted_by_itself(row.work, row.home)) for row in map(self.rows.__getitem__, names)]
        return all(row.at_least >= min(row.need, wanted or row.need) for row, wanted in rows)

    def leaves_enough(self, name: str, taken: Mapping[str, int]) -> bool:
        """Tells whether enough surely serves with the replicas that this copy keeps, once so many are `taken`."""
        kept = self._kept(taken)
        return sum(kept.values()) - kept[name] + taken[name] >= self.asked

    def may_disrupt(self, taken: Mapping[str, int]) -> bool:
        """Tells whether the copies in `taken` may shrink to so many replicas. Holds: S1."""
        losing = [name for name, stays in taken.items() if name in self.rows and self.rows[name].at_most > stays]
        return all(self.leaves_enough(name, taken) for name in losing)

    def of_a_move(self) -> "CopyTable":
        """The table for a copy that the user has moved away. It waits for no target in a dead cluster, once others
        serve as many replicas as go."""
        dead = sum(row.need for row in self.rows.values() if row.home is not None and looks_dead(row.home))
        goes = sum(max(0, row.at_most - row.assigned) for row in self.rows.values())
        return replace(self, asked=min(self.asked, max(self.asked - dead, goes)))

    def _kept(self, taken: Mapping[str, int]) -> Mapping[str, int]:
        """Replicas that surely serve afterwards."""
        return {
            name: 0 if row.ordered and name not in taken else min(row.at_least, taken.get(name, row.at_least))
            for name, row in self.rows.items()
        }


def copies_of(
    spec: ResourceBindingSpec,
    works: Mapping[str, Work],
    clusters: Mapping[str, Cluster],
    now: datetime,
    sizes: Mapping[str, int] = NO_SIZES,
    needs: Mapping[str, int] | None = NO_SIZES,
    *,
    watched: bool = True,
) -> CopyTable:
    """The table of a binding; `works` are its Works by cluster. `sizes` are the replicas of Works that are larger than
    they are to be. `needs` are those of targets with overrides; None: their own clusters tell them."""
    assigned = spec.assigned
    tasks = {task.from_cluster: task for task in spec.graceful_eviction_tasks}
    goes = Counter[str]()
    for task in spec.graceful_eviction_tasks:
        goes[task.from_cluster] += task.replicas or 0
    rows = dict[str, KnownCopy]()
    for name in {**assigned, **tasks, **works}:
        given, there = assigned.get(name), assigned.get(name, 0) + goes[name]
        if not spec.is_divided:
            given, there = (None, goes[name] or spec.replicas) if given is None else (spec.replicas, spec.replicas)
        there, work, home = sizes.get(name, there), works.get(name), clusters.get(name)
        rows[name] = _row_of(spec, work, home, tasks.get(name), now, assigned=given, there=there, watched=watched)
    wishes = needs if needs is not None else _wishes(spec, rows, now)
    wishes = {**wishes, **{name: 0 for name, row in rows.items() if _is_idle(row, tasks.values())}}
    rows |= {n: replace(rows[n], need=min(rows[n].need, wishes[n])) for n in rows.keys() & wishes.keys()}
    instants = [at for row in rows.values() if (at := row.known.believed_from) is not None and at > now]
    return CopyTable(rows, _asked(spec, rows), min(instants, default=None))


def _wishes(spec: ResourceBindingSpec, rows: Mapping[str, KnownCopy], now: datetime) -> Mapping[str, int]:
    """Replicas that their clusters want of targets, where these are as many as all others are to lose: any number where
    nobody knows their size. A part that is older than an eviction has a load of its own, and so have replicas for which
    no more leaves."""
    opened = {task.from_cluster: task.creation_timestamp or now for task in spec.graceful_eviction_tasks}
    sizes = [max(0, _size(rows[name], now) - rows[name].assigned) for name in opened]
    least, wishing = max(sizes, default=0), [*rows]
    if spec.is_divided:
        began = max(opened.values(), default=now)
        wishing = [n for n, row in rows.items() if opened and not was_there_before(row.work, began, timedelta())]
        loaded = sum(rows[name].assigned for name in wishing) - sum(rows[name].leaving for name in opened)
        least = sum(sizes) + max(0, loaded)
    wanted = {name: wanted_by_itself(rows[name].work, rows[name].home) for name in wishing}
    return {name: own for name, own in wanted.items() if own >= max(1, least)}


def _size(row: KnownCopy, now: datetime) -> int:
    """Number of replicas that the copy is to run, or runs: Pods that restart make it no smaller."""
    is_told = at_instant(row.known, 0, now).since is not None
    size = max(told_to_run(row.work) or sys.maxsize, row.known.told) if is_told else sys.maxsize
    return size if row.work is not None else 0


def _is_idle(row: KnownCopy, tasks: Iterable[GracefulEvictionTask]) -> bool:
    """Tells whether a copy is whole and runs nothing, as a DaemonSet for which no node is meant; and replaces none."""
    began = (task.creation_timestamp for task in tasks)
    return row.known.is_whole and row.at_most == 0 and all(was_there_before(row.work, at) for at in began)


def _asked(spec: ResourceBindingSpec, rows: Mapping[str, KnownCopy]) -> int:
    """Number of replicas that are asked for in all. A copy that has no target yet is asked for as a whole."""
    if spec.is_divided:
        return spec.replicas - sum(row.assigned - row.need for row in rows.values())
    if spec.asks_for_none:
        return 0
    return sum(row.need for row in rows.values()) or max(1, spec.replicas)


def _row_of(
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
    is_kept = assigned is not None or (task is not None and task.purge_rules.keeps_copy)
    given = 0 if assigned is None else assigned if spec.is_divided else max(1, assigned)
    ordered = not is_kept or (work is not None and _goes(work))
    serving = 0 if is_doubted else at_least
    return KnownCopy(given, given, serving, at_most, there - (assigned or 0), ordered, task, work, home, told)


def _goes(work: Work) -> bool:
    """Tells whether the member deletes the objects of the Work."""
    return work.metadata.deletion_timestamp is not None and not work.spec.preserve_resources_on_deletion


def _counted(spec: ResourceBindingSpec, known: Availability) -> tuple[int, int]:
    """Bounds in the unit that is asked for. A copy that is not divided stands for one cluster: beyond that it replaces
    no other. One of a kind without replicas serves as a whole, where it runs anything."""
    if spec.is_divided:
        return known.at_least, known.at_most
    if spec.replicas == 0:
        return min(int(known.is_whole), known.at_most), min(1, known.at_most)
    return min(known.at_least, spec.replicas), min(known.at_most, spec.replicas)
