"""Claims grow where their class lets volumes grow.

Kubernetes: plugin/pkg/admission/storage/persistentvolume/resize; the same words. To shrink is not its matter; nor are
claims without a volume, whose spec stays as it is (`kinds/amount_rules.py`).
"""

from decimal import Decimal

from kubeapi import codec
from kubeapi.meta import ReadOnlyManifest
from kubeapi.quantity import parse_quantity
from kubeserver import errors
from kubeserver.admission.interface import AdmissionReview
from kubeserver.store import Store
from kubeserver.values import section

_CLAIMS, _CLASSES = "//persistentvolumeclaims/", "/storage.k8s.io/storageclasses/"
_OLDER_CLASS_NAME = "volume.beta.kubernetes.io/storage-class"
_FIXED = (
    "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize"
)


class ClaimGrowth:
    """Judge of PersistentVolumeClaims that ask for more room than before."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def validate(self, review: AdmissionReview) -> None:
        """Raises: Refused."""
        new, old = review.object, review.old_object
        if review.kind.prefix != _CLAIMS or review.operation != "UPDATE" or review.subresource or old is None:
            return
        if _storage(new) > _storage(old) and not self._may_grow(new, old):
            raise errors.forbidden("", "persistentvolumeclaims", new["metadata"]["name"], _FIXED)

    def _may_grow(self, new: ReadOnlyManifest, old: ReadOnlyManifest) -> bool:
        name = _class_name(new)
        record = self._store.head(f"{_CLASSES}/{name}") if name and name == _class_name(old) else None
        return record is not None and bool(codec.decode_manifest(record.value).get("allowVolumeExpansion"))


def _storage(claim: ReadOnlyManifest) -> Decimal:
    wanted = section(section(section(claim, "spec"), "resources"), "requests").get("storage", "0")
    return parse_quantity(str(wanted))


def _class_name(claim: ReadOnlyManifest) -> str:
    annotated = section(section(claim, "metadata"), "annotations").get(_OLDER_CLASS_NAME)
    return section(claim, "spec").get("storageClassName", "") if annotated is None else annotated
