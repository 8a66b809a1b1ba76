"""The ServiceAccount that a Pod runs as: `default` where it names none; one that is not there refuses the Pod.

Not a part of every server: a control plane whose Pods run elsewhere, as Karmada's, leaves this plug-in out. The
namespaces' accounts are made by whoever runs the cluster's controllers.

Kubernetes: plugin/pkg/admission/serviceaccount; same, but that no token is mounted into the containers.
"""

from kubeapi import codec
from kubeapi.meta import Manifest
from kubeserver.admission import AdmissionReview, Rejected
from kubeserver.store import Store
from kubeserver.values import entries, section

DEFAULT_ACCOUNT = "default"
_PODS, _ACCOUNTS = "//pods/", "//serviceaccounts/"


class ServiceAccountAdmission:
    """An `Admission`."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def admit(self, review: AdmissionReview) -> Manifest:
        if review.kind.prefix != _PODS or review.operation != "CREATE" or review.subresource:
            return review.object
        spec = section(review.object, "spec")
        name = spec.get("serviceAccountName") or DEFAULT_ACCOUNT
        account = self._account(review.namespace, name)
        given = {"serviceAccountName": name, "serviceAccount": name}
        secrets = entries(account, "imagePullSecrets")
        if secrets and not spec.get("imagePullSecrets"):
            given["imagePullSecrets"] = secrets
        return {**review.object, "spec": {**spec, **given}}

    def _account(self, namespace: str, name: str) -> Manifest:
        """Raises: Rejected when there is none of this name."""
        record = self._store.head(f"{_ACCOUNTS}{namespace}/{name}")
        if record is None:
            raise Rejected(f'error looking up service account {namespace}/{name}: serviceaccount "{name}" not found')
        return codec.decode_manifest(record.value)
