"""Admission of bindings under the quotas of their namespace: with the gate FederatedQuotaEnforcement.

What is used is counted from the bindings in the server's own store, those that are being written included. So many
writes at once find what the others have taken, and nothing has to be remembered of a write that fails behind this.

Holds: S18.
"""

from collections.abc import Iterator
from contextlib import suppress

from kubeapi import codec
from kubeapi.meta import Manifest
from kubeserver.admission import AdmissionReview, Rejected
from kubeserver.store import Record, Store
from leeward.api.quota import FederatedResourceQuota
from leeward.api.resource import FEDERATED_RESOURCE_QUOTAS, RESOURCE_BINDINGS
from leeward.api.work import ResourceBinding, ResourceBindingSpec
from leeward.core.amounts import Amounts
from leeward.core.quota.enforcement import EXCEEDED, grows, refusal_of_growth
from leeward.core.quota.usage import usage_before, usage_of
from leeward.manager.gates import FeatureGates

REMEMBERED = 8_192
"""Number of stored bindings that are not read again for what they use. Of each its last version counts: others of a
large one would fill the memory."""
_DENIED = 'admission webhook "resourcebinding.karmada.io" denied the request: '
"""Beginning of a refusal by Karmada's webhook, which tools match."""
_BINDINGS = f"/{RESOURCE_BINDINGS.group}/{RESOURCE_BINDINGS.plural}/"
_QUOTAS = f"/{FEDERATED_RESOURCE_QUOTAS.group}/{FEDERATED_RESOURCE_QUOTAS.plural}/"


def quota_admissions(store: Store, gates: FeatureGates) -> tuple["QuotaAdmission", ...]:
    """None without the gate."""
    if not gates.enabled("FederatedQuotaEnforcement"):
        return ()
    return (QuotaAdmission(store, multiple_pod_templates=gates.enabled("MultiplePodTemplatesScheduling")),)


class QuotaAdmission:
    """An `Admission` for the embedded API server; `store` is that server's own."""

    def __init__(self, store: Store, *, multiple_pod_templates: bool) -> None:
        self._store = store
        self._multiple_pod_templates = multiple_pod_templates
        self._known: dict[str, tuple[int, Amounts]] = {}

    def admit(self, review: AdmissionReview) -> Manifest:
        if review.kind.prefix != _BINDINGS or review.operation == "DELETE" or review.subresource:
            return review.object
        quotas = list(self._quotas(review.namespace))
        if not quotas:
            return review.object
        before, after = self._usages(review)
        if grows(before, after):
            others = self._others(review.namespace, review.object["metadata"].get("name", ""))
            if refusal := refusal_of_growth(before, after, others, quotas):
                raise Rejected(f"{_DENIED}{refusal}", reason=EXCEEDED)
        return review.object

    def _quotas(self, namespace: str) -> Iterator[FederatedResourceQuota]:
        for record in self._store.heads(f"{_QUOTAS}{namespace}/"):
            with suppress(codec.DecodeError):
                yield codec.decode(record.value, FederatedResourceQuota)

    def _others(self, namespace: str, name: str) -> Iterator[Amounts]:
        own = f"{_BINDINGS}{namespace}/{name}"
        for record in self._store.heads(f"{_BINDINGS}{namespace}/"):
            if record.key != own:
                yield self._usage_of_stored(record)

    def _usage_of_stored(self, record: Record) -> Amounts:
        known = self._known.get(record.key)
        if known is not None and known[0] == record.revision:
            return known[1]
        if len(self._known) >= REMEMBERED:
            self._known.clear()
        spec = _spec_of(record.value)
        used = usage_of(spec, multiple_pod_templates=self._multiple_pod_templates) if spec is not None else {}
        self._known[record.key] = record.revision, used
        return used

    def _usages(self, review: AdmissionReview) -> tuple[Amounts, Amounts]:
        """Usage of the binding before the write, and after it."""
        new, gate = _spec_of(codec.encode(review.object)), self._multiple_pod_templates
        old = _spec_of(codec.encode(review.old_object)) if review.old_object is not None else None
        if new is None:
            return {}, {}
        before = usage_before(old, new, multiple_pod_templates=gate) if old is not None else {}
        return before, usage_of(new, multiple_pod_templates=gate)


def _spec_of(value: bytes) -> ResourceBindingSpec | None:
    """None for a binding that cannot be read: it uses nothing, for no controller carries it out."""
    try:
        return codec.decode(value, ResourceBinding).spec
    except codec.DecodeError:
        return None
