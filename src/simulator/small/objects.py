"""Objects that decisions are made on, from the model and back.

All instants are counted back from `NOW`, so that the same question is always asked with the same objects. Of what a
decision writes into annotations only the clusters are kept that were left in vain: neither application failover nor the
memory of flapping is played here.
"""

from datetime import UTC, datetime, timedelta
from functools import lru_cache

import msgspec

from kubeapi.codec import decode, encode
from kubeapi.core import Taint
from kubeapi.meta import ObjectMeta, format_time, parse_time
from leeward.api.cluster import APIEnablement, APIResource, Cluster, ClusterSpec, ClusterStatus, ResourceSummary
from leeward.api.meta import Condition
from leeward.api.names import (
    APPLIED_PLACEMENT_ANNOTATION,
    CONDITION_TAINT_KEYS,
    MEMORY_ANNOTATION,
    OUTAGE_ANNOTATION,
    REFLECTED_CONDITION,
    execution_space,
)
from leeward.api.policy import ClusterFailover, FailoverBehavior
from leeward.api.work import (
    BindingResource,
    GracefulEvictionTask,
    ManifestStatus,
    ResourceBinding,
    ResourceBindingSpec,
    ResourceBindingStatus,
    ResourceIdentifier,
    TargetCluster,
    Work,
    WorkStatus,
)
from leeward.core.cluster_health.brake import Brake
from leeward.core.cluster_health.condition_taints import NO_EXECUTE, TaintDecision
from leeward.core.copies.evidence import FULLY_APPLIED
from leeward.core.copies.memory import BindingMemory
from leeward.core.eviction.tasks import Producer, TaskReason
from leeward.core.placement import Decision
from leeward.core.scheduling import Placed
from simulator.small.model import GRACE_TICKS, BrakeState, ClusterObject, Plan, TaintMark, Task, WorkObject
from simulator.small.worlds import NAMES, TICK_SECONDS, Workload

NOW = datetime(2026, 1, 1, tzinfo=UTC)
TICK = timedelta(seconds=TICK_SECONDS)
PRESENT, FORMER = 2, 1
"""Generations: the present one, and any other."""

_LONG_AGO, _LONGER_AGO = NOW - 100 * TICK, NOW - 200 * TICK
_DEPLOYMENTS = APIEnablement(group_version="apps/v1", resources=(APIResource(name="deployments", kind="Deployment"),))
_DEPLOYMENT = BindingResource("apps/v1", "Deployment", "app", "default", uid="uid-1")
_IDENTIFIER = ResourceIdentifier(ordinal=0, group="apps", version="v1", kind="Deployment", resource="", name="app")
_MOST_OBJECTS = 100_000


def instant(age: int) -> datetime:
    """`age` ticks ago."""
    return NOW - age * TICK


def age_of(then: datetime | None, most: int) -> int:
    """Number of ticks since then, cut to `most`; no instant is now."""
    return 0 if then is None else min(most, (NOW - then) // TICK)


@lru_cache(_MOST_OBJECTS)
def cluster_of(index: int, seen: ClusterObject, room: int) -> Cluster:
    ready = Condition("Ready", "True" if seen.ready else "False", seen.reason, last_transition_time=_LONG_AGO)
    taints = tuple(Taint(key=t.key, effect=t.effect, time_added=instant(t.age)) for t in seen.taints)
    since = {} if seen.outage_age is None else {OUTAGE_ANNOTATION: format_time(instant(seen.outage_age))}
    return Cluster(
        metadata=ObjectMeta(name=NAMES[index], annotations=since),
        spec=ClusterSpec(sync_mode="Push", taints=taints),
        status=ClusterStatus(
            kubernetes_version="v1.30.0",
            api_enablements=(_DEPLOYMENTS,),
            conditions=(ready,),
            resource_summary=ResourceSummary(allocatable={"pods": room}),
        ),
    )


def tainted(before: ClusterObject, decision: TaintDecision) -> ClusterObject:
    """The Cluster object with the taints that were decided on.

    Only NoExecute ones have an age that matters; once there is one, nobody asks any more for how long the outage lasts.
    """
    taints = tuple(
        TaintMark(t.key, t.effect, age_of(t.time_added, 1) if t.effect == NO_EXECUTE else 0) for t in decision.taints
    )
    outage_age = before.outage_age
    if OUTAGE_ANNOTATION in decision.annotations:
        text = decision.annotations[OUTAGE_ANNOTATION]
        outage_age = None if text is None else age_of(parse_time(text), 1)
    if outage_age is not None and any(
        taint.key in CONDITION_TAINT_KEYS and taint.effect == NO_EXECUTE for taint in taints
    ):
        outage_age = 1
    return before._replace(taints=taints, outage_age=outage_age)


@lru_cache(_MOST_OBJECTS)
def work_of(index: int, work: WorkObject) -> Work:
    applied = Condition("Applied", "True", "AppliedSuccessful", observed_generation=_generation(work.applied))
    reflected = Condition(
        REFLECTED_CONDITION,
        "True" if work.reflected else "False",
        "Reflected",
        last_transition_time=NOW if work.since_ready else _LONGER_AGO,
        observed_generation=_generation(work.reflected),
    )
    report = ManifestStatus(
        _IDENTIFIER, status={"readyReplicas": work.ready}, health="Healthy" if work.healthy else "Unhealthy"
    )
    metadata = ObjectMeta(name="app", namespace=execution_space(NAMES[index]), generation=PRESENT)
    if work.deleting:
        metadata = msgspec.structs.replace(metadata, deletion_timestamp=NOW)
    return Work(metadata=metadata, status=WorkStatus(conditions=(applied, reflected), manifest_statuses=(report,)))


def binding_of(workload: Workload, plan: Plan) -> ResourceBinding:
    """A binding whose placement was applied before."""
    applied = Condition(FULLY_APPLIED, "True", "FullyAppliedSuccess", observed_generation=_generation(plan.rendered))
    memory = BindingMemory("", plan.replicas).noting(tried=[NAMES[cluster] for cluster in plan.tried])
    return ResourceBinding(
        metadata=ObjectMeta(
            name="app",
            namespace="default",
            generation=PRESENT,
            annotations={
                APPLIED_PLACEMENT_ANNOTATION: encode(workload.placement).decode(),
                MEMORY_ANNOTATION: encode(memory).decode(),
            },
        ),
        spec=ResourceBindingSpec(
            resource=_DEPLOYMENT,
            replicas=plan.replicas,
            placement=workload.placement,
            clusters=tuple(TargetCluster(NAMES[cluster], replicas) for cluster, replicas in plan.targets),
            graceful_eviction_tasks=tuple(map(_task_of, plan.tasks)),
            failover=FailoverBehavior(cluster=ClusterFailover(purge_mode=workload.purge_mode)),
        ),
        status=ResourceBindingStatus(conditions=(applied,), last_scheduled_time=_LONG_AGO),
    )


def decided(before: Plan, decision: Decision) -> Plan:
    """The binding after the scheduler wrote `decision`: a changed spec is yet to be rendered."""
    targets = tuple((NAMES.index(target.name), target.replicas) for target in decision.clusters)
    tasks = tuple(
        Task(NAMES.index(t.from_cluster), t.replicas, t.purge_mode, age_of(t.creation_timestamp, GRACE_TICKS))
        for t in decision.eviction_tasks
    )
    record = decision.annotations.get(MEMORY_ANNOTATION)
    tried = decode(record.encode(), BindingMemory).tried if record and tasks else ()
    return Plan(
        replicas=before.replicas,
        targets=targets,
        tasks=tasks,
        rendered=before.rendered and (targets, tasks) == (before.targets, before.tasks),
        asked=before.asked and not isinstance(decision.result, Placed),
        tried=tuple(map(NAMES.index, tried)) if record or not tasks else before.tried,
    )


def brake_of(brake: BrakeState) -> Brake:
    calm_since = None if brake.calm_age is None else instant(brake.calm_age)
    return Brake(_LONG_AGO if brake.engaged else None, calm_since)


def brake_state(brake: Brake) -> BrakeState:
    return BrakeState(brake.engaged, None if brake.calm_since is None else age_of(brake.calm_since, 1))


def _task_of(task: Task) -> GracefulEvictionTask:
    return GracefulEvictionTask(
        from_cluster=NAMES[task.cluster],
        reason=TaskReason.TAINT_UNTOLERATED.value,
        producer=Producer.TAINT_MANAGER.value,
        purge_mode=task.mode,
        replicas=task.replicas,
        creation_timestamp=instant(task.age),
    )


def _generation(is_present: bool) -> int:
    return PRESENT if is_present else FORMER
