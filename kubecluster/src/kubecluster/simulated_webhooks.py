"""Webhooks of a simulated cluster: one whose Service has ready Pods lets everything pass, as nothing runs in them.

Without a ready Pod it is away, as in any cluster, and its `failurePolicy` decides.
"""

from kubeapi import codec
from kubeapi.meta import LabelSelector, Manifest, ReadOnlyManifest
from kubeapi.selectors import matches, selector_of
from kubeapi.unstructured import mapping_at
from kubecluster.rules.pods import is_leaving, is_ready
from kubeserver.store import Store
from kubeserver.webhooks.configuration import Configured


class SimulatedWebhooks:
    """Webhooks whose Services are in the store of one cluster."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def passed_over(self, webhook: Configured) -> bool:
        """Tells as kubeserver's `PassedOver`."""
        reference = webhook.webhook.client_config.service
        if reference is None:
            return False
        record = self._store.get(f"//services/{reference.namespace}/{reference.name}")
        service: Manifest = codec.decode_manifest(record.value) if record is not None else {}
        selected = mapping_at(service, "spec", "selector")
        if not selected:
            return False
        selector = selector_of(LabelSelector(match_labels=dict(selected)))
        pods = (
            codec.decode_manifest(each.value) for each in self._store.list(f"//pods/{reference.namespace}/").records
        )
        return any(_serves(pod) and matches(selector, mapping_at(pod, "metadata", "labels")) for pod in pods)


def _serves(pod: ReadOnlyManifest) -> bool:
    return is_ready(pod) and not is_leaving(pod)
