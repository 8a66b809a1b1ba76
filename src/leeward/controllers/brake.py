"""The brake controller: keeps `karmada-system/leeward-brake` true, and says so when it is engaged or released.

It decides nothing about any cluster or binding: those who do read its state. Holds: S4.
"""

from datetime import datetime

from leeward.api.cluster import Cluster
from leeward.api.core import ConfigMap
from leeward.api.diff import merge_patch
from leeward.api.meta import ObjectMeta
from leeward.api.names import BRAKE_NAME, SYSTEM_NAMESPACE
from leeward.api.resource import CLUSTERS, CONFIG_MAPS
from leeward.client import AlreadyExists
from leeward.core.failover.brake import Brake, BrakeDecision, decide_brake, looks_dead, render_brake
from leeward.runtime.brake import BrakeView
from leeward.runtime.plane import ControlPlane


class BrakeController:
    def __init__(self, plane: ControlPlane, view: BrakeView) -> None:
        self._plane = plane
        self._view = view
        self._recorder = plane.recorder("brake-controller")
        self._clusters = plane.informers.of(CLUSTERS)
        self._controller = plane.controller("brake-controller", self.reconcile, workers=1)

    def start(self) -> None:
        self._clusters.on_change(self._cluster_changed)
        self._view.on_change(self._look)
        self._controller.start(self._plane.supervisor)

    async def reconcile(self, _: str) -> datetime | None:
        await self._clusters.wait_synced()
        await self._view.wait_synced()
        before = self._view.brake
        decision = decide_brake(before, self._clusters.list(), self._plane.clock.now(), self._view.settings)
        self._plane.metrics.brake_engaged.set(decision.brake.engaged)
        await self._write(decision, before)
        return decision.wake_at

    async def _write(self, decision: BrakeDecision, before: Brake) -> None:
        present = self._view.object
        if present is None and decision.brake == Brake():
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
        if decision.brake.engaged and not before.engaged:
            self._recorder.warning(CONFIG_MAPS, written, "BrakeEngaged", decision.message)
        elif before.engaged and not decision.brake.engaged:
            self._recorder.normal(CONFIG_MAPS, written, "BrakeReleased", decision.message)

    def _cluster_changed(self, old: Cluster | None, new: Cluster | None) -> None:
        if old is None or new is None or looks_dead(old) != looks_dead(new):
            self._look()

    def _look(self) -> None:
        self._controller.queue.add("")
