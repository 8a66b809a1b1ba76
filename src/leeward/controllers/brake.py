"""The brake controller: keeps `karmada-system/leeward-brake` true, and says so when it is engaged or released.

It decides nothing about any cluster or binding: those who do read its state. That a Cluster has vanished is asked of
the API server itself, since a cache may lag. An execution space alone is no Cluster: whoever registers a Pull member
makes the space first. A Cluster was there when this process has seen it, or when its space holds a Work. Holds: S4, S5.
"""

from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

from kubeapi.core import CONFIG_MAPS, NAMESPACES, ConfigMap, Namespace
from kubeapi.diff import merge_patch
from kubeapi.meta import ObjectMeta
from kubeapi.resource import Resource
from kubeclient import AlreadyExists, NotFound, Undecodable
from leeward.api.cluster import Cluster
from leeward.api.names import BRAKE_NAME, EXECUTION_SPACE_PREFIX, SYSTEM_NAMESPACE, execution_space
from leeward.api.resource import CLUSTERS, WORKS
from leeward.core.cluster_health.brake import (
    Brake,
    BrakeDecision,
    decide_brake,
    is_silent,
    looks_dead,
    render_brake,
    vanished_clusters,
)
from leeward.runtime.brake import BrakeView
from leeward.runtime.controller_context import ControlPlane
from leeward.runtime.heartbeat import HeartbeatView

SUSPICION = timedelta(seconds=30)
"""Pause before Clusters that are in no list are asked for again, should nothing change meanwhile."""


class BrakeController:
    def __init__(self, plane: ControlPlane, view: BrakeView, heartbeat: HeartbeatView) -> None:
        self._plane = plane
        self._view = view
        self._heartbeat = heartbeat
        self._recorder = plane.recorder("brake-controller")
        self._clusters = plane.informers.of(CLUSTERS)
        self._namespaces = plane.informers.of(NAMESPACES)
        self._vanished: tuple[str, ...] = ()
        """Vanished Clusters that have been told of."""
        self._seen = set[str]()
        """Clusters that were listed, and whose execution space is there."""
        self._controller = plane.controller("brake-controller", self.reconcile, workers=1)

    def start(self) -> None:
        self._clusters.on_change(self._cluster_changed)
        self._namespaces.on_change(self._namespace_changed)
        self._view.on_change(self._look)
        self._controller.start(self._plane.supervisor)

    async def reconcile(self, _: str) -> datetime | None:
        await self._clusters.wait_synced()
        await self._namespaces.wait_synced()
        await self._view.wait_synced()
        listed = [cluster.name for cluster in self._clusters.list()]
        suspects = vanished_clusters(listed, self._namespaces.list())
        self._seen = {*listed, *(self._seen & {*suspects})}
        vanished = tuple([name for name in suspects if await self._has_vanished(name)])
        before, now = self._view.brake, self._plane.clock.now()
        watched = self._heartbeat.attention().time
        decision = decide_brake(before, self._clusters.list(), now, self._view.settings, vanished, watched)
        self._plane.metrics.brake_engaged.set(decision.brake.engaged)
        await self._write(decision, before, vanished)
        instants = (decision.wake_at, now + SUSPICION if suspects else None)
        return min((instant for instant in instants if instant is not None), default=None)

    async def _has_vanished(self, name: str) -> bool:
        """Raises: WorldError."""
        if await self._is_there(CLUSTERS, name) or not await self._is_there(NAMESPACES, execution_space(name)):
            return False
        return name in self._seen or await self._has_works(name)

    async def _has_works(self, name: str) -> bool:
        """Tells whether the execution space holds a Work; one that cannot be read is one. Raises: WorldError."""
        try:
            return bool((await self._plane.client.list(WORKS, execution_space(name), limit=1)).items)
        except Undecodable:
            return True

    async def _is_there(self, resource: Resource[Any], name: str) -> bool:
        """Tells whether the object is there; one that cannot be read is. Raises: WorldError."""
        try:
            with suppress(Undecodable):
                await self._plane.client.get(resource, name)
        except NotFound:
            return False
        return True

    async def _write(self, decision: BrakeDecision, before: Brake, vanished: tuple[str, ...]) -> None:
        present = self._view.object
        if present is None and decision.brake == Brake() and not vanished:
            return
        data = render_brake(decision)
        if present is None:
            config_map = ConfigMap(metadata=ObjectMeta(name=BRAKE_NAME, namespace=SYSTEM_NAMESPACE), data=data)
            try:
                written = await self._plane.client.create(CONFIG_MAPS, config_map, SYSTEM_NAMESPACE)
            except AlreadyExists:
                return
        else:
            patch = merge_patch(dict(present.data), data)
            if not patch:
                return
            version = present.metadata.resource_version
            written = await self._plane.client.patch(
                CONFIG_MAPS, BRAKE_NAME, {"data": patch}, SYSTEM_NAMESPACE, resource_version=version
            )
        self._view.remember(written)
        if vanished and vanished != self._vanished:
            self._recorder.warning(CONFIG_MAPS, written, "ClustersVanished", decision.message)
        elif decision.brake.engaged and not before.engaged:
            self._recorder.warning(CONFIG_MAPS, written, "BrakeEngaged", decision.message)
        elif before.engaged and not decision.brake.engaged:
            self._recorder.normal(CONFIG_MAPS, written, "BrakeReleased", decision.message)
        self._vanished = vanished

    def _cluster_changed(self, old: Cluster | None, new: Cluster | None) -> None:
        if old is None or new is None or looks_dead(old) != looks_dead(new) or is_silent(old) != is_silent(new):
            self._look()

    def _namespace_changed(self, old: Namespace | None, new: Namespace | None) -> None:
        namespace = new or old
        if (old is None or new is None) and namespace is not None and namespace.name.startswith(EXECUTION_SPACE_PREFIX):
            self._look()

    def _look(self) -> None:
        self._controller.queue.add("")
