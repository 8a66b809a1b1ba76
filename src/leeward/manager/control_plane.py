"""The controllers of a control plane: those that were chosen, with their settings."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Protocol, runtime_checkable

from kubeapi.core import LEASES
from kubeapi.loop import Supervisor
from leeward.api.names import SYSTEM_NAMESPACE
from leeward.controllers.agents.agent_access import AgentAccessController
from leeward.controllers.agents.agent_certificates import AgentCertificateController
from leeward.controllers.agents.approved_agents import ApprovedAgentController
from leeward.controllers.autoscaled_templates import DeploymentReplicasSyncer, ScaleTargetMarker
from leeward.controllers.binding import BindingController
from leeward.controllers.binding.autoscaler_floors import AutoscalerFloors
from leeward.controllers.brake import BrakeController
from leeward.controllers.cluster import ClusterController, ClusterSettings, TaintSettings
from leeward.controllers.dependencies.dependencies_distributor import DependenciesDistributor
from leeward.controllers.descheduler import Descheduler
from leeward.controllers.detector import Detector, DetectorSettings
from leeward.controllers.gates import Gates
from leeward.controllers.gates.dependency_order import DependencyOrder
from leeward.controllers.heartbeat import HeartbeatController, HeartbeatRelease
from leeward.controllers.namespace_sync import NamespaceSyncController, NamespaceSyncSettings
from leeward.controllers.outage import OutageController
from leeward.controllers.policies import PolicyController
from leeward.controllers.quota.quota_status import QuotaEnforcementController, QuotaStatusController
from leeward.controllers.quota.quota_sync import QuotaSyncController
from leeward.controllers.removals.removal_holds import RemovalHolds
from leeward.controllers.removals.returned_copies import ReturnedCopies
from leeward.controllers.rendering.rendered_admission import RenderedAdmission
from leeward.controllers.resilience import ResilienceController
from leeward.controllers.scheduler import Scheduler, SchedulerSettings
from leeward.controllers.unified_auth import UnifiedAuthController
from leeward.controllers.unified_auth.impersonator_works import ImpersonatorWorks, ImpersonatorWriter
from leeward.controllers.unreadable_objects import UnreadableObjects
from leeward.controllers.workload_rebalancer import WorkloadRebalancerController
from leeward.core.cluster_health.flap_damping import HoldDownSettings
from leeward.core.cluster_health.monitor_grace_period import MonitorGracePeriods
from leeward.core.outlook import TaintExpectation
from leeward.core.placement import PlacementSettings
from leeward.core.settings_in_force import render_settings
from leeward.manager.choice import (
    AUTOSCALED,
    DEPENDENCIES_DISTRIBUTOR,
    DESCHEDULER,
    HALVES,
    MEMBER_SIDE,
    RESILIENCE,
    SCHEDULER,
    UNIFIED_AUTH,
    Choice,
)
from leeward.manager.foreign_scheduler import ForeignSchedulerEvictions
from leeward.manager.gate_places import PushPlaces
from leeward.manager.member_side import MemberSide
from leeward.manager.push import Connect, PushClusters
from leeward.manager.settings import ManagerSettings
from leeward.runtime.binding_kinds import CLUSTER_RESOURCE_BINDING, RESOURCE_BINDING
from leeward.runtime.brake import BrakeView
from leeward.runtime.controller_context import ControlPlane, Member
from leeward.runtime.heartbeat import HeartbeatSettings, HeartbeatView
from leeward.runtime.templates import Templates
from leeward.runtime.work_share import WorkShare

SHORTEST_GAP_SECONDS = 5.0
LONGEST_HOLD_DOWN = 6
"""Times the first one."""
OF_SHARDS = ("namespace", "detector", "binding")
"""Controllers that do what is done for single bindings and clusters, beside those of a member."""


class Startable(Protocol):
    def start(self) -> None: ...


@runtime_checkable
class StandsBy(Protocol):
    """A controller that follows more than it asks for when it is made."""

    def stand_by(self) -> None: ...


class ControllerManager:
    """Start it when the control plane answers; it runs until the plane's supervisor is closed."""

    def __init__(self, plane: ControlPlane, connect: Connect, settings: ManagerSettings) -> None:
        self._plane = plane
        self._connect = connect
        self._settings = settings
        self._push: PushClusters | None = None
        self._speak: Callable[[Member], UnifiedAuthController] | None = None
        self._foreign: ForeignSchedulerEvictions | None = None
        self._admission = RenderedAdmission(plane.server) if settings.admit_rendered else None
        self._gate_places = PushPlaces(plane, connect)
        self._brake = BrakeView(plane.informers, settings.brake_in_force)
        heartbeat = _heartbeat_settings(settings, plane.share)
        self._heartbeat = HeartbeatView(plane.informers, plane.clock, heartbeat, plane.lag)
        self._controllers = [each for name, make in self._makers() if self._runs(name) for each in make()]
        self._controllers.extend(self._composed())

    def stand_by(self) -> None:
        """Returns when the kinds of the controllers are followed. Nothing is done or written before `start`."""
        for controller in self._controllers:
            if isinstance(controller, StandsBy):
                controller.stand_by()

    async def catch_up(self) -> None:
        """Returns when the followed kinds are as the control plane is now, or are being listed. Raises: WorldError."""
        leases = await self._plane.client.list(LEASES, SYSTEM_NAMESPACE, limit=1)
        await self._plane.informers.catch_up(int(leases.resource_version or 0))

    def start(self) -> None:
        self._plane.supervisor.start(self._plane.events.run(), "events")
        if self._settings.safety.only_watched_time:
            self._plane.lag.start(self._plane.supervisor, self._plane.metrics.process.stood_still.inc)
        for controller in self._controllers:
            controller.start()

    async def close(self) -> None:
        """Ends the groups of the Push clusters, and the evictions beside a foreign scheduler; the rest ends with the
        plane's supervisor."""
        if self._push is not None:
            await self._push.close()
        await self._gate_places.close()
        if self._foreign is not None:
            await self._foreign.close()

    def _runs(self, name: str) -> bool:
        """Tells whether the controller was chosen, and is of this process's share."""
        share = self._plane.share
        return self._settings.controllers.runs(name) and (share.works if name in OF_SHARDS else share.leads)

    def _makers(self) -> Iterator[tuple[str, Callable[[], list[Startable]]]]:
        """Makers by the name of the controller. A controller that is not made follows no kind."""
        plane, settings = self._plane, self._settings
        yield "cluster", self._make_cluster
        yield "brake", lambda: [BrakeController(plane, self._brake, self._heartbeat)]
        evicts, traces = settings.evicts_by_taint, settings.trace_evictions
        yield "outage", lambda: [OutageController(plane, self._brake, self._heartbeat, evicts=evicts, traces=traces)]
        yield RESILIENCE, self._make_resilience
        yield "workloadRebalancer", lambda: [WorkloadRebalancerController(plane)]
        skipped = NamespaceSyncSettings(settings.skipped.namespaces)
        yield "namespace", lambda: [NamespaceSyncController(plane, skipped, self._admission)]
        yield "agentAccess", lambda: [AgentAccessController(plane)]
        yield "agentcsrapproving", lambda: [AgentCertificateController(plane), ApprovedAgentController(plane)]
        yield "detector", self._make_detector
        yield SCHEDULER, self._make_scheduler
        yield DESCHEDULER, self._make_descheduler
        yield "binding", self._make_binding
        yield DEPENDENCIES_DISTRIBUTOR, self._make_distributor
        yield from self._quota_makers()
        yield UNIFIED_AUTH, self._make_impersonators
        marker, syncer = AUTOSCALED
        yield marker, lambda: [ScaleTargetMarker(plane)]
        yield syncer, lambda: [DeploymentReplicasSyncer(plane)]

    def _quota_makers(self) -> Iterator[tuple[str, Callable[[], list[Startable]]]]:
        plane, enabled = self._plane, self._settings.gates.enabled
        enforced, multiple = enabled("FederatedQuotaEnforcement"), enabled("MultiplePodTemplatesScheduling")
        status = partial(QuotaStatusController, plane, enforced=enforced, multiple_pod_templates=multiple)
        enforcement = partial(QuotaEnforcementController, plane, multiple_pod_templates=multiple)
        yield "federatedResourceQuotaSync", lambda: [QuotaSyncController(plane, self._settings.skipped.reach)]
        yield "federatedResourceQuotaStatus", lambda: [status()]
        yield "federatedResourceQuotaEnforcement", lambda: [enforcement()] if enforced else []

    def _composed(self) -> Iterator[Startable]:
        """Controllers that stand for several names at once."""
        settings = self._settings
        if self._plane.share.leads:
            yield from self._halves()
            if settings.controllers.runs("cluster"):
                yield UnreadableObjects(self._plane)
        if settings.controllers.any_of((*MEMBER_SIDE, UNIFIED_AUTH)):
            returned = ReturnedCopies(self._plane, self._brake) if settings.safety.last_healthy_copy else None
            self._push = PushClusters(self._plane, self._connect, MemberSide.of(settings), returned, self._speak)
            yield self._push

    def _halves(self) -> Iterator[Startable]:
        settings = self._settings
        if settings.controllers.any_of(HALVES):
            evicting = _scheduler_settings(settings, settings.halves())
            yield Scheduler(self._plane, evicting, self._brake, self._heartbeat)
        halves = settings.controllers.halves_beside_a_foreign_scheduler()
        if halves and settings.eviction.taint_manager and settings.failover:
            self._foreign = ForeignSchedulerEvictions(self._plane, halves, partial(self._begin_halves, halves))
            yield self._foreign

    def _begin_halves(self, halves: Sequence[str], supervisor: Supervisor) -> None:
        """A manager of their own, with caches of its own: it ends without a trace."""
        own = self._plane
        plane = ControlPlane.of(
            own.client, own.clock, own.randomness, own.metrics, supervisor, own.jail, own.call_webhook
        )
        settings = replace(self._settings, controllers=Choice(tuple(halves), frozenset()))
        ControllerManager(plane, self._connect, settings).start()

    def _make_scheduler(self) -> list[Startable]:
        whole = _scheduler_settings(self._settings, self._settings.whole_decision())
        return [Scheduler(self._plane, whole, self._brake, self._heartbeat)]

    def _make_impersonators(self) -> list[Startable]:
        """The controller for Pull members; that of a Push member begins with the member, and shares the writer."""
        writer, limited = ImpersonatorWriter(self._plane), self._settings.controllers.names(UNIFIED_AUTH)
        self._speak = partial(UnifiedAuthController, self._plane, writer=writer, limited=limited)
        return [ImpersonatorWorks(self._plane, writer, limited=limited)]

    def _make_descheduler(self) -> list[Startable]:
        settings, estimator = self._settings, self._settings.cluster_estimator
        if estimator is None:
            return []
        seconds = settings.timing.scheduler_estimator_timeout
        placement = settings.whole_decision()
        return [Descheduler(self._plane, settings.descheduling, placement, self._brake, estimator, seconds)]

    def _make_resilience(self) -> list[Startable]:
        survey, settings = self._settings.survey_losses, self._settings.in_force()
        if survey is None:
            return []
        return [ResilienceController(self._plane, self._brake, self._heartbeat, settings, survey)]

    def _make_cluster(self) -> list[Startable]:
        settings = _cluster_settings(self._settings)
        cluster = ClusterController(self._plane, settings, self._brake, self._heartbeat)
        if not self._settings.safety.only_watched_time:
            return [HeartbeatRelease(self._plane, self._heartbeat.settings.interval_seconds), cluster]
        told = render_settings(self._settings.in_force())
        return [HeartbeatController(self._plane, self._heartbeat, told), cluster]

    def _make_binding(self) -> list[Startable]:
        """A new copy waits for what it needs only where somebody has that follow it; in Karmada it does not wait."""
        plane, settings = self._plane, self._settings
        reach, enabled = settings.skipped.reach, settings.safety.last_healthy_copy
        follows = settings.gates.enabled("PropagateDeps") and settings.controllers.runs(DEPENDENCIES_DISTRIBUTOR)
        order = DependencyOrder(plane, Templates(plane.server), reach) if follows and enabled else None
        holds = RemovalHolds(plane, self._heartbeat, self._brake, enabled=enabled)
        kinds = (RESOURCE_BINDING, CLUSTER_RESOURCE_BINDING)
        injects = settings.gates.enabled("StatefulFailoverInjection")
        make = partial(BindingController, inject=injects, only_seen=settings.safety.only_seen_is_ready)
        grace = settings.timing.graceful_eviction_timeout
        floors = [AutoscalerFloors(plane, kind, grace) if enabled else None for kind in kinds]
        return [
            make(plane, kind, reach, holds, Gates(plane, self._gate_places, order), each, admission=self._admission)
            for kind, each in zip(kinds, floors, strict=True)
        ]

    def _make_distributor(self) -> list[Startable]:
        plane, settings = self._plane, self._settings
        reach, enabled = settings.skipped.reach, settings.gates.enabled("PropagateDeps")
        leaves_last = settings.safety.last_healthy_copy
        templates = Templates(plane.server)
        return [DependenciesDistributor(plane, templates, reach, enabled=enabled, leaves_last=leaves_last)]

    def _make_detector(self) -> list[Startable]:
        templates = Templates(self._plane.server)
        detector = Detector(self._plane, templates, _detector_settings(self._settings))
        return [PolicyController(self._plane, templates), detector]


def _cluster_settings(settings: ManagerSettings) -> ClusterSettings:
    timing = settings.timing
    return ClusterSettings(
        MonitorGracePeriods(timing.cluster_monitor_grace_period, timing.cluster_startup_grace_period),
        TaintSettings(
            timing.failover_eviction_timeout,
            settings.failover,
            _hold_down(settings),
            settings.safety.could_not_look,
            settings.controllers.runs("clustertaintpolicy"),
        ),
        settings.controllers.runs("clusterStatus"),
    )


def _heartbeat_settings(settings: ManagerSettings, share: WorkShare) -> HeartbeatSettings:
    """Twice for each probe. What lies between two probes is no gap, nor a short pause of a busy machine. All was looked
    at again when the silence of an agent that is dead is known, too. Holds: S13."""
    frequency = settings.timing.cluster_status_update_frequency
    listening = settings.timing.cluster_monitor_grace_period / 2
    return HeartbeatSettings(
        frequency / 2,
        fresh_seconds=max(1.5 * frequency, SHORTEST_GAP_SECONDS),
        longest_seconds=max(frequency, SHORTEST_GAP_SECONDS),
        settle_seconds=max(2 * frequency, listening + frequency / 2),
        kept_here=share.leads and settings.controllers.runs("cluster"),
        enabled=settings.safety.only_watched_time,
    )


def _hold_down(settings: ManagerSettings) -> HoldDownSettings:
    """Settings of the hold-down at the speed of the other time-outs."""
    first, half_life = settings.timing.hold_down, settings.timing.hold_down_half_life
    return replace(
        settings.hold_down, first_seconds=first, longest_seconds=LONGEST_HOLD_DOWN * first, half_life_seconds=half_life
    )


def _detector_settings(settings: ManagerSettings) -> DetectorSettings:
    enabled = settings.gates.enabled
    return DetectorSettings(
        enabled("WorkloadAffinity"),
        enabled("PriorityBasedScheduling"),
        enabled("PropagationPolicyPreemption"),
        enabled("MultiplePodTemplatesScheduling"),
        enabled("ResourceQuotaEstimate"),
        settings.skipped.reach,
        settings.controllers.runs("hpaScaleTargetMarker"),
        enabled("PropagateDeps"),
    )


def _scheduler_settings(settings: ManagerSettings, placement: PlacementSettings) -> SchedulerSettings:
    enabled = settings.gates.enabled
    return SchedulerSettings(
        placement,
        settings.eviction.per_second,
        TaintExpectation(settings.timing.failover_eviction_timeout, settings.failover, settings.safety.could_not_look),
        enabled("WorkloadAffinity"),
        enabled("MultiplePodTemplatesScheduling"),
        enabled("FederatedQuotaEnforcement"),
        enabled("ResourceQuotaEstimate"),
        settings.estimators,
        settings.cluster_estimator,
        settings.timing.scheduler_estimator_timeout,
        settings.on_decision,
    )
