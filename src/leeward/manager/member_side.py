"""The controllers of one member cluster: in the control plane for Push, in the agent for Pull."""

from dataclasses import dataclass, field, replace

from leeward.controllers.cluster_status import ClusterStatusController, ClusterStatusSettings
from leeward.controllers.execution import ExecutionController
from leeward.controllers.removals.returned_copies import ReturnedCopies
from leeward.controllers.work_status import WorkStatusController
from leeward.core.cluster_health.ready_condition import Thresholds
from leeward.manager.choice import Choice
from leeward.manager.gates import FeatureGates
from leeward.manager.settings import ManagerSettings
from leeward.manager.timing import Timing
from leeward.runtime.controller_context import ControlPlane, Member
from leeward.runtime.member_works import MemberWorks


@dataclass(frozen=True, slots=True)
class MemberSide:
    """Settings of a member's controllers, and which of them run. `probe_serving`: a cluster is Ready only while it
    serves reads; `keeps`: what is of before a restore takes no replicas until it was looked at again; `holds_volumes`:
    none are made in a member that was rebuilt, which the probe's read tells."""

    timing: Timing = field(default_factory=Timing)
    gates: FeatureGates = field(default_factory=FeatureGates)
    controllers: Choice = field(default_factory=Choice)
    probe_serving: bool = True
    keeps: bool = True
    holds_volumes: bool = True

    @staticmethod
    def of(settings: ManagerSettings) -> "MemberSide":
        safety, keeps = settings.safety, settings.safety.last_healthy_copy
        side = MemberSide(settings.timing, settings.gates, settings.controllers, safety.probe_serving, keeps)
        return replace(side, holds_volumes=safety.hold_volumes)

    def start(
        self, plane: ControlPlane, member: Member, works_namespace: str = "", returned: ReturnedCopies | None = None
    ) -> None:
        """Starts those of the plane's share on the member's supervisor, with which they end. `works_namespace` narrows
        the watch on Works; `returned` as in `ExecutionController`."""
        runs, share = self.controllers.runs, plane.share
        if share.leads and runs("clusterStatus"):
            ClusterStatusController(plane, member, self._status_settings()).start()
        if not share.works:
            return
        works = MemberWorks(plane, member, works_namespace)
        if runs("execution"):
            settles, holds, repeats = self._settle_seconds(), self._identifies, not self.keeps
            ExecutionController(
                plane, member, works, returned, settles, holds_volumes=holds, repeats_jobs=repeats
            ).start()
        if runs("workStatus"):
            WorkStatusController(plane, member, works, exact_health=not self.keeps).start()

    @property
    def _identifies(self) -> bool:
        """Tells whether a member that was rebuilt is noticed."""
        return self.holds_volumes and self.probe_serving

    def _settle_seconds(self) -> float:
        """Seconds within which a restored state has been looked at again: those that a failover takes."""
        timing = self.timing
        return timing.failover_eviction_timeout + timing.graceful_eviction_timeout if self.keeps else 0.0

    def _status_settings(self) -> ClusterStatusSettings:
        timing = self.timing
        return ClusterStatusSettings(
            frequency_seconds=timing.cluster_status_update_frequency,
            probe_timeout_seconds=timing.cluster_probe_timeout,
            thresholds=Thresholds(timing.cluster_failure_threshold, timing.cluster_success_threshold),
            modeling=self.gates.enabled("CustomizedClusterResourceModeling"),
            reads=self.probe_serving,
            identifies=self._identifies,
        )
