"""Checks of what must hold whenever the scheduler writes a binding, told from the model alone: S1 to S4, S11, S12, C2,
C3.

Nothing here asks the functions that are under test: whether a copy is seen healthy is looked up in the model again.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from leeward.core.placement import Decision
from leeward.core.scheduling import Placed, Unplaceable
from simulator.small.model import GRACE_TICKS, MAINTENANCE, ClusterObject, Plan, Problem, Task, WorkObject
from simulator.small.worlds import NAMES, Workload


@dataclass(frozen=True, slots=True)
class Writing:
    """One write of the scheduler: the binding before and after it, and what was known then.

    `ordered` and `orders` are the replicas per cluster that Works ask for, before and after.
    """

    workload: Workload
    before: Plan
    after: Plan
    ordered: Mapping[int, int]
    orders: Mapping[int, int]
    works: tuple[WorkObject | None, ...]
    fleet: tuple[ClusterObject, ...]
    decision: Decision

    @property
    def opened(self) -> list[Task]:
        being_left = {task.cluster for task in self.before.tasks}
        return [task for task in self.after.tasks if task.cluster not in being_left]

    @property
    def ended(self) -> dict[int, Task]:
        """The tasks that are over, by cluster; another one for what had stayed there may follow at once."""
        being_left = {task.cluster for task in self.after.tasks}
        over = {NAMES.index(name) for name in self.decision.finished}
        return {t.cluster: t for t in self.before.tasks if t.cluster in over or t.cluster not in being_left}

    @property
    def is_covered(self) -> bool:
        """Tells whether the targets hold all that is asked for, or for what is not divided, a copy."""
        if self.workload.is_divided:
            return sum(self.after.assigned.values()) >= self.after.replicas
        return bool(self.after.targets)

    def is_enough(self, cluster: int, left: int) -> bool:
        """Tells whether all that is asked for is seen ready in the others, with the replicas that are `left` here."""
        gone = {task.cluster for task in self.after.tasks if task.mode == "Directly"}
        staying = {*self.after.assigned, *(task.cluster for task in self.after.tasks)} - gone - {cluster}
        ready = {each: min(self.seen_ready(each), self.orders.get(each, 0)) for each in staying}
        asked = self.after.replicas if self.workload.is_divided else sum(count for _, count in self.before.targets)
        return self.before.rendered and bool(asked) and left + sum(ready.values()) >= asked

    def is_seen(self, cluster: int) -> bool:
        """Tells whether it is known what runs there now, under the Work's present contents."""
        work = self.works[cluster]
        if work is None or work.deleting or not self.fleet[cluster].ready:
            return False
        return work.applied and work.reflected and work.since_ready

    def seen_ready(self, cluster: int) -> int:
        """The replicas that are known to be ready now; what is not known counts as none."""
        work = self.works[cluster]
        return work.ready if work is not None and self.is_seen(cluster) else 0


def check_decision(writing: Writing) -> tuple[Problem, ...]:
    """Problems of one write of the scheduler."""
    checks = (_keeps_copies, _is_legal, _is_conserved, _is_braked, _has_a_place, _gains, _spares, _is_single)
    return tuple(problem for check in checks for problem in check(writing))


def _keeps_copies(w: Writing) -> Iterator[Problem]:
    """S1, of all copies that are to go, or to shrink; what is purged `Directly` goes at once."""
    purged = {task.cluster for task in w.after.tasks if task.mode == "Directly"}
    for cluster, replicas in w.ordered.items():
        left = w.orders.get(cluster, 0)
        if left >= replicas or cluster in purged:
            continue
        task = w.ended.get(cluster)
        yield from _ends_in_time(w, task, left) if task is not None else _shrinks_unseen(w, cluster, replicas, left)


def _ends_in_time(w: Writing, task: Task, left: int) -> Iterator[Problem]:
    """An eviction ends by the law; or late, where the old copy is known to serve nothing."""
    name = NAMES[task.cluster]
    if task.mode == "Directly" or w.is_enough(task.cluster, left):
        return
    if not w.is_seen(task.cluster):
        yield Problem(
            "S1", f"the copy in {name} cannot be seen and goes, and others do not serve all that is asked for"
        )
    elif w.seen_ready(task.cluster) > left:
        yield Problem("S1", f"the copy in {name} serves and goes, and others do not serve all that is asked for")
    elif task.age < GRACE_TICKS:
        yield Problem("S1", f"the copy in {name} goes in its grace period, and others do not serve all")
    elif not w.is_covered:
        yield Problem("S1", f"the copy in {name} goes, and what replaces it was not placed")


def _shrinks_unseen(w: Writing, cluster: int, replicas: int, left: int) -> Iterator[Problem]:
    """Judges what the user did not ask for: it takes only replicas that are placed elsewhere, and none that are seen
    ready, but by the law: an old copy has come back for some."""
    lost = min(replicas, w.seen_ready(cluster)) - left
    if w.before.asked:
        return
    if lost > 0 and not w.is_enough(cluster, left):
        yield Problem("S1", f"{NAMES[cluster]} loses {lost} replicas that are seen ready")
    elif not w.is_covered:
        yield Problem("S1", f"{NAMES[cluster]} shrinks to {left}, and what replaces it was not placed")


def _is_legal(w: Writing) -> Iterator[Problem]:
    """S2: nothing new on tainted clusters, nothing more where it is being evicted, as many clusters as asked for."""
    being_left = {task.cluster for task in w.after.tasks}
    for cluster, replicas in w.after.targets:
        before = w.before.assigned.get(cluster, 0)
        more = w.orders.get(cluster, 0) - w.ordered.get(cluster, 0)
        if cluster in being_left and replicas > before and more > 0:
            yield Problem("S2", f"{NAMES[cluster]} is being left, and gets {more} more replicas")
        if not before and w.fleet[cluster].taints:
            yield Problem("S2", f"{NAMES[cluster]} is a new target, and is tainted")
        if replicas <= 0:
            yield Problem("S3", f"{NAMES[cluster]} is to have {replicas} replicas")
    groups = w.workload.groups
    if groups is not None and isinstance(w.decision.result, Placed):
        fewest, most = groups
        if not fewest <= len(w.after.targets) <= most:
            yield Problem("S2", f"{len(w.after.targets)} clusters, where {fewest} to {most} are asked for")


def _is_conserved(w: Writing) -> Iterator[Problem]:
    """S3; a write that leaves a new number of replicas to the next one changes at least nothing of their sum."""
    assigned = sum(w.after.assigned.values())
    says_so = isinstance(w.decision.result, Unplaceable)
    waits = w.before.asked and assigned == sum(w.before.assigned.values())
    if w.workload.is_divided and assigned != w.after.replicas and not says_so and not waits:
        yield Problem("S3", f"{assigned} replicas are assigned, {w.after.replicas} are asked for")


def _is_braked(w: Writing) -> Iterator[Problem]:
    """S4: nothing is evicted while all clusters look dead."""
    if w.opened and all(cluster.looks_dead for cluster in w.fleet):
        yield Problem("S4", f"evicts from {_names(w.opened)} while every cluster looks dead")


def _has_a_place(w: Writing) -> Iterator[Problem]:
    """S11: what is evicted has a place to go, on clusters that are alive; `Directly` evicts regardless."""
    if not any(task.mode != "Directly" for task in w.opened):
        return
    before = w.before.assigned
    for cluster, replicas in w.after.targets:
        if replicas > before.get(cluster, 0) and w.fleet[cluster].looks_dead:
            yield Problem("S11", f"evicts from {_names(w.opened)} to {NAMES[cluster]}, which looks dead")
    fewest = w.workload.groups[0] if w.workload.groups else 1
    if not w.is_covered or (not w.workload.is_divided and len(w.after.targets) < fewest):
        yield Problem("S11", f"evicts from {_names(w.opened)} without a place for all that is asked for")
    if all(w.fleet[cluster].looks_dead for cluster in w.after.assigned):
        yield Problem("S11", f"evicts from {_names(w.opened)}, and nothing is left on a cluster that is alive")


def _gains(w: Writing) -> Iterator[Problem]:
    """S12: of what is not divided, no more copies leave because of automatic taints than other clusters get one."""
    lost = [t for t in w.opened if t.mode != "Directly" and MAINTENANCE not in w.fleet[t.cluster].taints]
    new = w.after.assigned.keys() - w.before.assigned.keys()
    if not w.workload.is_divided and len(lost) > len(new):
        yield Problem("S12", f"evicts from {_names(lost)}, and only {len(new)} clusters are new")


def _spares(w: Writing) -> Iterator[Problem]:
    """C2: a failover takes nothing from the clusters that are well."""
    if not w.opened or w.before.asked:
        return
    evicted = {task.cluster for task in w.opened}
    for cluster, replicas in w.before.targets:
        left = w.after.assigned.get(cluster, 0)
        if cluster not in evicted and w.fleet[cluster].ready and left < replicas:
            yield Problem("C2", f"{NAMES[cluster]} is well, and shrinks from {replicas} to {left} in a failover")


def _is_single(w: Writing) -> Iterator[Problem]:
    """C3: a cluster is left once."""
    left = [task.cluster for task in w.after.tasks]
    if len(left) > len(set(left)):
        yield Problem("C3", f"two eviction tasks for one cluster: {_names(w.after.tasks)}")


def _names(tasks: list[Task] | tuple[Task, ...]) -> str:
    return ", ".join(NAMES[task.cluster] for task in tasks)
