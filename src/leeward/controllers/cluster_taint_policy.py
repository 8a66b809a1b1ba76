"""The cluster taint policy controller: taints that follow conditions, as ClusterTaintPolicy objects say.

It writes only taints that policies name, and the annotation that tells which of them are theirs. While the brake holds,
no cluster that looks dead gets a NoExecute taint from a policy either; nor does one whose condition was not seen anew
since the present heartbeat began. Holds: S4, S9, S13.

Karmada: pkg/controllers/taint (ClusterTaintPolicyController); same, but for the brake and
`core.cluster_health.taint_policy`.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from kubeapi.codec import to_wire
from leeward.api.cluster import Cluster
from leeward.api.names import OUTAGE_CONFIRMED_ANNOTATION, POLICY_TAINTS_ANNOTATION
from leeward.api.resource import CLUSTER_TAINT_POLICIES, CLUSTERS
from leeward.api.taint_policy import ClusterTaintPolicy
from leeward.client import Conflict, WorldError
from leeward.core.cluster_health.brake import looks_dead
from leeward.core.cluster_health.condition_taints import describe_taints
from leeward.core.cluster_health.taint_policy import (
    PolicyTaints,
    decide_policy_taints,
    is_condition_confirmed,
    owned_annotation,
    policy_confirmation,
)
from leeward.runtime.brake import BRAKED_PAUSE, BrakeView
from leeward.runtime.heartbeat import HeartbeatView
from leeward.runtime.plane import ControlPlane


class ClusterTaintPolicyController:
    def __init__(self, plane: ControlPlane, brake: BrakeView, heartbeat: HeartbeatView) -> None:
        self._plane = plane
        self._brake = brake
        self._heartbeat = heartbeat
        self._recorder = plane.recorder("cluster-taint-policy-controller")
        self._clusters = plane.informers.of(CLUSTERS)
        self._policies = plane.informers.of(CLUSTER_TAINT_POLICIES)
        self._controller = plane.controller("cluster-taint-policy-controller", self.reconcile)

    def start(self) -> None:
        self._clusters.on_change(self._cluster_changed)
        self._policies.on_change(self._policy_changed)
        self._brake.on_change(self._add_all)
        self._heartbeat.on_change(self._add_all)
        self._controller.start(self._plane.supervisor)

    async def reconcile(self, name: str) -> datetime | None:
        await self._clusters.wait_synced()
        await self._policies.wait_synced()
        await self._brake.wait_synced()
        await self._heartbeat.wait_synced()
        cluster = self._clusters.get(name)
        if cluster is None or cluster.is_being_deleted:
            return None
        attention = self._heartbeat.attention()
        braked = looks_dead(cluster) and self._brake.holds(self._clusters.list())
        confirmed = is_condition_confirmed(cluster, attention)
        hold = braked or not confirmed
        policies = [policy for policy in self._policies.list() if policy.metadata.deletion_timestamp is None]
        decision = decide_policy_taints(cluster, policies, self._plane.clock.now(), hold_no_execute=hold)
        marks = policy_confirmation(cluster, decision, attention, confirmed=confirmed)
        if decision.taints != cluster.spec.taints or decision.owned != _owned(cluster) or marks:
            await self._write(cluster, decision, marks)
        return self._plane.clock.now() + BRAKED_PAUSE if braked else None

    async def _write(self, cluster: Cluster, decision: PolicyTaints, marks: Mapping[str, str | None]) -> None:
        patch: dict[str, Any] = {
            "metadata": {"annotations": {**owned_annotation(decision), **marks}},
            "spec": {"taints": to_wire(decision.taints) or None},
        }
        version = cluster.metadata.resource_version
        try:
            updated = await self._plane.client.patch(CLUSTERS, cluster.name, patch, resource_version=version)
        except Conflict:
            raise
        except WorldError as error:
            self._recorder.warning(CLUSTERS, cluster, "TaintClusterFailed", f"Taint cluster failed: {error}")
            raise
        self._clusters.remember(updated)
        if decision.taints != cluster.spec.taints:
            message = f"Taint cluster succeed: {describe_taints(decision.taints)}"
            self._recorder.normal(CLUSTERS, updated, "TaintClusterSucceed", message)

    def _cluster_changed(self, old: Cluster | None, new: Cluster | None) -> None:
        if new is not None and (old is None or _matters(old, new)):
            self._controller.queue.add(new.name)

    def _policy_changed(self, old: ClusterTaintPolicy | None, new: ClusterTaintPolicy | None) -> None:
        if new is not None:
            self._add_all()

    def _add_all(self) -> None:
        for cluster in self._clusters.list():
            self._controller.queue.add(cluster.name)


def _owned(cluster: Cluster) -> str:
    return cluster.metadata.annotations.get(POLICY_TAINTS_ANNOTATION, "")


def _matters(old: Cluster, new: Cluster) -> bool:
    confirmed = OUTAGE_CONFIRMED_ANNOTATION
    return (
        old.metadata.annotations.get(confirmed) != new.metadata.annotations.get(confirmed)
        or old.status.conditions != new.status.conditions
        or old.spec != new.spec
        or old.metadata.labels != new.metadata.labels
    )
