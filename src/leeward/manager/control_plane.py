"""All controllers of a control plane, with their settings."""

from dataclasses import dataclass, field

from leeward.controllers.agent_access import AgentAccessController
from leeward.controllers.binding import BindingController
from leeward.controllers.brake import BrakeController
from leeward.controllers.cluster import ClusterController, ClusterSettings
from leeward.controllers.cluster_taint_policy import ClusterTaintPolicyController
from leeward.controllers.detector import Detector, DetectorSettings
from leeward.controllers.namespace_sync import NamespaceSyncController, NamespaceSyncSettings
from leeward.controllers.policies import PolicyController
from leeward.controllers.scheduler import Scheduler, SchedulerSettings
from leeward.controllers.workload_rebalancer import WorkloadRebalancerController
from leeward.core.failover.brake import BrakeSettings
from leeward.core.failover.flapping import HoldDownSettings
from leeward.core.failover.liveness import Patience
from leeward.core.placement import PlacementSettings
from leeward.manager.push import Connect, PushClusters
from leeward.manager.timing import Timing
from leeward.runtime.binding_kinds import CLUSTER_RESOURCE_BINDING, RESOURCE_BINDING
from leeward.runtime.brake import BrakeView
from leeward.runtime.estimators import Estimator
from leeward.runtime.plane import ControlPlane
from leeward.runtime.templates import Templates


@dataclass(frozen=True, slots=True)
class ManagerSettings:
    timing: Timing = field(default_factory=Timing)
    failover: bool = True
    """Gate `Failover`."""
    graceful_eviction: bool = True
    """Gate `GracefulEviction`."""
    brake: BrakeSettings = field(default_factory=BrakeSettings)
    hold_down: HoldDownSettings = field(default_factory=HoldDownSettings)
    """Of clusters that flap."""
    purge_mode: str = "Gracefully"
    """--no-execute-taint-eviction-purge-mode"""
    workload_affinity: bool = False
    """Gate `WorkloadAffinity`."""
    multiple_pod_templates_scheduling: bool = False
    """Gate `MultiplePodTemplatesScheduling`."""
    priority_based_scheduling: bool = True
    """Gate `PriorityBasedScheduling`."""
    estimators: tuple[Estimator, ...] = ()
    """Asked for room besides what clusters report of themselves."""


class ControllerManager:
    """Start it when the control plane answers; it runs until the plane's supervisor is closed."""

    def __init__(self, plane: ControlPlane, connect: Connect, settings: ManagerSettings) -> None:
        timing = settings.timing
        self._plane = plane
        self._push = PushClusters(plane, connect, timing)
        templates = Templates(plane.server)
        brake = BrakeView(plane.informers, settings.brake)
        patience = Patience(timing.cluster_monitor_grace_period, timing.cluster_startup_grace_period)
        self._controllers = (
            ClusterController(
                plane,
                ClusterSettings(patience, timing.failover_eviction_timeout, settings.failover, settings.hold_down),
                brake,
            ),
            BrakeController(plane, brake),
            ClusterTaintPolicyController(plane, brake),
            WorkloadRebalancerController(plane),
            NamespaceSyncController(plane, NamespaceSyncSettings()),
            AgentAccessController(plane),
            PolicyController(plane, templates),
            Detector(plane, templates, _detector_settings(settings)),
            Scheduler(plane, _scheduler_settings(settings), brake),
            BindingController(plane, RESOURCE_BINDING),
            BindingController(plane, CLUSTER_RESOURCE_BINDING),
            self._push,
        )

    def start(self) -> None:
        self._plane.supervisor.start(self._plane.events.run(), "events")
        for controller in self._controllers:
            controller.start()

    async def close(self) -> None:
        """Ends the groups of the Push clusters; the rest ends with the plane's supervisor."""
        await self._push.close()


def _detector_settings(settings: ManagerSettings) -> DetectorSettings:
    return DetectorSettings(workload_affinity=settings.workload_affinity, priorities=settings.priority_based_scheduling)


def _scheduler_settings(settings: ManagerSettings) -> SchedulerSettings:
    placement = PlacementSettings(
        evict=settings.failover,
        graceful=settings.graceful_eviction,
        purge_mode=settings.purge_mode,
        graceful_seconds=settings.timing.graceful_eviction_timeout,
    )
    return SchedulerSettings(
        placement,
        workload_affinity=settings.workload_affinity,
        multiple_pod_templates=settings.multiple_pod_templates_scheduling,
        estimators=settings.estimators,
        estimator_timeout_seconds=settings.timing.scheduler_estimator_timeout,
    )
