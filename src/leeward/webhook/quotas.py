"""Enforcement of quotas where the API server is not ours: with the gate FederatedQuotaEnforcement.

What is used is counted from the list of a namespace's bindings. What was admitted a moment ago may not be in it yet: it
counts as well for that moment, and one write of a namespace is judged at a time. A write that lets nothing grow, such
as a failover, passes without a question. Where the control plane does not tell in time, growth is refused for now.

Several webhooks do not see what the others have just admitted.
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from typing import Any
from weakref import WeakValueDictionary

from kubeapi import codec
from kubeapi.loop import Clock
from kubeapi.meta import Manifest
from kubeapi.untrusted import mapping_in
from kubeclient import Client, every
from leeward.api.resource import FEDERATED_RESOURCE_QUOTAS, RESOURCE_BINDINGS
from leeward.api.work import ResourceBinding, ResourceBindingSpec
from leeward.core.amounts import Amounts, greatest
from leeward.core.quota.enforcement import EXCEEDED, grows, refusal_of_growth
from leeward.core.quota.usage import usage_before, usage_of
from leeward.webhook.reviews import refusal
from leeward.webhook.store_rules import Untold, ask, refusal_for_now

ADMITTED_SECONDS = 5.0
"""Seconds for which a write that was admitted counts, be it in the list or not: by then it is, or has failed."""
_UNTOLD = "it cannot be told whether a quota allows more"


@dataclass(frozen=True, slots=True)
class _Admitted:
    usage: Amounts
    until: float


class QuotaJudge:
    """`multiple_pod_templates` is the gate MultiplePodTemplatesScheduling."""

    def __init__(self, client: Client, clock: Clock, *, multiple_pod_templates: bool) -> None:
        self._client = client
        self._clock = clock
        self._multiple_pod_templates = multiple_pod_templates
        self._locks = WeakValueDictionary[str, asyncio.Lock]()
        self._admitted: dict[tuple[str, str], _Admitted] = {}

    async def judge(self, request: Mapping[str, Any]) -> Manifest | None:
        """The refusal of a binding that would use more than a quota allows; None where there is none."""
        resource = mapping_in(request, "resource")
        if (resource.get("group"), resource.get("resource")) != (RESOURCE_BINDINGS.group, RESOURCE_BINDINGS.plural):
            return None
        if request.get("operation") not in ("CREATE", "UPDATE") or request.get("subResource"):
            return None
        before, after = self._usages(mapping_in(request, "oldObject"), mapping_in(request, "object"))
        if not grows(before, after):
            return None
        try:
            refused = await ask(self._judge_growth(request, before, after))
        except Untold as error:
            return refusal_for_now(_UNTOLD, error)
        return refusal(403, refused, EXCEEDED) if refused else None

    async def _judge_growth(self, request: Mapping[str, Any], before: Amounts, after: Amounts) -> str:
        """Raises: WorldError."""
        namespace, name = str(request.get("namespace") or ""), str(request.get("name") or "")
        async with self._locks.setdefault(namespace, asyncio.Lock()):
            quotas = [quota async for quota in every(self._client, FEDERATED_RESOURCE_QUOTAS, namespace)]
            if not quotas:
                return ""
            used = {name: usage async for name, usage in self._used(namespace)}
            now = self._clock.monotonic()
            self._admitted = {key: each for key, each in self._admitted.items() if each.until > now}
            for (place, other), each in self._admitted.items():
                if place == namespace:
                    used[other] = greatest((used.get(other, {}), each.usage))
            used.pop(name, None)
            refused = refusal_of_growth(before, after, used.values(), quotas)
            if not refused and request.get("dryRun") is not True:
                self._admitted[namespace, name] = _Admitted(after, now + ADMITTED_SECONDS)
            return refused

    async def _used(self, namespace: str) -> AsyncGenerator[tuple[str, Amounts], None]:
        """Usage by the binding's name. Raises: WorldError."""
        async for binding in every(self._client, RESOURCE_BINDINGS, namespace):
            yield binding.name, usage_of(binding.spec, multiple_pod_templates=self._multiple_pod_templates)

    def _usages(self, old: Manifest, new: Manifest) -> tuple[Amounts, Amounts]:
        """Usage of the binding before the write, and after it."""
        before, after, gate = _spec_of(old), _spec_of(new), self._multiple_pod_templates
        if after is None:
            return {}, {}
        used = usage_before(before, after, multiple_pod_templates=gate) if before is not None else {}
        return used, usage_of(after, multiple_pod_templates=gate)


def _spec_of(binding: Manifest) -> ResourceBindingSpec | None:
    """None for a binding that is not there, or cannot be read: others refuse that."""
    try:
        return codec.decode(codec.encode(binding), ResourceBinding).spec if binding else None
    except codec.DecodeError:
        return None
