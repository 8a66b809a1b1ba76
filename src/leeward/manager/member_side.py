"""The controllers of one member cluster: in the control plane for Push, in the agent for Pull."""

from leeward.controllers.cluster_status import ClusterStatusController, ClusterStatusSettings
from leeward.controllers.execution import ExecutionController
from leeward.controllers.work_status import WorkStatusController
from leeward.core.failover.health import Thresholds
from leeward.manager.timing import Timing
from leeward.runtime.plane import ControlPlane, Member


def start_member_side(plane: ControlPlane, member: Member, timing: Timing, works_namespace: str = "") -> None:
    """Starts them on the member's supervisor, with which they end. `works_namespace` narrows the watch on Works."""
    settings = ClusterStatusSettings(
        frequency_seconds=timing.cluster_status_update_frequency,
        probe_timeout_seconds=timing.cluster_probe_timeout,
        thresholds=Thresholds(timing.cluster_failure_threshold, timing.cluster_success_threshold),
    )
    ClusterStatusController(plane, member, settings).start()
    ExecutionController(plane, member, works_namespace).start()
    WorkStatusController(plane, member, works_namespace).start()
