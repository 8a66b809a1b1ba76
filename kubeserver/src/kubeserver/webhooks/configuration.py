"""The webhooks as their objects say, in the order in which they are asked: by the configurations' names."""

import base64
import binascii
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import msgspec

from kubeapi import codec
from kubeapi.meta import LabelSelector
from kubeapi.selectors import Selector, selector_of
from kubeserver.store import Store

GROUP = "admissionregistration.k8s.io"
MUTATING, VALIDATING = "mutatingwebhookconfigurations", "validatingwebhookconfigurations"


class _Wire(msgspec.Struct, rename="camel", frozen=True, dict=True):
    """Read from what is stored, which has been checked and defaulted."""


class Rule(_Wire, frozen=True):
    api_groups: tuple[str, ...] = ()
    api_versions: tuple[str, ...] = ()
    operations: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    resource_names: tuple[str, ...] = ()
    """Names of the objects that are meant alone; only policies have them."""
    scope: str = "*"


class ServiceReference(_Wire, frozen=True):
    namespace: str
    name: str
    path: str = ""
    port: int = 443


class ClientConfig(_Wire, frozen=True):
    """Address of a webhook: at a URL, or behind a Service of this cluster."""

    url: str = ""
    service: ServiceReference | None = None
    ca_bundle: str = ""

    @cached_property
    def authority(self) -> str:
        """The certificates that the webhook's own must lead to, as PEM; empty for those of the system."""
        try:
            return base64.b64decode(self.ca_bundle).decode()
        except (binascii.Error, ValueError):
            return self.ca_bundle


class MatchCondition(_Wire, frozen=True):
    name: str
    expression: str


class Chooser(_Wire, frozen=True):
    """Chooser of requests to see: a webhook, or a policy."""

    rules: tuple[Rule, ...] = ()
    match_policy: str = "Equivalent"
    namespace_selector: LabelSelector | None = None
    object_selector: LabelSelector | None = None

    @cached_property
    def namespaces(self) -> Selector:
        return selector_of(self.namespace_selector)

    @cached_property
    def objects(self) -> Selector:
        return selector_of(self.object_selector)


class Webhook(Chooser, frozen=True, kw_only=True):
    name: str
    client_config: ClientConfig = ClientConfig()
    failure_policy: str = "Fail"
    match_conditions: tuple[MatchCondition, ...] = ()
    side_effects: str = "None"
    timeout_seconds: int = 10
    admission_review_versions: tuple[str, ...] = ("v1",)
    reinvocation_policy: str = "Never"


class _Meta(_Wire, frozen=True):
    name: str


class _Configuration(_Wire, frozen=True):
    metadata: _Meta
    webhooks: tuple[Webhook, ...] | None = None


class Configured(msgspec.Struct, frozen=True):
    """A webhook, and the configuration that has it: its name, and the resource that it is one of."""

    configuration: str
    webhook: Webhook
    plural: str


class Configurations:
    """The webhooks of one kind of configuration; read again when one of them has changed."""

    def __init__(self, store: Store, plural: str) -> None:
        self._store = store
        self._plural = plural
        self._prefix = f"/{GROUP}/{plural}/"
        self._seen = 0
        self._webhooks: Sequence[Configured] = ()

    def webhooks(self) -> Sequence[Configured]:
        changed = self._store.last_change(self._prefix)
        if changed != self._seen:
            self._webhooks = tuple(_read(self._store.list(self._prefix).records, self._plural))
            self._seen = changed
        return self._webhooks


def _read(records: Sequence[Any], plural: str) -> list[Configured]:
    read = [codec.decode(record.value, _Configuration) for record in records]
    read.sort(key=lambda configuration: configuration.metadata.name)
    return [Configured(each.metadata.name, webhook, plural) for each in read for webhook in each.webhooks or ()]
