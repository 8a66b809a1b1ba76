"""Looks after each Cluster: its finalizer, its execution space, the silence of its agent, and its taints.

One reconcile does them in this order. A Cluster that is being deleted is unjoined instead.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import msgspec

from controller_runtime import Index
from kubeapi.core import NAMESPACES, Namespace
from kubeapi.diff import status_patch
from kubeapi.meta import ObjectMeta
from kubeclient import AlreadyExists
from leeward.api.cluster import Cluster
from leeward.api.names import (
    CLUSTER_CONTROLLER_FINALIZER,
    EXECUTION_SPACE_PREFIX,
    SYSTEM_LABEL,
    cluster_of_execution_space,
    execution_space,
)
from leeward.api.resource import CLUSTERS, WORKS
from leeward.api.work import Work
from leeward.controllers.cluster.confirming import OutageConfirmation, is_marked
from leeward.controllers.cluster.lease_tracker import LeaseTracker
from leeward.controllers.cluster.taints import ClusterTaints, TaintSettings
from leeward.controllers.cluster.unjoin import give_back, why_it_stays
from leeward.controllers.cluster.warnings import StandingWarnings
from leeward.core.cluster_health.cluster_identity import replaced
from leeward.core.cluster_health.monitor_grace_period import MonitorGracePeriods, decide_observed_conditions
from leeward.core.cluster_health.pending_condition import is_overdue
from leeward.core.copies.evidence import AGENT_SETTLES, is_told_by_karmada
from leeward.runtime.brake import BrakeView
from leeward.runtime.controller_context import ControlPlane
from leeward.runtime.heartbeat import HeartbeatView

RETRY_SECONDS = 2.0
_MESSAGE = (
    "its agent does not say which generation of a Work it reports about, as Karmada's does not: what it "
    "reports is believed; leeward's agent would also tell old reports from new ones when the cluster returns"
)


@dataclass(frozen=True, slots=True)
class ClusterSettings:
    """`probes`: this process probes the Push clusters."""

    periods: MonitorGracePeriods
    taints: TaintSettings
    probes: bool = True


class ClusterController:
    def __init__(
        self, plane: ControlPlane, settings: ClusterSettings, brake: BrakeView, heartbeat: HeartbeatView
    ) -> None:
        self._plane = plane
        self._settings = settings
        self._brake = brake
        self._heartbeat = heartbeat
        self._confirmation = OutageConfirmation(plane, heartbeat, settings.periods, probes=settings.probes)
        self._recorder = plane.recorder("cluster-controller")
        self._clusters = plane.informers.of(CLUSTERS)
        self._lease_tracker = LeaseTracker(plane, settings.periods)
        self._listening_since = float("-inf")
        self._warnings = StandingWarnings(self._recorder)
        self._agent_reports = AgentReports(plane, self._warnings)
        self._taints = ClusterTaints(
            plane, self._recorder, self._warnings, settings.taints, brake, self._confirmation, self._patch
        )
        self._controller = plane.controller("cluster-controller", self.reconcile)

    def start(self) -> None:
        self._lease_tracker.start(self._heard)
        self._clusters.on_change(self._cluster_changed)
        self._brake.on_change(self._add_all)
        self._heartbeat.on_change(self._heartbeat_changed)
        self._confirmation.start(self._found_failing)
        self._taints.start(self._add_all)
        self._plane.informers.of(NAMESPACES).on_change(self._namespace_changed)
        self._controller.start(self._plane.supervisor)

    async def reconcile(self, name: str) -> datetime | None:
        await self._clusters.wait_synced()
        await self._brake.wait_synced()
        await self._heartbeat.wait_synced()
        await self._taints.wait_synced()
        await self._lease_tracker.recall()
        cluster = self._clusters.get(name)
        if cluster is None:
            return None
        if cluster.is_being_deleted:
            return await self._leave(cluster)
        if CLUSTER_CONTROLLER_FINALIZER not in cluster.metadata.finalizers:
            cluster = await self._patch(cluster, {"metadata": {"finalizers": self._finalizers(cluster, present=True)}})
        await self._ensure_execution_space(cluster)
        self._agent_reports.look_at(cluster)
        other = replaced(cluster)
        self._warnings.keep(cluster, "ClusterReplaced", other.message if other is not None else "")
        attention = self._heartbeat.attention()
        cluster, wake_for_monitoring = await self._monitor(cluster) if attention.is_now else (cluster, None)
        wake_for_taints = await self._taints.keep(cluster, self._lease_tracker.last_seen(name), attention)
        instants = (wake_for_monitoring, wake_for_taints, self._confirmation.look_at(cluster))
        return min((instant for instant in instants if instant is not None), default=None)

    def _cluster_changed(self, old: Cluster | None, new: Cluster | None) -> None:
        if new is None:
            if old is not None:
                self._warnings.forget(old.name)
                self._taints.forget(old.name)
                self._plane.failed_probes.forget(old.name)
                self._plane.metrics.forget_cluster(old.name)
            return
        if new.spec.sync_mode == "Pull" and new.ready is not None:
            self._plane.metrics.cluster_ready.labels(new.name).set(new.is_ready)
        if old is not None and old.is_ready != new.is_ready:
            self._tell(new)
        self._controller.queue.add(new.name)

    def _heard(self, name: str) -> None:
        cluster = self._clusters.get(name)
        if cluster is not None and (cluster.ready is None or is_overdue(cluster)):
            self._controller.queue.add(name)

    def _tell(self, cluster: Cluster) -> None:
        ready = cluster.ready
        if ready is None:
            return
        record = self._recorder.normal if cluster.is_ready else self._recorder.warning
        record(CLUSTERS, cluster, ready.reason, f"Ready is now {ready.status}: {ready.message}")

    def _namespace_changed(self, old: Namespace | None, new: Namespace | None) -> None:
        """An execution space that someone deleted is made again."""
        if new is None and old is not None and old.name.startswith(EXECUTION_SPACE_PREFIX):
            self._controller.queue.add(old.name.removeprefix(EXECUTION_SPACE_PREFIX))

    def _add_all(self) -> None:
        for cluster in self._clusters.list():
            self._controller.queue.add(cluster.name)

    def _heartbeat_changed(self) -> None:
        """Looks at all clusters: another heartbeat has begun, or somebody watches again."""
        if self._heartbeat.began > self._listening_since:
            self._listening_since = self._heartbeat.began
            self._lease_tracker.listens_anew()
        self._add_all()

    def _found_failing(self, name: str) -> None:
        """A probe tells nothing new of an outage that is confirmed."""
        cluster = self._clusters.get(name)
        if cluster is not None and not cluster.is_ready and not is_marked(cluster, self._heartbeat.attention()):
            self._controller.queue.add(name)

    async def _monitor(self, cluster: Cluster, *, is_asked: bool = False) -> tuple[Cluster, datetime | None]:
        """Silence counts where the API server, asked for the Lease itself, tells no renewal."""
        now, periods, tracker = self._plane.clock.now(), self._settings.periods, self._lease_tracker
        observed = decide_observed_conditions(cluster, tracker.last_seen(cluster.name), tracker.started, now, periods)
        if observed.conditions == cluster.status.conditions:
            return cluster, observed.wake_at
        if not is_asked:
            await tracker.ask(cluster.name)
            return await self._monitor(cluster, is_asked=True)
        status = msgspec.structs.replace(cluster.status, conditions=observed.conditions)
        return await self._patch(cluster, status_patch(cluster.status, status), subresource="status"), observed.wake_at

    async def _ensure_execution_space(self, cluster: Cluster) -> None:
        name = execution_space(cluster.name)
        namespaces = self._plane.informers.of(NAMESPACES)
        await namespaces.wait_synced()
        if namespaces.get(name) is not None:
            return
        namespace = Namespace(metadata=ObjectMeta(name=name, labels={SYSTEM_LABEL: "true"}))
        try:
            namespaces.remember(await self._plane.client.create(NAMESPACES, namespace))
        except AlreadyExists:
            return
        message = f"Created execution space({name}) for cluster({cluster.name})."
        self._recorder.normal(CLUSTERS, cluster, "CreateExecutionSpaceSucceed", message)

    async def _leave(self, cluster: Cluster) -> datetime | None:
        if CLUSTER_CONTROLLER_FINALIZER not in cluster.metadata.finalizers or not await self._is_leaving(cluster):
            return None
        space = execution_space(cluster.name)
        left = await give_back(self._plane.client, cluster, space)
        if left is not None:
            self._warnings.keep(cluster, "RemoveExecutionSpaceFailed", why_it_stays(cluster, left))
            return self._plane.clock.now() + timedelta(seconds=RETRY_SECONDS)
        message = f"Removed execution space({space}) for cluster({cluster.name})."
        self._recorder.normal(CLUSTERS, cluster, "RemoveExecutionSpaceSucceed", message)
        await self._patch(cluster, {"metadata": {"finalizers": self._finalizers(cluster, present=False)}})
        return None

    async def _is_leaving(self, cluster: Cluster) -> bool:
        """Tells whether this very Cluster is being deleted, asked of the API server itself: one that was restored may
        not know of it. Raises: WorldError. Holds: S5."""
        found = await self._plane.client.find(CLUSTERS, cluster.name)
        if found is None:
            return False
        return found.metadata.uid == cluster.metadata.uid and found.is_being_deleted

    async def _patch(self, cluster: Cluster, patch: Mapping[str, Any], subresource: str = "") -> Cluster:
        updated = await self._plane.client.patch(
            CLUSTERS, cluster.name, patch, subresource=subresource, resource_version=cluster.metadata.resource_version
        )
        self._clusters.remember(updated)
        return updated

    @staticmethod
    def _finalizers(cluster: Cluster, *, present: bool) -> list[str]:
        others = [f for f in cluster.metadata.finalizers if f != CLUSTER_CONTROLLER_FINALIZER]
        return [*others, CLUSTER_CONTROLLER_FINALIZER] if present else others


class AgentReports:
    """Warns once of a Pull cluster whose agent is Karmada's own: it is believed, and less can be known by it."""

    def __init__(self, plane: ControlPlane, warnings: StandingWarnings) -> None:
        self._clock = plane.clock
        self._warnings = warnings
        self._works = Index(plane.informers.of(WORKS), _cluster_told_by_karmada)

    def look_at(self, cluster: Cluster) -> None:
        before = self._clock.now() - AGENT_SETTLES
        told = self._works.get(cluster.name) if cluster.spec.sync_mode == "Pull" else ()
        instants = [work.applied.last_transition_time for work in told if work.applied is not None]
        settled = any(instant is not None and instant < before for instant in instants)
        self._warnings.keep(cluster, "AgentTellsNoGeneration", _MESSAGE if settled else "")


def _cluster_told_by_karmada(work: Work) -> str | None:
    return cluster_of_execution_space(work.namespace) if is_told_by_karmada(work) else None
