"""The descheduler: asks now and then for replicas that find no node, and gives them back to the scheduler.

One binding at a time, every `interval_seconds`. It is read again before it is decided, and written with the
resourceVersion that was decided on, so that whatever has happened meanwhile comes first. Where the replicas go is the
scheduler's decision; here only the number of a cluster is lowered (`core/placement/descheduling.py`).

Karmada: pkg/descheduler; same, with a look at whether there is a place elsewhere.
"""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass

from controller_runtime import NORMAL
from kubeapi.codec import to_wire
from kubeclient import WorldError
from leeward.api.cluster import Cluster
from leeward.api.resource import CLUSTERS, RESOURCE_BINDINGS
from leeward.api.work import Binding
from leeward.controllers.scheduler.bindings import BindingKey, Bindings
from leeward.core.cluster_health.brake import looks_dead
from leeward.core.placement.descheduling import give_back, short_clusters, without_given_back
from leeward.core.placement.snapshot import PlacementSettings, Snapshot
from leeward.core.scheduling.estimates import question_of
from leeward.core.scheduling.model import Request
from leeward.planning.estimates import Estimates
from leeward.planning.fleet import placement_fleet
from leeward.runtime.binding_kinds import template_of
from leeward.runtime.brake import BrakeView
from leeward.runtime.cluster_estimators import ClusterEstimator, ClusterEstimators
from leeward.runtime.controller_context import ControlPlane

CONTROLLER = "descheduler"
COMPONENT = "karmada-descheduler"
SUCCEEDED = "DescheduleBindingSucceed"

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeschedulingSettings:
    """--descheduling-interval, --unschedulable-threshold."""

    interval_seconds: float = 120.0
    threshold_seconds: float = 300.0


class Descheduler:
    """`estimator` is the way to the estimators of the clusters, each of which has `deadline_seconds`."""

    def __init__(
        self,
        plane: ControlPlane,
        settings: DeschedulingSettings,
        placement: PlacementSettings,
        brake: BrakeView,
        estimator: ClusterEstimator,
        deadline_seconds: float,
    ) -> None:
        self._plane = plane
        self._settings = settings
        self._placement = placement
        self._brake = brake
        self._clusters = plane.informers.of(CLUSTERS)
        self._bindings = Bindings(plane)
        self._recorder = plane.recorder(COMPONENT)
        self._estimators = ClusterEstimators.of(plane, estimator, deadline_seconds)
        self._estimates = Estimates()
        self._fleet = placement_fleet(estimates=self._estimates)

    def start(self) -> None:
        self._clusters.on_change(self._cluster_changed)
        self._plane.supervisor.start(self._run(), CONTROLLER)

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(self._settings.interval_seconds)
            try:
                await self._look()
            except WorldError as error:
                log.warning("descheduling: %s", error)

    async def _look(self) -> None:
        """Looks at all bindings, once. Raises: WorldError while the control plane cannot be read."""
        await self._clusters.wait_current()
        await self._bindings.works.wait_current()
        await self._brake.wait_synced()
        for key, _ in list(self._bindings.all()):
            if key.plural == RESOURCE_BINDINGS.plural:
                await self._bindings.informer(key).wait_current()
                await self._look_at(key)

    async def _look_at(self, key: BindingKey) -> None:
        binding = self._bindings.get(key)
        short = short_clusters(self._snapshot(key, binding)) if binding is not None else ()
        if binding is None or not short:
            return
        seconds = self._settings.threshold_seconds
        unschedulable = await self._estimators.unschedulable(binding.spec.resource, short, seconds)
        if not any(unschedulable.values()):
            return
        await self._ask_for_room(binding)
        binding = self._bindings.get(key)
        if binding is None:
            return
        given_back = give_back(self._snapshot(key, binding), unschedulable)
        if given_back:
            await self._write(key, binding, given_back)

    async def _ask_for_room(self, binding: Binding) -> None:
        question = question_of(Request(binding.spec))
        alive = [name for name, cluster in self._fleet.items() if not looks_dead(cluster)]
        self._estimates.put(question, await self._estimators.room(question, alive))

    def _snapshot(self, key: BindingKey, binding: Binding) -> Snapshot:
        works, brake = self._bindings.works_by_cluster(key), self._brake.holds()
        return Snapshot(binding, self._fleet, works, brake, settings=self._placement, now=self._plane.clock.now())

    async def _write(self, key: BindingKey, binding: Binding, given_back: Mapping[str, int]) -> None:
        """A conflict leaves it to the next look."""
        patch = {"spec": {"clusters": to_wire(without_given_back(binding.spec, given_back))}}
        version = binding.metadata.resource_version
        try:
            written = await self._plane.client.patch(
                self._bindings.resource(key), binding.name, patch, binding.namespace, resource_version=version
            )
        except WorldError as error:
            log.info("binding %s is left as it is: %s", key.key, error)
            return
        self._bindings.informer(key).remember(written)
        places = ", ".join(f"{replicas} in cluster {name}" for name, replicas in given_back.items())
        message = f"{sum(given_back.values())} replicas without a node are given back: {places}"
        self._recorder.normal(self._bindings.resource(key), written, SUCCEEDED, message)
        self._recorder.note(template_of(written), NORMAL, SUCCEEDED, message)

    def _cluster_changed(self, old: Cluster | None, new: Cluster | None) -> None:
        if new is not None:
            self._fleet.put(new)
        elif old is not None:
            self._fleet.remove(old.name)
            self._estimators.forget(old.name)
