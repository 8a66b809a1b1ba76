"""Scheduling cycle: decides for the bindings that are taken together, on one state of the fleet, at one instant.

Each takes from the room that the others can be given, at the pace that evictions have. Where room decides, the
estimators are asked first (`runtime/estimators.py`). Writes nothing.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial

from controller_runtime import Batcher, Key, is_there
from controller_runtime.statuses import BURST_SIZE
from kubeapi.core import NAMESPACES
from kubeclient import WorldError
from leeward.api.cluster import Cluster
from leeward.api.names import execution_space
from leeward.api.resource import CLUSTERS
from leeward.api.work import Binding
from leeward.controllers.scheduler.bindings import BindingKey, Bindings, is_placeable
from leeward.core.cluster_health.brake import looks_dead
from leeward.core.cluster_health.outage import NO_OUTAGE, clusters_of
from leeward.core.cluster_health.watched_time import Attention
from leeward.core.eviction.tasks import TaskReason, reason_of
from leeward.core.outlook import TaintExpectation, expected_taints, foresee
from leeward.core.placement import Decision, PlacementSettings, Snapshot
from leeward.core.placement.check import check, refused
from leeward.core.quota.quota_room import no_quotas
from leeward.core.scheduling.estimates import asks_for_room, question_of
from leeward.core.scheduling.model import Request
from leeward.planning.batch import owner_of, plan, turn_of
from leeward.planning.estimates import Estimates
from leeward.planning.eviction_limiter import EvictionLimiter
from leeward.planning.fleet import has_many_terms, look_at_terms, placement_fleet
from leeward.planning.group_decisions import decide_for_group, decide_together
from leeward.planning.recording import encode_snapshot
from leeward.planning.workload_groups import WorkloadGroups
from leeward.runtime.brake import BrakeView
from leeward.runtime.cluster_estimators import ClusterEstimator
from leeward.runtime.controller_context import ControlPlane
from leeward.runtime.estimators import Estimator, Estimators
from leeward.runtime.heartbeat import HeartbeatView
from leeward.runtime.quotas_in_clusters import QuotasInClusters

DecisionListener = Callable[[Snapshot, Decision], None]
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SchedulerSettings:
    """Gates: `workload_affinity` is WorkloadAffinity, `multiple_pod_templates` MultiplePodTemplatesScheduling,
    `quota_enforcement` FederatedQuotaEnforcement, `quota_estimate` ResourceQuotaEstimate.

    `estimator_timeout_seconds`: --scheduler-estimator-timeout. `on_decision` is told of each decision.
    """

    placement: PlacementSettings = field(default_factory=PlacementSettings)
    evictions_per_second: float | None = None
    """--resource-eviction-rate; None is without a limit."""
    expectation: TaintExpectation = field(default_factory=TaintExpectation)
    workload_affinity: bool = False
    multiple_pod_templates: bool = False
    quota_enforcement: bool = False
    quota_estimate: bool = False
    estimators: tuple[Estimator, ...] = ()
    cluster_estimator: ClusterEstimator | None = None
    estimator_timeout_seconds: float = 3
    on_decision: DecisionListener | None = None


class SchedulingCycle:
    def __init__(
        self,
        plane: ControlPlane,
        bindings: Bindings,
        settings: SchedulerSettings,
        brake: BrakeView,
        heartbeat: HeartbeatView,
    ) -> None:
        self._plane = plane
        self._bindings = bindings
        self._namespaces = plane.informers.of(NAMESPACES)
        self._settings = settings.placement
        self._expectation = settings.expectation
        self._brake, self._heartbeat = brake, heartbeat
        self._reread_at: dict[str, float] = {}
        self._refusals: dict[BindingKey, str] = {}
        self._groups = WorkloadGroups() if settings.workload_affinity else None
        self._estimates = Estimates()
        asked, seconds = (settings.estimators, settings.cluster_estimator), settings.estimator_timeout_seconds
        self._estimators = Estimators.of(plane, *asked, seconds)
        self._fleet = placement_fleet(
            estimates=self._estimates,
            groups=self._groups,
            multiple_pod_templates=settings.multiple_pod_templates,
            read_quotas=QuotasInClusters(bindings.works).read if settings.quota_estimate else no_quotas,
        )
        self._fleet.together.look = bindings.member
        self._limiter = EvictionLimiter[BindingKey](settings.evictions_per_second)
        self._on_decision = settings.on_decision
        self._decided: Callable[[], None] = lambda: None
        self._batcher, self._alone = Batcher[BindingKey, tuple[Binding, Decision]](self._decide), asyncio.Lock()

    async def decide(self, key: BindingKey, quota_refusal: str = "") -> tuple[Binding, Decision] | None:
        """The binding as it was, and the decision for it; None where there is nothing to place. Raises: WorldError.

        Decides with all that wait, and alone where there are many affinity terms. `quota_refusal`: why a quota has
        refused the decision before; the binding may not grow then.
        """
        binding = self._bindings.get(key)
        if binding is None or not is_placeable(binding):
            return None
        await self._confirm_gone(key)
        await self._reread(key)
        await self._ask_for_room(key)
        self._refusals[key] = quota_refusal
        try:
            if not has_many_terms(binding.spec):
                return await self._batcher.ask(key)
            async with self._alone:
                await self._plane.turns.finish(look_at_terms(binding.spec, self._fleet))
                return self._decide((key,)).get(key)
        finally:
            del self._refusals[key]

    def after_batch(self, call: Callable[[], None]) -> None:
        """Has this called after each batch."""
        self._decided = call

    def rank(self, key: BindingKey) -> int:
        """The lower, the more urgent."""
        binding = self._bindings.get(key)
        return 0 if binding is None else turn_of(binding, self._fleet.in_outage)

    def see_cluster(self, old: Cluster | None, new: Cluster | None) -> None:
        if new is not None:
            self._fleet.put(new)
        elif old is not None:
            self._fleet.remove(old.name)
            self._estimators.forget(old.name)

    def see_binding(self, key: BindingKey, old: Binding | None, new: Binding | None) -> Iterable[BindingKey]:
        """Takes in a change. Returns the others of its group that it may concern."""
        if new is not None:
            self._fleet.together.put(new)
            self._limiter.observe(key, _left_by(new))
            now = self._plane.clock.now()
            self._limiter.look(now, self._plane.clock.monotonic())
            self._limiter.see_evictions(_evicted_at(new), now)
        elif old is not None:
            self._fleet.release(owner_of(old))
            self._fleet.together.remove(old)
            self._fleet.claims.put(old.spec.resource, {})
            self._limiter.forget(key)
        return self._see_in_group(key, old, new)

    def moving_with(self, binding: Binding) -> Iterable[str]:
        """Names of the others of a group that moves together."""
        return self._fleet.together.beside(binding)

    @property
    def waiting(self) -> int:
        """Number of bindings that wait for their turn to leave a cluster."""
        return self._limiter.waiting

    def next_in_line(self) -> Iterator[BindingKey]:
        """Bindings that waited for a budget and have room now."""
        return self._limiter.next_in_line(self._fleet)

    async def _confirm_gone(self, key: BindingKey) -> None:
        """A cluster is gone when it was unjoined; the API server itself has to say so: a list can be stale, or wrong.

        Raises: Unlisted. Holds: S5.
        """
        binding = self._bindings.get(key)
        for name in () if binding is None else _named_by(binding):
            cluster = self._fleet.get(name)
            if cluster is None:
                await self._confirm_unjoined(name)
            elif cluster.ready is None and not cluster.is_being_deleted:
                raise Unlisted(f"cluster {name} has joined anew, and has not been looked at yet")

    async def _confirm_unjoined(self, name: str) -> None:
        space = execution_space(name)
        await self._namespaces.wait_synced()
        if self._namespaces.get(space) is None:
            if await is_there(self._plane.client, CLUSTERS, name):
                raise Unlisted(f"cluster {name} is there, but was not in the list of clusters")
            if not await is_there(self._plane.client, NAMESPACES, space):
                return
        raise Unlisted(f"cluster {name} is not listed, but was not unjoined: its execution space {space} is there")

    async def _reread(self, key: BindingKey) -> None:
        """Reads its clusters that evict anew, once after this process was away: a cached taint may be gone by now."""
        binding = self._bindings.get(key)
        for target in () if binding is None else binding.spec.clusters:
            cluster, seconds = self._fleet.get(target.name), self._plane.clock.monotonic()
            if cluster is None or not cluster.has_no_execute:
                continue
            if self._reread_at.get(cluster.name, seconds) < self._heartbeat.awake_since:
                self._plane.informers.of(CLUSTERS).remember(await self._plane.client.get(CLUSTERS, cluster.name))
            self._reread_at[cluster.name] = seconds

    async def _ask_for_room(self, key: BindingKey) -> None:
        binding = self._bindings.get(key)
        if not self._estimators or binding is None or not asks_for_room(binding, self._fleet):
            return
        request = Request(binding.spec, multiple_pod_templates=self._fleet.profile.multiple_pod_templates)
        question = question_of(request)
        clusters = [name for name, cluster in self._fleet.items() if not looks_dead(cluster)]
        self._estimates.put(question, await self._estimators.ask(question, clusters))

    def _decide(self, keys: Sequence[BindingKey]) -> Mapping[BindingKey, tuple[Binding, Decision]]:
        """Decides for all bindings that are there and have a placement."""
        found = ((key, self._bindings.get(key)) for key in keys)
        bindings = {key: binding for key, binding in found if binding is not None and is_placeable(binding)}
        now, brake, reason = self._plane.clock.now(), self._brake.holds(), self._brake.brake.reason
        attention = self._heartbeat.attention()
        self._limiter.look(now, self._plane.clock.monotonic())

        def decide_one(key: BindingKey, binding: Binding) -> Decision:
            self._fleet.claims.put(binding.spec.resource, self._bindings.held_claims(binding))
            budget = self._limiter.budget(key, self._fleet, now)
            works = self._bindings.works_by_cluster(key)
            known = binding, self._fleet, works, brake, budget, attention, self._settings, self._refusals.get(key, "")
            snapshot = Snapshot(*known, reason, now=now)
            first, along = decide_for_group(snapshot)
            if self._on_decision is not None:
                self._on_decision(snapshot, first)
            decision = self._checked(snapshot, first)
            for beside, its in along if decision is first else ():
                self._fleet.release(owner_of(beside), beside.spec.clusters)
                self._fleet.reserve(owner_of(beside), beside.spec, its.clusters)
            self._limiter.settle(key, decision, now)
            if self._groups is not None and key.key.namespace:
                self._groups.put(binding, decision.clusters)
            return decision

        for key, binding in bindings.items():
            self._limiter.observe(key, _left_by(binding))
        plans = plan(self._fleet, bindings, decide_one)
        moving = [bindings[key].namespace for key, decision in plans.items() if decision.evicted]
        if len(moving) >= BURST_SIZE:
            self._plane.expect_burst(moving)
        self._decided()
        told = self._with_outages(bindings, plans, brake, now) if self._settings.tells_held else plans
        return {key: (bindings[key], decision) for key, decision in told.items()}

    def _checked(self, snapshot: Snapshot, decision: Decision) -> Decision:
        """The decision, unless it would break an invariant: then the binding stays as it is."""
        violations = check(snapshot, decision)
        if not violations:
            return decision
        for violation in violations:
            self._plane.metrics.decisions_refused.labels(violation.invariant).inc()
        error = DecisionRefused("; ".join(map(str, violations)))
        recorded = encode_snapshot(snapshot).decode()
        log.error("%s stays as it is, decided on: %s", owner_of(snapshot.binding), recorded, exc_info=error)
        return refused(snapshot, violations)

    def _with_outages(
        self, bindings: Mapping[BindingKey, Binding], plans: Mapping[BindingKey, Decision], brake: bool, now: datetime
    ) -> Mapping[BindingKey, Decision]:
        """The decisions with the conditions about lost clusters, on a fleet that is tainted as it will be."""
        lost = self._fleet.in_outage
        told = {key: replace(decision, outage=NO_OUTAGE) for key, decision in plans.items()}
        concerned = [key for key in plans if not lost.isdisjoint(clusters_of(bindings[key].spec))]
        if not concerned:
            return told
        present = [self._fleet[name] for name in lost]
        watched = self._heartbeat.attention().time
        reason = self._brake.brake.reason
        expecting = partial(
            Snapshot, attention=Attention(watched), settings=self._settings, brake_reason=reason, now=now
        )
        expected = [(c, expected_taints(c, now, self._expectation, watched)) for c in present]
        changed = [(cluster, tainted) for cluster, tainted in expected if tainted is not cluster]
        try:
            for _, tainted in changed:
                self._fleet.put(tainted)
            for key in concerned:
                works = self._bindings.works_by_cluster(key)
                then = expecting(bindings[key], self._fleet, works, brake, quota_refusal=self._refusals.get(key, ""))
                told[key] = replace(plans[key], outage=foresee(then, plans[key], decide_together))
        finally:
            for cluster, _ in changed:
                self._fleet.put(cluster)
        return told

    def _see_in_group(self, key: BindingKey, old: Binding | None, new: Binding | None) -> Iterable[BindingKey]:
        """Bindings of the same group that wait, and are decided again since this one has moved."""
        binding = new or old
        if self._groups is None or binding is None or not binding.namespace:
            return ()
        beside = self._groups.beside(binding)
        if new is None:
            self._groups.remove(binding)
        else:
            self._groups.put(new)
            beside |= self._groups.beside(new)
        if old is not None and new is not None and old.spec.clusters == new.spec.clusters:
            return ()
        return [BindingKey(key.plural, Key(binding.namespace, name)) for name in beside]


class DecisionRefused(Exception):
    """A decision would have broken an invariant: a bug of Leeward."""


class Unlisted(WorldError):
    """Refusal to decide on a list that does not show all objects."""


def _named_by(binding: Binding) -> Iterator[str]:
    """The clusters where it has, or may still have, a copy."""
    yield from (target.name for target in binding.spec.clusters)
    yield from _left_by(binding)


def _left_by(binding: Binding) -> Iterator[str]:
    """The clusters that the binding is on its way out of."""
    return (task.from_cluster for task in binding.spec.graceful_eviction_tasks)


def _evicted_at(binding: Binding) -> Iterator[datetime]:
    """Instants at which copies began to leave because of taints."""
    tasks = (task for task in binding.spec.graceful_eviction_tasks if reason_of(task) is TaskReason.TAINT_UNTOLERATED)
    return (task.creation_timestamp for task in tasks if task.creation_timestamp is not None)
