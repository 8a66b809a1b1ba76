"""Check of a decision before it is written: S1, S2, S3, S11, S12 and C3, told from the snapshot alone.

It does not ask the phases or their actions again. It shares with them the meaning of words (filters, evidence,
authority, tables of purge modes and spread fields). A finding is a bug of Leeward: such a decision is refused, and the
binding stays as it is. `Directly` and Karmada-exact mode are not judged by S11 and S12, nor a taint by hand by S12.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import msgspec

from leeward.api.cluster import Cluster
from leeward.api.policy import SpreadConstraint
from leeward.api.spread_field import rules_of_field
from leeward.api.work import GracefulEvictionTask, ResourceBindingSpec
from leeward.core.cluster_health.brake import looks_dead
from leeward.core.cluster_health.flap_damping import tolerating_hold_down
from leeward.core.copies.disruption import CopyTable, copies_of
from leeward.core.eviction.blocked_evictions import held_refused
from leeward.core.eviction.due_evictions import Eviction, is_automatic
from leeward.core.eviction.tasks import TaskReason, reason_of
from leeward.core.placement.decision import Decision
from leeward.core.placement.situation import situation_kind
from leeward.core.placement.snapshot import Snapshot, authority_over, with_found_copies
from leeward.core.placement.within_usage import as_assigned
from leeward.core.scheduling import Placed, Unplaceable
from leeward.core.scheduling.affinity import is_in_term
from leeward.core.scheduling.joined_terms import with_joined_terms
from leeward.core.scheduling.model import Rejection, Request
from leeward.core.scheduling.selection import ignores_constraints
from leeward.core.scheduling.spread_fields import field_of, is_over_clusters
from leeward.core.scheduling.steps import DEFAULT_PROFILE, first_rejection

RETRY = timedelta(minutes=1)
"""Time after which what was refused is decided again."""


@dataclass(frozen=True, slots=True)
class Violation:
    """An invariant that a decision would break, by its id in docs/invariants.md."""

    invariant: str
    message: str

    def __str__(self) -> str:
        return f"{self.invariant}: {self.message}"


def check(snapshot: Snapshot, decision: Decision) -> tuple[Violation, ...]:
    """Violations in a decision. One that changes neither targets nor tasks is right."""
    snapshot = with_found_copies(snapshot)
    spec = snapshot.binding.spec
    if decision.clusters == spec.clusters and decision.eviction_tasks == spec.graceful_eviction_tasks:
        return ()
    joined: Any = with_joined_terms(snapshot.binding, snapshot.clusters)
    move = _Move(snapshot if joined is snapshot.binding else replace(snapshot, binding=joined), decision)
    rules = (_is_legal, _is_spread, _is_conserved, _is_left_once, _has_a_place, _gains, _serves_on, _is_replaced)
    return tuple(violation for rule in rules for violation in rule(move))


@dataclass(frozen=True, slots=True)
class _Move:
    snapshot: Snapshot
    decision: Decision

    @property
    def before(self) -> Mapping[str, int]:
        return self.snapshot.binding.spec.assigned

    @property
    def after(self) -> Mapping[str, int]:
        return {target.name: target.replicas for target in self.decision.clusters}

    @property
    def term(self) -> str:
        """The affinity term that the result satisfies, or else the observed one."""
        result, status = self.decision.result, self.snapshot.binding.status
        return result.affinity_name if isinstance(result, Placed) else status.scheduler_observing_affinity_name

    def copies(self, spec: ResourceBindingSpec) -> CopyTable:
        at = self.snapshot
        return copies_of(spec, at.works, at.clusters, at.now, needs=None)

    @property
    def opened(self) -> list[GracefulEvictionTask]:
        """Eviction tasks that begin, but for those of copies that are purged at once."""
        known = {task.from_cluster for task in self.snapshot.binding.spec.graceful_eviction_tasks}
        begun = (task for task in self.decision.eviction_tasks if task.from_cluster not in known)
        return [task for task in begun if task.purge_rules.needs_place]

    @property
    def opened_automatically(self) -> list[GracefulEvictionTask]:
        """Tasks for taints that the control plane has set, or a ClusterTaintPolicy, and no person."""
        by_taint = (task for task in self.opened if reason_of(task) is TaskReason.TAINT_UNTOLERATED)
        return [task for task in by_taint if self._is_automatic(task.from_cluster)]

    def _is_automatic(self, name: str) -> bool:
        cluster = self.snapshot.clusters.get(name)
        why = next((each for each in self.decision.evicted if each.cluster == name), Eviction(name))
        return cluster is None or is_automatic(why, cluster)


def _is_legal(move: _Move) -> Iterator[Violation]:
    """Holds: S2."""
    before, spec = move.before, move.snapshot.binding.spec
    leaving = {task.from_cluster for task in move.decision.eviction_tasks}
    for name, replicas in move.after.items():
        cluster = move.snapshot.clusters.get(name)
        if name in before and replicas <= before[name]:
            continue
        if cluster is None or cluster.is_being_deleted:
            yield Violation("S2", f"{name} gets replicas, and is not there or being deleted")
        elif name in leaving and not spec.is_divided:
            yield Violation("S2", f"{name} is a target, and is being left")
        elif name not in before and not _is_return(move, name) and (reason := _rejection(move, name)):
            yield Violation("S2", f"{name} is a new target, though: {reason}")


def _is_spread(move: _Move) -> Iterator[Violation]:
    """Holds: S2. A placement that was spread too little or too widely before may stay so. A copy that comes back may be
    beside its replacement until that can go (S1). Divided replicas can be fewer than the groups that were selected.

    Where a constraint allows fewer clusters than another asks for groups, the groups come first, as in Karmada.
    """
    spec, result = move.snapshot.binding.spec, move.decision.result
    placement = spec.placement
    if placement is None or not isinstance(result, Placed) or ignores_constraints(placement.replica_scheduling):
        return
    constraints = placement.spread_constraints
    before, after = _known(move, move.before), _known(move, move.after)
    for constraint in constraints:
        groups, had = len(_groups(constraint, after)), len(_groups(constraint, before))
        going = len(_groups(constraint, [each for each in after if not _is_return(move, each.name)]))
        by = constraint.spread_by_field or f"label {constraint.spread_by_label}"
        least_clusters = max(each.min_groups for each in constraints)
        most = max(constraint.max_groups, least_clusters) if is_over_clusters(constraint) else constraint.max_groups
        if constraint.max_groups and going > max(most, had):
            yield Violation("S2", f"{going} groups by {by} are used, {most} at most are asked for")
        is_short = groups < constraint.min_groups and (not before or groups < had)
        if is_short and after and not spec.is_divided:
            yield Violation("S2", f"{groups} groups by {by} are used, {constraint.min_groups} at least are asked for")


def _known(move: _Move, targets: Mapping[str, int]) -> Sequence[Cluster]:
    clusters = move.snapshot.clusters
    return [clusters[name] for name in targets if name in clusters]


def _groups(constraint: SpreadConstraint, clusters: Sequence[Cluster]) -> set[str]:
    field = field_of(constraint)
    if field is None:
        labels = (cluster.metadata.labels for cluster in clusters)
        return {value for each in labels if (value := each.get(constraint.spread_by_label))}
    return {value for cluster in clusters for value in rules_of_field(field).values(cluster) if value}


def _is_return(move: _Move, name: str) -> bool:
    """Tells whether a copy stays where it still is, or comes back where it was."""
    return name in move.decision.withdrawn or name in move.decision.returning


def _rejection(move: _Move, name: str) -> Rejection | None:
    """Reason why the filters refuse the cluster; that it is held down for flapping is waived for a last resort (C1)."""
    spec = msgspec.structs.replace(move.snapshot.binding.spec, graceful_eviction_tasks=())
    request = Request(tolerating_hold_down(spec), move.term)
    return first_rejection(request, move.snapshot.clusters[name], DEFAULT_PROFILE.filters)


def _is_conserved(move: _Move) -> Iterator[Violation]:
    """Holds: S3. A binding that is not scheduled in this decision keeps its sum."""
    spec, before, after = move.snapshot.binding.spec, move.before, move.after
    for name, replicas in after.items():
        if replicas < 0:
            yield Violation("S3", f"{name} is to have {replicas} replicas")
    if not spec.is_divided or not isinstance(move.decision.result, Placed):
        return
    total = sum(after.values())
    if total != spec.replicas and total != sum(before.values()):
        yield Violation("S3", f"{total} replicas are assigned, {spec.replicas} are asked for")


def _is_left_once(move: _Move) -> Iterator[Violation]:
    """Holds: C3. An entry that somebody else has written twice is left twice."""
    before = Counter(task.from_cluster for task in move.snapshot.binding.spec.graceful_eviction_tasks)
    tasks = Counter(task.from_cluster for task in move.decision.eviction_tasks)
    for name, count in tasks.items():
        if count > max(before[name], 1):
            yield Violation("C3", f"{name} is left {count} times")


def _has_a_place(move: _Move) -> Iterator[Violation]:
    """Holds: S11."""
    settings, spec, opened = move.snapshot.settings, move.snapshot.binding.spec, move.opened
    if not opened or not settings.keep_without_place:
        return
    names = ", ".join(task.from_cluster for task in opened)
    if isinstance(move.decision.result, Unplaceable) or not move.after:
        yield Violation("S11", f"{names} is left without a place to go")
    if spec.is_divided and sum(move.after.values()) < min(spec.replicas, sum(move.before.values())):
        yield Violation(
            "S11", f"{names} is left, and {sum(move.after.values())} of {spec.replicas} replicas are placed"
        )
    for name, replicas in move.after.items():
        cluster = move.snapshot.clusters.get(name)
        if replicas > move.before.get(name, 0) and cluster is not None and looks_dead(cluster):
            yield Violation("S11", f"{names} is left for {name}, which looks dead")


def _gains(move: _Move) -> Iterator[Violation]:
    """Holds: S12. An undivided copy leaves for a cluster that does not have it yet."""
    if move.snapshot.binding.spec.is_divided or not move.snapshot.settings.keep_without_place:
        return
    lost = move.opened_automatically
    if lost and not move.after.keys() - move.before.keys():
        yield Violation("S12", f"{', '.join(task.from_cluster for task in lost)} is left, and no cluster is new")


def _serves_on(move: _Move) -> Iterator[Violation]:
    """Holds: S1. A copy that comes back is a target, and the law lets go the seen copies that are given up for it."""
    if not move.decision.withdrawn:
        return
    before, after, left = move.before, move.after, {task.from_cluster for task in move.decision.eviction_tasks}
    for name in sorted({*move.decision.withdrawn} - after.keys() - left):
        yield Violation("S1", f"{name} comes back, and is no target")
    binding = move.snapshot.binding
    copies = move.copies((as_assigned(binding) if move.snapshot.quota_refusal else binding).spec)
    rows = copies.rows
    ready = [name for name in before if (home := rows[name].home) is not None and home.is_ready]
    taken = {name: after.get(name, 0) for name in ready if name not in left and after.get(name, -1) < before[name]}
    if not copies.may_disrupt(taken):
        yield Violation("S1", f"{', '.join(sorted(taken))} may serve what nobody else surely serves, and is given up")
    for name in sorted(before.keys() - after.keys() - left):
        in_term = is_in_term(binding.spec, move.term, rows[name].home)
        if in_term and rows[name].is_serving:
            yield Violation("S1", f"{name} is well, and is dropped for what comes back")


def _is_replaced(move: _Move) -> Iterator[Violation]:
    """Holds: S1. The law lets go the copies whose eviction ends, but by a person's word."""
    spec = move.snapshot.binding.spec
    if not situation_kind(move.snapshot.settings).law.leaves_enough:
        return
    ended = {*move.decision.finished} - {task.from_cluster for task in move.decision.eviction_tasks}
    tasks = (task for task in spec.graceful_eviction_tasks if task.suppress_deletion is None)
    names = [task.from_cluster for task in tasks if task.from_cluster in ended and task.purge_rules.keeps_copy]
    copies = move.copies(spec)
    if not copies.may_disrupt({name: copies.rows[name].assigned for name in names}):
        yield Violation(
            "S1", f"the copy in {', '.join(names)} goes, and others do not surely serve all that is asked for"
        )


def refused(snapshot: Snapshot, violations: Sequence[Violation]) -> Decision:
    """Decision that is written instead: the binding stays as it is, and says so, where that is ours to say (S9)."""
    why = f"the decision was refused, which is a bug of Leeward ({'; '.join(map(str, violations))})"
    spec, settings = snapshot.binding.spec, snapshot.settings
    return Decision(
        spec.clusters,
        spec.graceful_eviction_tasks,
        Unplaceable("Error", why, {}),
        held=held_refused(why),
        foreign=not authority_over(snapshot.binding, settings).places,
        foreign_held=not settings.tells_held,
        wake_at=snapshot.now + RETRY,
    )
