"""Application failover: a copy that stays Unhealthy leaves its cluster, although the cluster itself is well.

    reported health -> find_failures -> since when, which failed ----> failure_task   -> how it leaves
                                                                     -> core.placement -> is there a place to go

The binding's memory (`core.copies.memory`) outlives a restart: since when each copy is unhealthy, and in which clusters
the present release was tried in vain. These are no candidates until the round is over. A workload that has failed in
all of them is a bad release, not a bad cluster, and stays. A round ends with a new release, or when all copies have
been healthy for as long as being unhealthy would take to count.

Only health that is tied to the present contents counts (`seen_items`). Nothing is known of a cluster that cannot be
seen, which neither starts a clock nor stops it.

Karmada: pkg/controllers/applicationfailover; same clocks and tasks, proven by its recorded cases. The memory of failed
clusters is ours. So is the state that is carried forward when the failing copy never had its own.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

import msgspec

from kubeapi.meta import format_time
from leeward.api.cluster import Cluster
from leeward.api.meta import Condition
from leeward.api.names import EVICTION_HELD_CONDITION
from leeward.api.policy import ApplicationFailover
from leeward.api.purge_mode import PurgeMode, rules_of
from leeward.api.work import AggregatedStatusItem, Binding, GracefulEvictionTask, ResourceBindingSpec, Work
from leeward.core.cluster_health.watched_time import UNKEPT, Attention
from leeward.core.copies.evidence import is_fresh
from leeward.core.copies.memory import NO_INSTANTS, BindingMemory
from leeward.core.eviction.held_reasons import HeldReason
from leeward.core.eviction.state_preservation import StateNotPreserved, preserved_state
from leeward.core.eviction.tasks import Producer, TaskReason, moves_on, own_task, with_state
from leeward.core.eviction.volumes import purge_mode_with_volumes, why_volumes_stay
from leeward.core.interpreter.own_replicas import as_assigned
from leeward.core.interpreter.resource_health import health_rules_in
from leeward.core.scheduling import Unplaceable

Reports = tuple[AggregatedStatusItem, ...]
DEFAULT_TOLERATION_SECONDS = 300
CALM_SECONDS = 300
"""The shortest time of health that ends a round, however short the toleration is."""


@dataclass(frozen=True, slots=True)
class FailedCopies:
    """Failures that are known now: the memory to keep, the copies that have failed, and when to look again."""

    memory: BindingMemory
    failed: tuple[AggregatedStatusItem, ...] = ()
    wake_at: datetime | None = None

    def describe(self) -> str:
        """The copies that have failed, for people."""
        unhealthy = self.memory.unhealthy
        since = ((item.cluster_name, unhealthy[item.cluster_name]) for item in self.failed)
        return ", ".join(f"{name} (unhealthy since {format_time(at)})" for name, at in since)


def application_failover(spec: ResourceBindingSpec) -> ApplicationFailover | None:
    return spec.failover.application if spec.failover is not None else None


def seen_items(
    spec: ResourceBindingSpec, clusters: Mapping[str, Cluster], works: Mapping[str, Work]
) -> tuple[AggregatedStatusItem, ...]:
    """Reports that are known of the targets' present contents. Only while a copy leaves does `as_assigned` count."""
    seen = ((t, works.get(t.name), clusters.get(t.name)) for t in spec.clusters)
    fresh = [(target, work) for target, work, cluster in seen if work and is_fresh(work, cluster)]
    found = [(t, each) for t, work in fresh for each in work.status.manifest_statuses]
    told = [(t, as_assigned(each, t.replicas) if spec.graceful_eviction_tasks else each) for t, each in found]
    return tuple(AggregatedStatusItem(t.name, status=each.status, health=each.health) for t, each in told)


def failures_of(
    spec: ResourceBindingSpec,
    reports: Callable[[], Reports],
    memory: BindingMemory,
    now: datetime,
    attention: Attention,
) -> FailedCopies:
    """Failures that the policy asks for, or else the memory of those before. Reports are read where they matter."""
    if application_failover(spec) is not None:
        return find_failures(spec, reports(), memory, now, attention)
    known = msgspec.structs.replace(memory, healthy_since=None)
    return remember_failures(spec, reports(), memory, now) if memory.clusters else FailedCopies(known)


def find_failures(
    spec: ResourceBindingSpec, items: Reports, memory: BindingMemory, now: datetime, attention: Attention = UNKEPT
) -> FailedCopies:
    """Runs the clocks on reported health. A copy has failed when it is unhealthy for longer than is tolerated.

    The clocks run over watched time. Where nobody watches, or has only just begun to, nothing has failed yet.
    Holds: S13.
    """
    targets = {target.name for target in spec.clusters}
    unhealthy = {i.cluster_name: i for i in items if health_rules_in(i).has_failed and i.cluster_name in targets}
    ended = {i.cluster_name for i in items if health_rules_in(i).ends_failure}
    running = {name: at for name, at in memory.unhealthy.items() if name in targets - ended}
    since = {**dict.fromkeys(unhealthy, now), **running}
    toleration = timedelta(seconds=toleration_seconds(spec))
    due = {name: attention.time.moved(since[name]) + toleration for name in unhealthy}
    settled = attention.has_settled(now)
    failed = tuple(item for name, item in unhealthy.items() if settled and now > due[name])
    ends = [at for at in (*due.values(), *_settling(unhealthy, attention)) if now <= at]
    memory, round_ends = _end_round(memory.noting(unhealthy=since), spec, items, now, toleration)
    instants = [end + timedelta(microseconds=1) for end in ends] + ([round_ends] if round_ends else [])
    return FailedCopies(memory, failed, min(instants, default=None))


def remember_failures(spec: ResourceBindingSpec, items: Reports, memory: BindingMemory, now: datetime) -> FailedCopies:
    """The memory without application failover: where the release went in vain, until all copies have long been well."""
    memory, round_ends = _end_round(memory.noting(unhealthy=NO_INSTANTS), spec, items, now, timedelta())
    return FailedCopies(memory, wake_at=round_ends)


def _settling(unhealthy: Collection[str], attention: Attention) -> tuple[datetime, ...]:
    return (attention.settled_at,) if unhealthy and attention.settled_at is not None else ()


def toleration_seconds(spec: ResourceBindingSpec) -> float:
    """Seconds for which a copy may be unhealthy before it has failed."""
    application = application_failover(spec)
    wanted = application.decision_conditions.toleration_seconds if application else None
    return DEFAULT_TOLERATION_SECONDS if wanted is None else wanted


def _end_round(
    memory: BindingMemory, spec: ResourceBindingSpec, items: Reports, now: datetime, toleration: timedelta
) -> tuple[BindingMemory, datetime | None]:
    """Forgets the clusters that were left, once all copies have been healthy for long; else says when that will be. Not
    while a failover goes on: a healthy copy may have fewer replicas than it was given (C1)."""
    healthy = {item.cluster_name for item in items if health_rules_in(item).is_well}
    targets = {target.name for target in spec.clusters}
    is_moving = any(map(moves_on, spec.graceful_eviction_tasks))
    if not memory.tried or not targets or not targets <= healthy or is_moving:
        return msgspec.structs.replace(memory, healthy_since=None), None
    healthy_since = memory.healthy_since or now
    ends = healthy_since + max(toleration, timedelta(seconds=CALM_SECONDS))
    if now >= ends:
        return msgspec.structs.replace(memory.noting(tried=()), healthy_since=None), None
    return msgspec.structs.replace(memory, healthy_since=healthy_since), ends


def held_failure(failures: FailedCopies, refused: Unplaceable) -> Condition:
    """Condition that failed copies stay, because there is no place to go. In several, the release is suspect."""
    in_vain = failures.memory.in_vain
    if len(in_vain) > 1:
        names = ", ".join(sorted(in_vain))
        looks = f"the application is or was unhealthy in {names}, as by a bad release, and no other cluster fits"
        return _held(HeldReason.UNHEALTHY_EVERYWHERE, failures, f"{looks}: {refused.told}")
    return _held(HeldReason.NO_PLACE_TO_GO, failures, f"there is no place to go: {refused.told}")


def held_for_volumes(failures: FailedCopies, binding: Binding) -> Condition:
    return _held(HeldReason.VOLUMES_STAY, failures, why_volumes_stay(binding))


def held_for_state(failures: FailedCopies, error: StateNotPreserved) -> Condition:
    return _held(HeldReason.STATE_NOT_PRESERVED, failures, str(error))


def _held(reason: HeldReason, failures: FailedCopies, why: str) -> Condition:
    message = f"not evicted from {failures.describe()}, because {why}"
    return Condition(type=EVICTION_HELD_CONDITION, status="True", reason=reason.value, message=message)


def application_purge_mode(spec: ResourceBindingSpec) -> PurgeMode:
    """Purge mode of a failed copy, as the policy says."""
    application = application_failover(spec)
    return PurgeMode((application.purge_mode if application else None) or PurgeMode.GRACEFULLY)


def failure_task(binding: Binding, failed: AggregatedStatusItem, now: datetime | None = None) -> GracefulEvictionTask:
    """Eviction task of a failed copy, as the policy says; `Never` keeps it until someone confirms.

    Raises: StateNotPreserved."""
    application = application_failover(binding.spec)
    assert application is not None
    mode = purge_mode_with_volumes(binding, application_purge_mode(binding.spec))
    rules = rules_of(mode)
    state = preserved_state(binding, application.state_preservation, failed)
    producer = Producer.APPLICATION_FAILOVER if binding.namespace else Producer.CLUSTER_APPLICATION_FAILOVER
    task = own_task(failed.cluster_name, TaskReason.APPLICATION_FAILURE, mode, now, producer)
    grace, suppress = application.grace_period_seconds if rules.has_grace else None, True if rules.suppresses else None
    task = msgspec.structs.replace(task, grace_period_seconds=grace, suppress_deletion=suppress)
    return with_state(task, binding.spec, state)
