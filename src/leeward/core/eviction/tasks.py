"""Eviction tasks: a copy leaves a cluster, so the target goes, and a task takes its place.

A part of a divided copy can leave as well. The target keeps the rest, the task's `replicas` say how many go, and the
Work asks for both until the task has ended (`core.execution.works`). The meaning of its reason is a table (`RULES`); no
text is compared elsewhere. A task with another reason is somebody else's: it is carried out, and never taken back.

Karmada: `ResourceBindingSpec.GracefulEvictCluster`; same, proven by its recorded cases; there nothing leaves in part.
Its reasons are `TaintUntolerated` and `ApplicationFailure`, with their producers; the others are ours.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

import msgspec

from kubeapi.meta import wire_time
from leeward.api.purge_mode import PurgeMode
from leeward.api.work import AggregatedStatusItem, Binding, GracefulEvictionTask, ResourceBindingSpec, TargetCluster
from leeward.core.eviction.due_evictions import Eviction
from leeward.core.eviction.state_preservation import carried_state, preserved_state


class TaskReason(StrEnum):
    TAINT_UNTOLERATED = "TaintUntolerated"
    APPLICATION_FAILURE = "ApplicationFailure"
    AFFINITY_TERM_LEFT = "AffinityTermLeft"
    REPLACEMENT_FAILED = "ReplacementFailed"
    """A cluster took the place of another, and what was moved to it never became healthy there."""
    FAILBACK = "Failback"


class Producer(StrEnum):
    """The component that opens an eviction task; application failover is another one for each kind of binding."""

    TAINT_MANAGER = "TaintManager"
    APPLICATION_FAILOVER = "resource-binding-application-failover-controller"
    CLUSTER_APPLICATION_FAILOVER = "cluster-resource-binding-application-failover-controller"
    LEEWARD = "Leeward"


@dataclass(frozen=True, slots=True)
class ReasonRules:
    """Meaning of a reason.

    withdraws           the eviction is taken back when its cluster is well again
    fails_over          it is a failover: a replacement that takes nothing is left for the next cluster
    is_failback         it is taken back only when the failback has failed, with all that was moved
    was_never_healthy   where its copy is not well, there was never one that was
    """

    withdraws: bool
    fails_over: bool
    is_failback: bool
    was_never_healthy: bool


_FAILOVER = ReasonRules(withdraws=True, fails_over=True, is_failback=False, was_never_healthy=False)
_IN_VAIN = ReasonRules(withdraws=True, fails_over=True, is_failback=False, was_never_healthy=True)
_FAILBACK = ReasonRules(withdraws=True, fails_over=False, is_failback=True, was_never_healthy=False)
_OF_OTHERS = ReasonRules(withdraws=False, fails_over=False, is_failback=False, was_never_healthy=False)
RULES: Mapping[TaskReason, ReasonRules] = {
    TaskReason.TAINT_UNTOLERATED: _FAILOVER,
    TaskReason.APPLICATION_FAILURE: _FAILOVER,
    TaskReason.AFFINITY_TERM_LEFT: _FAILOVER,
    TaskReason.REPLACEMENT_FAILED: _IN_VAIN,
    TaskReason.FAILBACK: _FAILBACK,
}


def reason_of(task: GracefulEvictionTask) -> TaskReason | None:
    """None for a task of somebody else."""
    return TaskReason(task.reason) if task.reason in RULES else None


def reason_rules_of_task(task: GracefulEvictionTask) -> ReasonRules:
    reason = reason_of(task)
    return _OF_OTHERS if reason is None else RULES[reason]


def moves_on(task: GracefulEvictionTask) -> bool:
    """Tells whether the replacement of its copy goes on to the next cluster where it is not taken."""
    is_failover = reason_rules_of_task(task).fails_over
    return is_failover and task.suppress_deletion is None and task.purge_rules.moves_on


NOTHING: Mapping[str, int] = {}


def eviction_task(binding: Binding, eviction: Eviction, mode: PurgeMode, now: datetime) -> GracefulEvictionTask:
    """Task of a copy that leaves a cluster because of its taints. Raises: StateNotPreserved."""
    spec, cluster = binding.spec, eviction.cluster
    behaviour = spec.failover.cluster if spec.failover is not None else None
    reported = (item for item in binding.status.aggregated_status if item.cluster_name == cluster)
    left = next(reported, AggregatedStatusItem(cluster_name=cluster))
    state = preserved_state(binding, behaviour.state_preservation if behaviour else None, left)
    task = own_task(cluster, TaskReason.TAINT_UNTOLERATED, mode, now, Producer.TAINT_MANAGER)
    return with_state(task, spec, state)


def with_state(task: GracefulEvictionTask, spec: ResourceBindingSpec, state: Mapping[str, str]) -> GracefulEvictionTask:
    """The task, with the state that its replacement is to have."""
    before = tuple(target.name for target in spec.clusters) if state else ()
    return msgspec.structs.replace(task, preserved_label_state=state, clusters_before_failover=before)


def ended_by_a_person(spec: ResourceBindingSpec) -> frozenset[str]:
    """Clusters whose eviction a person has ended (`suppressDeletion: false`): the copy goes in any case."""
    ended = frozenset(task.from_cluster for task in spec.graceful_eviction_tasks if task.suppress_deletion is False)
    return ended.difference(target.name for target in spec.clusters)


def own_task(
    cluster: str, reason: TaskReason, mode: PurgeMode, now: datetime | None, producer: Producer = Producer.LEEWARD
) -> GracefulEvictionTask:
    """Task of a copy that leaves a cluster; of Leeward's own, where no other producer is named."""
    opened = wire_time(now) if now is not None else None
    return GracefulEvictionTask(cluster, reason.value, producer.value, mode.value, creation_timestamp=opened)


def replacement_task(binding: Binding, cluster: str, mode: PurgeMode, now: datetime) -> GracefulEvictionTask:
    """Task of a replacement that never became healthy; it gives on the state of its predecessor."""
    task = own_task(cluster, TaskReason.REPLACEMENT_FAILED, mode, now)
    return with_state(task, binding.spec, carried_state(binding, cluster))


def following_task(cluster: str, followed: GracefulEvictionTask, *, one_writer: bool) -> GracefulEvictionTask:
    """Task of a healthy copy that leaves an affinity term together with the lost one of the `followed` task.

    A serving copy stays until its replacement serves, also where the lost copy is purged Directly (S1). Not where its
    volumes have `one_writer` at a time (S7).
    """
    reason = TaskReason.AFFINITY_TERM_LEFT.value
    task = msgspec.structs.replace(followed, from_cluster=cluster, reason=reason)
    is_kept = one_writer or followed.purge_rules.keeps_copy
    return task if is_kept else msgspec.structs.replace(task, purge_mode=PurgeMode.GRACEFULLY.value)


def grace_of(task: GracefulEvictionTask, default_seconds: float) -> float:
    """Seconds that a task may take: its own word, else the default."""
    return default_seconds if task.grace_period_seconds is None else task.grace_period_seconds


def leave_term(
    left: ResourceBindingSpec, placed: Sequence[TargetCluster], task_of: Callable[[str], GracefulEvictionTask]
) -> tuple[ResourceBindingSpec, tuple[str, ...]]:
    """`left` without clusters that are not in the result of another affinity term, and their names. The copies there
    are healthy, and leave with a task when their replacements are there."""
    kept = {target.name for target in placed}
    behind = tuple(target.name for target in left.clusters if target.name not in kept)
    return leave_further(left, [task_of(name) for name in behind]), behind


def leave(
    spec: ResourceBindingSpec, tasks: Sequence[GracefulEvictionTask], staying: Mapping[str, int] = NOTHING
) -> ResourceBindingSpec:
    """`spec` without the clusters of `tasks`, but for the replicas that stay there.

    A cluster that is no target opens no task, nor one that is being left.
    """
    replicas = {target.name: target.replicas - staying.get(target.name, 0) for target in spec.clusters}
    leaving = {task.from_cluster for task in tasks}
    being_left = {task.from_cluster for task in spec.graceful_eviction_tasks}
    opened = tuple(
        msgspec.structs.replace(task, replicas=replicas[task.from_cluster] or None)
        for task in tasks
        if task.from_cluster in replicas and task.from_cluster not in being_left
    )
    return msgspec.structs.replace(
        spec,
        clusters=tuple(_staying(t, staying) for t in spec.clusters if t.name not in leaving or t.name in staying),
        graceful_eviction_tasks=(*spec.graceful_eviction_tasks, *opened),
    )


def leave_further(
    spec: ResourceBindingSpec, tasks: Sequence[GracefulEvictionTask], staying: Mapping[str, int] = NOTHING
) -> ResourceBindingSpec:
    """Does as `leave`; where a part is leaving already, further replicas join its task, whose time begins anew."""
    targets = spec.assigned
    following = {task.from_cluster: task for task in tasks if task.from_cluster in targets}

    def joined(task: GracefulEvictionTask) -> GracefulEvictionTask:
        name = task.from_cluster
        if name not in following:
            return task
        replicas = (task.replicas or 0) + targets[name] - staying.get(name, 0)
        return msgspec.structs.replace(following[name], replicas=replicas or None)

    joint = tuple(joined(task) for task in spec.graceful_eviction_tasks)
    return leave(msgspec.structs.replace(spec, graceful_eviction_tasks=joint), tasks, staying)


def _staying(target: TargetCluster, staying: Mapping[str, int]) -> TargetCluster:
    return msgspec.structs.replace(target, replicas=staying.get(target.name, target.replicas))
