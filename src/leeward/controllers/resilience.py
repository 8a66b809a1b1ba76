"""The resilience controller: says of each cluster whether the rest can take over if it is lost (N+1).

It is the one writer of the condition `leeward.dev/LossCovered`, and keeps two metrics. Once a minute at most, and so
seldom that it costs little, it looks at clusters of which anything changed that a projection asks for; where nothing
changed it does nothing. What is projected, and how, is an argument: the same as `leeward resilience` does.
Holds: S9, L5.
"""

from collections import Counter
from datetime import datetime, timedelta
from functools import partial

import msgspec

from controller_runtime import BOOKKEEPING_SECONDS, StatusChange
from kubeapi.loop import run_beside
from kubeclient import WorldError
from leeward.api.cluster import Cluster, ClusterStatus
from leeward.api.meta import set_condition
from leeward.api.resource import CLUSTER_RESOURCE_BINDINGS, CLUSTERS, RESOURCE_BINDINGS, WORKS
from leeward.api.work import Binding
from leeward.core.cluster_health.outage import clusters_of
from leeward.core.copies.evidence import is_judged_by_manifests
from leeward.core.loss_coverage import (
    TURN,
    FleetNow,
    LossCoverage,
    LossSurvey,
    loss_condition,
    next_losses,
    next_turn,
    same_room,
)
from leeward.core.settings_in_force import SettingsInForce
from leeward.runtime.brake import BrakeView
from leeward.runtime.controller_context import ControlPlane
from leeward.runtime.heartbeat import HeartbeatView

CONTROLLER = "resilience-controller"
RESTS, RESTS_AT_MOST = timedelta(seconds=10), timedelta(minutes=5)
"""Pause while much is decided: a survey is out of date a moment later. It is not put off longer."""


class ResilienceController:
    def __init__(
        self,
        plane: ControlPlane,
        brake: BrakeView,
        heartbeat: HeartbeatView,
        settings: SettingsInForce,
        survey: LossSurvey,
    ) -> None:
        self._plane = plane
        self._brake = brake
        self._heartbeat = heartbeat
        self._settings = settings
        self._survey = survey
        self._clusters = plane.informers.of(CLUSTERS)
        self._bindings = plane.informers.of(RESOURCE_BINDINGS)
        self._cluster_bindings = plane.informers.of(CLUSTER_RESOURCE_BINDINGS)
        self._works = plane.informers.of(WORKS)
        self._metrics = plane.metrics.resilience
        self._statuses = plane.statuses.of(CLUSTERS)
        self._due: dict[str, datetime | None] = {}
        """Clusters of which something changed, and when they were last looked at."""
        self._looked: dict[str, datetime] = {}
        self._next_turn: datetime | None = None
        self._controller = plane.controller(CONTROLLER, self.reconcile, workers=1)

    def start(self) -> None:
        self._metrics.loss_replicas.clear()
        self._metrics.loss_applications.clear()
        self._clusters.on_change(self._cluster_changed)
        self._bindings.on_change(self._binding_changed)
        self._cluster_bindings.on_change(self._binding_changed)
        self._controller.start(self._plane.supervisor)

    async def reconcile(self, _: str) -> datetime | None:
        """One turn. The first comes a while after the start, when all was looked at."""
        for informer in (self._clusters, self._bindings, self._cluster_bindings, self._works):
            await informer.wait_synced()
        await self._brake.wait_synced()
        now = self._plane.clock.now()
        if self._next_turn is None:
            self._next_turn = now + TURN
        if not self._due or now < self._next_turn:
            return self._next_turn if self._due else None
        if self._plane.statuses.of(RESOURCE_BINDINGS).is_burst and now < self._next_turn + RESTS_AT_MOST:
            return now + RESTS
        fleet = self._fleet(now)
        names = next_losses(self._due, _bindings_of(fleet))
        for name in names:
            del self._due[name]
            self._looked[name] = now
        began = self._plane.clock.monotonic()
        try:
            found = await run_beside(self._survey, fleet, names)
        except Exception:
            self._look(*names)
            raise
        finally:
            self._next_turn = next_turn(now, timedelta(seconds=self._plane.clock.monotonic() - began))
        for coverage in found:
            self._tell(coverage)
        return self._next_turn if self._due else None

    def _fleet(self, now: datetime) -> FleetNow:
        return FleetNow(
            now,
            tuple(self._clusters.list()),
            tuple(self._bindings.list()),
            tuple(self._cluster_bindings.list()),
            tuple(self._works.list_outlines(is_judged_by_manifests)),
            self._brake.brake,
            self._heartbeat.attention(),
            self._settings,
        )

    def _tell(self, coverage: LossCoverage) -> None:
        cluster = self._clusters.get(coverage.cluster)
        if cluster is None:
            return
        condition, now = loss_condition(coverage), self._plane.clock.now()
        self._metrics.loss_replicas.labels(cluster.name).set(coverage.missing)
        self._metrics.loss_applications.labels(cluster.name).set(coverage.wanting)

        def change(status: ClusterStatus) -> ClusterStatus:
            return msgspec.structs.replace(status, conditions=set_condition(status.conditions, condition, now))

        said = StatusChange[Cluster](change, partial(self._not_written, cluster.name))
        self._statuses.post(cluster, CONTROLLER, said, within=BOOKKEEPING_SECONDS)

    def _not_written(self, name: str, error: WorldError) -> None:
        self._due[name] = self._looked.get(name)
        self._controller.failed("", error)

    def _cluster_changed(self, old: Cluster | None, new: Cluster | None) -> None:
        if old is not None and new is not None and same_room(old, new):
            return
        if new is None and old is not None:
            self._forget(old.name)
        self._look(*(cluster.name for cluster in self._clusters.list()))

    def _forget(self, name: str) -> None:
        self._due.pop(name, None)
        self._looked.pop(name, None)
        for gauge in (self._metrics.loss_replicas, self._metrics.loss_applications):
            gauge.remove_by_labels({"member_cluster": name})

    def _binding_changed(self, old: Binding | None, new: Binding | None) -> None:
        if old is None or new is None or old.spec != new.spec:
            self._look(*(name for each in (old, new) if each is not None for name in clusters_of(each.spec)))

    def _look(self, *names: str) -> None:
        """Has these looked at in the next turn that has room for them."""
        for name in names:
            if name not in self._due:
                self._due[name] = self._looked.get(name)
        if self._due:
            self._controller.queue.add("")


def _bindings_of(fleet: FleetNow) -> Counter[str]:
    everything: tuple[Binding, ...] = (*fleet.bindings, *fleet.cluster_bindings)
    return Counter(name for binding in everything for name in clusters_of(binding.spec))
