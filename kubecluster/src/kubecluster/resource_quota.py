"""ResourceQuotas of a simulated cluster: their use, and the admission that keeps them.

Kubernetes: pkg/controller/resourcequota, plugin/pkg/admission/resourcequota; for the resources of
`rules.quota_usage`. Only Pods are kept out: a quota of compute resources is about them.
"""

from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal

from controller_runtime import Key, key_of
from kubeapi import codec
from kubeapi.meta import Manifest
from kubecluster.kinds import CLAIMS, CONFIG_MAPS, PODS, REPLICATION_CONTROLLERS, RESOURCE_QUOTAS, SECRETS, SERVICES
from kubecluster.platform import SETTLING, Platform
from kubecluster.rules.pods import is_leaving
from kubecluster.rules.quota_usage import (
    Amounts,
    PodUse,
    has_scopes,
    pod_refusal,
    pod_use,
    pods_use,
    quota_status,
    total_use,
)
from kubeserver.admission import AdmissionReview, Rejected
from kubeserver.store import Store

_QUOTAS, _PODS = f"//{RESOURCE_QUOTAS.plural}/", f"//{PODS.plural}/"
_COUNTED = (CLAIMS, CONFIG_MAPS, REPLICATION_CONTROLLERS, SECRETS, SERVICES)


class ResourceQuotaAdmission:
    """An `Admission`."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._uses: dict[str, dict[str, tuple[int, PodUse]]] = {}
        """Revision and use of each Pod by its key, as they were counted last, by namespace: each is read once."""

    def admit(self, review: AdmissionReview) -> Manifest:
        if review.kind.prefix != _PODS or review.operation != "CREATE" or review.subresource:
            return review.object
        quotas = [quota for quota in self._objects(_QUOTAS, review.namespace) if not has_scopes(quota)]
        if quotas:
            used = self._used(review.namespace)
            for quota in quotas:
                if refusal := pod_refusal(quota, review.object, used):
                    raise Rejected(refusal)
        return review.object

    def _used(self, namespace: str) -> Amounts:
        before, now = self._uses.get(namespace, {}), dict[str, tuple[int, PodUse]]()
        for record in self._store.heads(f"{_PODS}{namespace}/"):
            known = before.get(record.key)
            if known is None or known[0] != record.revision:
                known = record.revision, pod_use(codec.decode_manifest(record.value))
            now[record.key] = known
        self._uses[namespace] = now
        return total_use(use for _, use in now.values())

    def _objects(self, prefix: str, namespace: str) -> Iterator[Manifest]:
        """Objects, and those that are being written: many Pods come at once."""
        return (codec.decode_manifest(record.value) for record in self._store.heads(f"{prefix}{namespace}/"))


class ResourceQuotaController:
    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._quotas = platform.informer(RESOURCE_QUOTAS)
        self._counted = {resource: platform.informer(resource) for resource in _COUNTED}
        self._controller = platform.controller("resourcequota", self.reconcile)

    def start(self) -> None:
        self._platform.follow(RESOURCE_QUOTAS, self._controller.queue)
        for informer in (self._platform.pods, *self._counted.values()):
            informer.on_change(self._changed)
        self._controller.start(self._platform.supervisor)

    async def reconcile(self, key: Key) -> datetime | None:
        quota = self._quotas.get(key.name, key.namespace)
        if quota is None or is_leaving(quota) or has_scopes(quota):
            return None
        counts = Counter(kind.plural for kind, found in self._counted.items() for _ in found.list(key.namespace))
        used = pods_use(self._platform.pods.list(key.namespace))
        used |= {name: Decimal(count) for name, count in counts.items()}
        used |= {f"count/{name}": Decimal(count) for name, count in counts.items()}
        await self._platform.report(RESOURCE_QUOTAS, quota, quota_status(quota, used))
        return None

    def _changed(self, old: Manifest | None, new: Manifest | None) -> None:
        """A moment later, so that a quota looks at many changes at once."""
        namespace = (new or old or {})["metadata"].get("namespace", "")
        for quota in self._quotas.list(namespace):
            self._controller.queue.add_at(key_of(quota), self._platform.clock.now() + SETTLING)
