"""The workload rebalancer controller: has the listed workloads scheduled afresh, and says what came of it.

It only asks: where replicas go is the scheduler's decision. Karmada: pkg/controllers/workloadrebalancer.
"""

from datetime import datetime

from kubeapi.diff import status_patch
from kubeapi.meta import format_time
from kubeclient import NotFound, NotServed
from leeward.api.names import binding_name
from leeward.api.rebalancer import ObservedWorkload, WorkloadRebalancer, WorkloadReference
from leeward.api.resource import WORKLOAD_REBALANCERS
from leeward.api.work import Binding
from leeward.core.scheduling.rebalancing import (
    asked_at,
    expires_at,
    needs_trigger,
    next_status,
    observed,
    pending,
    triggered_at,
)
from leeward.runtime.binding_kinds import CLUSTER_RESOURCE_BINDING, RESOURCE_BINDING
from leeward.runtime.controller_context import ControlPlane


class WorkloadRebalancerController:
    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self._rebalancers = plane.informers.of(WORKLOAD_REBALANCERS)
        self._controller = plane.controller("workload-rebalancer-controller", self.reconcile, workers=2)

    def start(self) -> None:
        self._rebalancers.on_change(self._rebalancer_changed)
        self._controller.start(self._plane.supervisor)

    async def reconcile(self, name: str) -> datetime | None:
        await self._rebalancers.wait_synced()
        rebalancer = self._rebalancers.get(name)
        if rebalancer is None or rebalancer.metadata.deletion_timestamp is not None:
            return None
        now = self._plane.clock.now()
        at = triggered_at(rebalancer, now)
        outcomes = [await self._rebalance(workload, at) for workload in pending(rebalancer)]
        rebalancer = await self._write_status(rebalancer, outcomes, now)
        end = expires_at(rebalancer)
        if end is not None and end <= now:
            await self._delete(rebalancer)
            return None
        return end

    async def _rebalance(self, workload: WorkloadReference, at: datetime) -> ObservedWorkload:
        kind = RESOURCE_BINDING if workload.namespace else CLUSTER_RESOURCE_BINDING
        name = binding_name(workload.kind, workload.name)
        try:
            binding: Binding = await self._plane.client.get(kind.resource, name, workload.namespace)
            if needs_trigger(binding, at):
                patch = {"spec": {"rescheduleTriggeredAt": format_time(asked_at(binding, at))}}
                version = binding.metadata.resource_version
                await self._plane.client.patch(kind.resource, name, patch, workload.namespace, resource_version=version)
        except NotServed:
            raise
        except NotFound:
            return observed(workload, found=False)
        return observed(workload, found=True)

    async def _write_status(
        self, rebalancer: WorkloadRebalancer, outcomes: list[ObservedWorkload], now: datetime
    ) -> WorkloadRebalancer:
        patch = status_patch(rebalancer.status, next_status(rebalancer, outcomes, now))
        if not patch:
            return rebalancer
        updated = await self._plane.client.patch(
            WORKLOAD_REBALANCERS,
            rebalancer.name,
            patch,
            subresource="status",
            resource_version=rebalancer.metadata.resource_version,
        )
        self._rebalancers.remember(updated)
        return updated

    async def _delete(self, rebalancer: WorkloadRebalancer) -> None:
        metadata = rebalancer.metadata
        try:
            await self._plane.client.delete(
                WORKLOAD_REBALANCERS, rebalancer.name, uid=metadata.uid, resource_version=metadata.resource_version
            )
        except NotServed:
            raise
        except NotFound:
            return

    def _rebalancer_changed(self, old: WorkloadRebalancer | None, new: WorkloadRebalancer | None) -> None:
        if new is not None:
            self._controller.queue.add(new.name)
