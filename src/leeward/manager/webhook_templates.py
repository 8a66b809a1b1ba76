"""Webhook configurations that are templates: what a ClusterPropagationPolicy brings to members is meant for them.

Such a configuration lies in the control plane like any other template, and its Service leads nowhere there, since what
would answer runs in the members. The embedded API server asks here before it lets the webhook's absence refuse a write.

Karmada: differs. Its kube-apiserver asks the webhook, and refuses the write (decision 162).
"""

from kubeapi import codec
from kubeapi.meta import ReadOnlyManifest
from kubeserver.store import Record, Store
from kubeserver.webhooks.configuration import Configured
from leeward.api.names import CLUSTER_POLICY_ID_LABEL
from leeward.api.policy import ClusterPropagationPolicy
from leeward.api.resource import CLUSTER_PROPAGATION_POLICIES
from leeward.core.propagation.matching import find_policy

_GROUP = "admissionregistration.k8s.io"
_POLICIES = f"/{CLUSTER_PROPAGATION_POLICIES.group}/{CLUSTER_PROPAGATION_POLICIES.plural}/"


class WebhookTemplates:
    """Templates in the store of the control plane, which is read again where something has changed."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._seen = dict[str, tuple[tuple[int, int], dict[str, bool]]]()
        """Templates by resource: of which revisions of it and of the policies, and which of its objects are
        templates."""

    def passed_over(self, webhook: Configured) -> bool:
        """Tells as kubeserver's `PassedOver`."""
        plural, name = webhook.plural, webhook.configuration
        prefix = f"/{_GROUP}/{plural}/"
        revisions = self._store.last_change(prefix), self._store.last_change(_POLICIES)
        seen, templates = self._seen.get(plural, ((0, 0), {}))
        if seen != revisions:
            templates = dict[str, bool]()
            self._seen[plural] = revisions, templates
        if name not in templates:
            record = self._store.get(f"{prefix}/{name}")
            templates[name] = record is not None and self._is_template(codec.decode_manifest(record.value))
        return templates[name]

    def _is_template(self, configuration: ReadOnlyManifest) -> bool:
        """Tells whether a policy has claimed it, or will in a moment."""
        if CLUSTER_POLICY_ID_LABEL in (configuration["metadata"].get("labels") or {}):
            return True
        policies = [policy for record in self._store.list(_POLICIES).records if (policy := _policy(record)) is not None]
        return find_policy(configuration, (), policies) is not None


def _policy(record: Record) -> ClusterPropagationPolicy | None:
    """None for an unreadable one: it claims nothing, so that its webhooks are asked as any other."""
    try:
        return codec.decode(record.value, ClusterPropagationPolicy)
    except codec.DecodeError:
        return None
