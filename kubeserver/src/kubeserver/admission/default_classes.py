"""The class that a claim or an Ingress gets that names none: the one that is marked as the default.

Kubernetes: plugin/pkg/admission/storage/storageclass/setdefault, plugin/pkg/admission/network/defaultingressclass; the
same. Of several it is the youngest, and of those of one age the first by name.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kubeapi import codec
from kubeapi.meta import Manifest, ReadOnlyManifest
from kubeserver.admission import AdmissionReview
from kubeserver.store import Store
from kubeserver.values import section


@dataclass(frozen=True, slots=True)
class _Classed:
    """A kind whose objects have a class: where they name it, and how classes say that they are the default."""

    classes: str
    field: str
    annotation: str
    """An older way to name the class; there it may be empty."""
    marks: Sequence[str]


_CLASSED: Mapping[str, _Classed] = {
    "//persistentvolumeclaims/": _Classed(
        "/storage.k8s.io/storageclasses/",
        "storageClassName",
        "volume.beta.kubernetes.io/storage-class",
        (
            "storageclass.kubernetes.io/is-default-class",
            "storageclass.beta.kubernetes.io/is-default-class",
        ),
    ),
    "/networking.k8s.io/ingresses/": _Classed(
        "/networking.k8s.io/ingressclasses/",
        "ingressClassName",
        "kubernetes.io/ingress.class",
        ("ingressclass.kubernetes.io/is-default-class",),
    ),
}


class DefaultClasses:
    """An `Admission`."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def admit(self, review: AdmissionReview) -> Manifest:
        classed = _CLASSED.get(review.kind.prefix)
        if classed is None or review.operation != "CREATE" or _names_a_class(review.object, classed):
            return review.object
        name = self._default_of(classed)
        return (
            {**review.object, "spec": {**section(review.object, "spec"), classed.field: name}}
            if name
            else review.object
        )

    def _default_of(self, classed: _Classed) -> str:
        """The name of the default class; empty where there is none."""
        known = (codec.decode_manifest(record.value) for record in self._store.list(classed.classes).records)
        defaults = [found["metadata"] for found in known if _is_default(found, classed)]
        by_name = sorted(defaults, key=lambda metadata: metadata["name"])
        youngest = sorted(by_name, key=lambda metadata: metadata["creationTimestamp"], reverse=True)
        return youngest[0]["name"] if youngest else ""


def _names_a_class(manifest: ReadOnlyManifest, classed: _Classed) -> bool:
    annotations = section(section(manifest, "metadata"), "annotations")
    return classed.annotation in annotations or section(manifest, "spec").get(classed.field) is not None


def _is_default(found: ReadOnlyManifest, classed: _Classed) -> bool:
    annotations = section(found["metadata"], "annotations")
    return any(annotations.get(mark) == "true" for mark in classed.marks)
