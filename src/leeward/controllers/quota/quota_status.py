"""The quota status controllers: what a FederatedResourceQuota says of itself.

    QuotaStatusController        `aggregatedStatus`; without enforcement `overall` and `overallUsed`, too
    QuotaEnforcementController   `overall` and `overallUsed`, with the gate FederatedQuotaEnforcement

Each field has one writer (Holds: S9). All is counted anew with every change of what it is made of; nothing is added up.

Karmada: pkg/controllers/federatedresourcequota (`federatedResourceQuotaStatus`, `federatedResourceQuotaEnforcement`);
same, except that it counts bindings anew after --federated-resource-quota-sync-period, and adds up in between.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import partial
from typing import Any

import msgspec

from controller_runtime import NEWS_SECONDS, Index, Key, StatusChange, key_of
from kubeapi.quantity import Quantity
from kubeclient import Conflict, WorldError
from leeward.api.quota import FederatedResourceQuota, FederatedResourceQuotaStatus
from leeward.api.resource import FEDERATED_RESOURCE_QUOTAS, RESOURCE_BINDINGS, WORKS
from leeward.api.work import ResourceBinding, Work
from leeward.core.amounts import Doubts
from leeward.core.quota.quota_status import aggregated_status, limit_of, used_by_bindings, used_in_clusters
from leeward.core.quota.static_assignments import quota_of_work
from leeward.core.quota.usage import usage_of
from leeward.runtime.controller_context import ControlPlane

STATUS_COMPONENT = "federated-resource-quota-status-controller"
ENFORCEMENT_COMPONENT = "federated-resource-quota-enforcement-controller"
SETTLE = timedelta(milliseconds=100)
"""Changes of bindings within this time are counted together."""
COLLECTED = "AggregateStatusSucceed"
OVERALL_COLLECTED = "CollectOverallStatusSucceed"
NOT_COLLECTED = "AggregateStatusFailed"
OVERALL_NOT_COLLECTED = "CollectOverallStatusFailed"

Change = Callable[[FederatedResourceQuotaStatus], FederatedResourceQuotaStatus]


class _StatusController(ABC):
    """Has the status of each quota changed as `_change` says, whenever what it looks at changes."""

    def __init__(self, plane: ControlPlane, component: str) -> None:
        self._plane = plane
        self._component = component
        self._recorder = plane.recorder(component)
        self._quotas = plane.informers.of(FEDERATED_RESOURCE_QUOTAS)
        self._statuses = plane.statuses.of(FEDERATED_RESOURCE_QUOTAS)
        self._informers: list[Any] = [self._quotas]
        self._controller = plane.controller(component, self.reconcile, workers=2)

    def start(self) -> None:
        self._quotas.on_change(self._quota_changed)
        self._controller.start(self._plane.supervisor)

    async def reconcile(self, key: Key) -> None:
        for informer in self._informers:
            await informer.wait_synced()
        quota = self._quotas.get(key.name, key.namespace)
        if quota is None or quota.metadata.deletion_timestamp is not None:
            return
        said = StatusChange[Any](self._change(quota), partial(self._not_written, quota), self._tell_collected)
        self._statuses.post(quota, self._component, said, within=NEWS_SECONDS)

    @abstractmethod
    def _change(self, quota: FederatedResourceQuota) -> Change:
        """Change that brings a status up to date."""

    def _tell_collected(self, before: FederatedResourceQuota, after: FederatedResourceQuota) -> None:
        said = f"Collect status of FederatedResourceQuota({key_of(after)}) succeed."
        is_overall = self._component == ENFORCEMENT_COMPONENT
        self._recorder.normal(FEDERATED_RESOURCE_QUOTAS, after, OVERALL_COLLECTED if is_overall else COLLECTED, said)

    def _not_written(self, quota: FederatedResourceQuota, error: WorldError) -> None:
        """A conflict is no failure: it is tried again at once."""
        if not isinstance(error, Conflict):
            is_overall, said = self._component == ENFORCEMENT_COMPONENT, f"Its status was not written: {error}"
            self._recorder.warning(
                FEDERATED_RESOURCE_QUOTAS, quota, OVERALL_NOT_COLLECTED if is_overall else NOT_COLLECTED, said
            )
        self._controller.failed(key_of(quota), error)

    def _quota_changed(self, old: FederatedResourceQuota | None, new: FederatedResourceQuota | None) -> None:
        if new is not None:
            self._controller.queue.add(key_of(new))


class _BindingUsage:
    """Usage of the bindings of a namespace."""

    def __init__(self, plane: ControlPlane, multiple_pod_templates: bool) -> None:
        self.informer = plane.informers.of(RESOURCE_BINDINGS)
        self._by_namespace = Index(self.informer, _namespace_of)
        self._multiple_pod_templates = multiple_pod_templates

    def used(self, quota: FederatedResourceQuota) -> Mapping[str, Quantity]:
        usages = (
            usage_of(binding.spec, multiple_pod_templates=self._multiple_pod_templates)
            for binding in self._by_namespace.get(quota.namespace)
        )
        return used_by_bindings(quota, usages)


class _UsageController(_StatusController):
    """A status controller that may count what bindings use."""

    def __init__(self, plane: ControlPlane, component: str, *, multiple_pod_templates: bool) -> None:
        super().__init__(plane, component)
        self._usage = _BindingUsage(plane, multiple_pod_templates)
        self._in_namespace = Index(self._quotas, _namespace_of)
        self._informers.append(self._usage.informer)

    def start(self) -> None:
        self._usage.informer.on_change(self._binding_changed)
        super().start()

    def _binding_changed(self, old: ResourceBinding | None, new: ResourceBinding | None) -> None:
        binding = new or old
        quotas = self._in_namespace.get(binding.namespace) if binding is not None else []
        if quotas and (old is None or new is None or old.spec != new.spec):
            for quota in quotas:
                self._controller.queue.add_at(key_of(quota), self._plane.clock.now() + SETTLE)


class QuotaStatusController(_UsageController):
    """`enforced` is the gate FederatedQuotaEnforcement: another controller says then what is used."""

    def __init__(self, plane: ControlPlane, *, enforced: bool, multiple_pod_templates: bool) -> None:
        super().__init__(plane, STATUS_COMPONENT, multiple_pod_templates=multiple_pod_templates)
        self._enforced = enforced
        self._works = plane.informers.of(WORKS)
        self._works_of = Index(self._works, _quota_key)
        self._informers.append(self._works)

    def start(self) -> None:
        self._works.on_change(self._work_changed)
        super().start()

    def _change(self, quota: FederatedResourceQuota) -> Change:
        doubts = Doubts()
        reports = aggregated_status(self._works_of.get(key_of(quota)), doubts)
        if doubts.count:
            self._recorder.warning(FEDERATED_RESOURCE_QUOTAS, quota, NOT_COLLECTED, str(doubts))
        changes: dict[str, Any] = {"aggregated_status": reports}
        if not self._enforced:
            is_static = bool(quota.spec.static_assignments)
            changes["overall"] = limit_of(quota)
            changes["overall_used"] = used_in_clusters(reports) if is_static else self._usage.used(quota)
        return lambda status: msgspec.structs.replace(status, **changes)

    def _binding_changed(self, old: ResourceBinding | None, new: ResourceBinding | None) -> None:
        if not self._enforced:
            super()._binding_changed(old, new)

    def _work_changed(self, old: Work | None, new: Work | None) -> None:
        for key in {_quota_key(work) for work in (old, new) if work is not None}:
            if key is not None:
                self._controller.queue.add(key)


class QuotaEnforcementController(_UsageController):
    def __init__(self, plane: ControlPlane, *, multiple_pod_templates: bool) -> None:
        super().__init__(plane, ENFORCEMENT_COMPONENT, multiple_pod_templates=multiple_pod_templates)

    def _change(self, quota: FederatedResourceQuota) -> Change:
        overall, used = limit_of(quota), self._usage.used(quota)
        return lambda status: msgspec.structs.replace(status, overall=overall, overall_used=used)


def _namespace_of(obj: FederatedResourceQuota | ResourceBinding) -> str:
    return obj.namespace


def _quota_key(work: Work) -> Key | None:
    quota = quota_of_work(work)
    return Key(*quota) if quota is not None else None
