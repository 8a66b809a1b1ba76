"""The cluster controller: execution spaces, leases that fall silent, and taints.

Karmada: pkg/controllers/cluster. Differs: NoExecute taints follow the 1.4 timing, and taints change in one write.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import msgspec

from leeward.api.cluster import Cluster
from leeward.api.codec import to_wire
from leeward.api.core import Lease, Namespace, Taint
from leeward.api.diff import status_patch
from leeward.api.meta import Manifest, ObjectMeta, format_time, parse_time, set_condition
from leeward.api.names import (
    CLUSTER_CONTROLLER_FINALIZER,
    CLUSTER_NAMESPACE,
    EXECUTION_CONTROLLER_FINALIZER,
    EXECUTION_SPACE_PREFIX,
    FLAPPING_TAINT,
    SYSTEM_LABEL,
    execution_space,
)
from leeward.api.resource import CLUSTERS, LEASES, NAMESPACES, WORKS, Resource
from leeward.api.work import Work
from leeward.client import AlreadyExists, NotFound
from leeward.core.failover.flapping import Flapping, HoldDownSettings, decide_hold_down
from leeward.core.failover.liveness import Patience, decide_liveness, last_seen_before
from leeward.core.failover.taints import decide_taints, describe_taints, stamp_no_execute
from leeward.runtime.brake import BrakeView
from leeward.runtime.plane import ControlPlane

RETRY_SECONDS = 2.0
LEASE_MANIFESTS = Resource.of_manifests("coordination.k8s.io/v1", "leases", "Lease", True)
"""With all that the API server notes of them."""
BRAKED_PAUSE = timedelta(seconds=30)
"""How soon a cluster that the brake holds is looked at again, should no event tell that it was released."""


@dataclass(frozen=True, slots=True)
class ClusterSettings:
    """`eviction_seconds` is --failover-eviction-timeout; `failover` the gate; `hold_down` of clusters that flap.

    `could_not_look`: a status that could not be collected leads to no NoExecute taint.
    """

    patience: Patience
    eviction_seconds: float
    failover: bool = True
    hold_down: HoldDownSettings = field(default_factory=HoldDownSettings)
    could_not_look: bool = True


class ClusterController:
    def __init__(self, plane: ControlPlane, settings: ClusterSettings, brake: BrakeView) -> None:
        self._plane = plane
        self._settings = settings
        self._brake = brake
        self._recorder = plane.recorder("cluster-controller")
        self._clusters = plane.informers.of(CLUSTERS)
        self._leases = plane.informers.of(LEASES, CLUSTER_NAMESPACE)
        self._last_seen: dict[str, datetime] = {}
        self._received: Mapping[str, datetime] | None = None
        self._started = plane.clock.now()
        self._controller = plane.controller("cluster-controller", self.reconcile)

    def start(self) -> None:
        self._clusters.on_change(self._cluster_changed)
        self._leases.on_change(self._lease_changed)
        self._brake.on_change(self._brake_changed)
        self._plane.informers.of(NAMESPACES).on_change(self._namespace_changed)
        self._controller.start(self._plane.supervisor)

    async def reconcile(self, name: str) -> datetime | None:
        await self._clusters.wait_synced()
        await self._brake.wait_synced()
        await self._recall()
        cluster = self._clusters.get(name)
        if cluster is None:
            return None
        if cluster.is_being_deleted:
            return await self._leave(cluster)
        if CLUSTER_CONTROLLER_FINALIZER not in cluster.metadata.finalizers:
            cluster = await self._patch(cluster, {"metadata": {"finalizers": self._finalizers(cluster, present=True)}})
        await self._ensure_execution_space(cluster)
        cluster, wake_for_lease = await self._judge_liveness(cluster)
        wake_for_taints = await self._taint(cluster)
        return min((i for i in (wake_for_lease, wake_for_taints) if i is not None), default=None)

    def _cluster_changed(self, old: Cluster | None, new: Cluster | None) -> None:
        if new is None:
            if old is not None:
                self._last_seen.pop(old.name, None)
            return
        if old is not None and old.status != new.status and new.ready is not None and new.ready.status != "Unknown":
            self._last_seen[new.name] = self._plane.clock.now()
        if old is not None and old.is_ready != new.is_ready:
            self._tell(new)
        self._controller.queue.add(new.name)

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

    def _brake_changed(self) -> None:
        for cluster in self._clusters.list():
            self._controller.queue.add(cluster.name)

    def _lease_changed(self, old: Lease | None, new: Lease | None) -> None:
        """What is there already when we start was received by someone before us."""
        if new is None or (old is not None and old.spec.renew_time == new.spec.renew_time):
            return
        if old is not None or self._received is not None:
            self._last_seen[new.name] = self._plane.clock.now()
        if old is None:
            self._controller.queue.add(new.name)

    async def _recall(self) -> None:
        """Once: when the API server received each lease last, from before this start."""
        if self._received is None:
            await self._leases.wait_synced()
            leases = (await self._plane.client.list(LEASE_MANIFESTS, CLUSTER_NAMESPACE)).items
            received = ((lease["metadata"]["name"], _received_at(lease)) for lease in leases)
            self._received = {name: at for name, at in received if at is not None}

    def _last_sign_of_life(self, name: str) -> datetime:
        if name not in self._last_seen:
            received = (self._received or {}).get(name)
            now, patience = self._plane.clock.now(), self._settings.patience
            self._last_seen[name] = last_seen_before(received, self._started, patience) if received else now
        return self._last_seen[name]

    async def _judge_liveness(self, cluster: Cluster) -> tuple[Cluster, datetime | None]:
        now = self._plane.clock.now()
        last_seen = self._last_sign_of_life(cluster.name)
        liveness = decide_liveness(cluster, last_seen, now, self._settings.patience)
        if liveness.condition is None:
            return cluster, liveness.wake_at
        status = msgspec.structs.replace(
            cluster.status, conditions=set_condition(cluster.status.conditions, liveness.condition, now)
        )
        self._plane.metrics.cluster_ready.labels(cluster.name).set(0)
        return await self._patch(cluster, status_patch(cluster.status, status), subresource="status"), liveness.wake_at

    async def _taint(self, cluster: Cluster) -> datetime | None:
        now = self._plane.clock.now()
        braked = self._brake.holds(self._clusters.list())
        decision = decide_taints(
            cluster,
            now,
            last_seen=self._last_seen.get(cluster.name),
            eviction_seconds=self._settings.eviction_seconds,
            failover=self._settings.failover and not braked,
            could_not_look=self._settings.could_not_look,
        )
        hold_down = decide_hold_down(cluster, decision.taints, now, self._settings.hold_down)
        taints = stamp_no_execute(hold_down.taints, now)
        annotations = {**decision.annotations, **hold_down.annotations}
        if taints != cluster.spec.taints or annotations:
            await self._write_taints(cluster, taints, annotations)
        if hold_down.began is not None:
            self._tell_hold_down(cluster, hold_down.began)
        if braked:
            return now + BRAKED_PAUSE
        return min((i for i in (decision.wake_at, hold_down.wake_at) if i is not None), default=None)

    async def _write_taints(
        self, cluster: Cluster, taints: tuple[Taint, ...], annotations: Mapping[str, str | None]
    ) -> None:
        patch: dict[str, Any] = {}
        if taints != cluster.spec.taints:
            patch["spec"] = {"taints": to_wire(taints) or None}
        if annotations:
            patch["metadata"] = {"annotations": dict(annotations)}
        updated = await self._patch(cluster, patch)
        if taints != cluster.spec.taints:
            message = f"Taint cluster succeed: {describe_taints(taints)}"
            self._recorder.normal(CLUSTERS, updated, "TaintClusterSucceed", message)

    def _tell_hold_down(self, cluster: Cluster, flapping: Flapping) -> None:
        assert flapping.until is not None
        message = (
            f"The cluster comes and goes: nothing new is placed there before {format_time(flapping.until)}. "
            f"To end that at once, remove the taint {FLAPPING_TAINT}."
        )
        self._recorder.warning(CLUSTERS, cluster, "ClusterFlapping", message)

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
        """Unjoins: the Works go first, while an agent has its rights in the execution space; then the space.

        The finalizer goes last.
        """
        if CLUSTER_CONTROLLER_FINALIZER not in cluster.metadata.finalizers:
            return None
        name = execution_space(cluster.name)
        works = (await self._plane.client.list(WORKS, name)).items
        if works:
            await self._take_back(cluster, works)
        elif not await self._remove_space(name):
            message = f"Removed execution space({name}) for cluster({cluster.name})."
            self._recorder.normal(CLUSTERS, cluster, "RemoveExecutionSpaceSucceed", message)
            await self._patch(cluster, {"metadata": {"finalizers": self._finalizers(cluster, present=False)}})
            return None
        return self._plane.clock.now() + timedelta(seconds=RETRY_SECONDS)

    async def _take_back(self, cluster: Cluster, works: Sequence[Work]) -> None:
        """Asks for the deletion of the Works. A dead agent will never clean up: their finalizers are taken off."""
        for work in works:
            try:
                if work.metadata.deletion_timestamp is None:
                    await self._plane.client.delete(WORKS, work.name, work.namespace, uid=work.metadata.uid)
                if cluster.spec.sync_mode == "Pull" and not cluster.is_ready:
                    await self._strip(work)
            except NotFound:
                continue

    async def _strip(self, work: Work) -> None:
        finalizers = [f for f in work.metadata.finalizers if f != EXECUTION_CONTROLLER_FINALIZER]
        if len(finalizers) < len(work.metadata.finalizers):
            patch = {"metadata": {"finalizers": finalizers or None}}
            await self._plane.client.patch(WORKS, work.name, patch, work.namespace)

    async def _remove_space(self, name: str) -> bool:
        """Whether there still is one."""
        try:
            namespace = await self._plane.client.get(NAMESPACES, name)
            if namespace.metadata.deletion_timestamp is None:
                await self._plane.client.delete(NAMESPACES, name, uid=namespace.metadata.uid)
        except NotFound:
            return False
        return True

    async def _patch(self, cluster: Cluster, patch: Mapping[str, Any], subresource: str = "") -> Cluster:
        updated = await self._plane.client.patch(
            CLUSTERS,
            cluster.name,
            patch,
            subresource=subresource,
            resource_version=cluster.metadata.resource_version,
        )
        self._clusters.remember(updated)
        return updated

    @staticmethod
    def _finalizers(cluster: Cluster, *, present: bool) -> list[str]:
        others = [f for f in cluster.metadata.finalizers if f != CLUSTER_CONTROLLER_FINALIZER]
        return [*others, CLUSTER_CONTROLLER_FINALIZER] if present else others


def _received_at(lease: Manifest) -> datetime | None:
    """By the clock of the API server, which dates each manager's last change of a field."""
    entries: list[Manifest] = lease["metadata"].get("managedFields") or []
    return max((parse_time(entry["time"]) for entry in entries if entry.get("time")), default=None)
