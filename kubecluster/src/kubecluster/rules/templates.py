"""Pod templates: the revision that each is, and the Pods of it."""

import hashlib
from collections.abc import Mapping

from kubeapi.codec import canonical, copy_manifest
from kubeapi.meta import Manifest, ReadOnlyManifest
from kubeapi.unstructured import mapping_at, text_at
from kubecluster.rules.owners import owner_reference

REVISION_LABEL = "controller-revision-hash"
_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_HASH_LENGTH = 10


def template_hash(template: object) -> str:
    """Ten letters, as Kubernetes uses them in names; equal for equal templates."""
    number = int.from_bytes(hashlib.sha256(canonical(template)).digest())
    letters: list[str] = []
    for _ in range(_HASH_LENGTH):
        number, index = divmod(number, len(_ALPHABET))
        letters.append(_ALPHABET[index])
    return "".join(letters)


def template_of(owner: ReadOnlyManifest) -> Mapping[str, object]:
    return mapping_at(owner, "spec", "template")


def revision_of(manifest: ReadOnlyManifest) -> str:
    return text_at(manifest, "metadata", "labels", REVISION_LABEL)


def render_pod(owner: ReadOnlyManifest, labels: Mapping[str, str] | None = None, name: str = "") -> Manifest:
    """A Pod of the template of `owner`, with more labels; the server appends five letters where it has no name."""
    template = template_of(owner)
    annotations = dict(mapping_at(template, "metadata", "annotations"))
    prefix = owner["metadata"]["name"] + "-"
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            **({"name": name} if name else {"generateName": prefix}),
            "namespace": owner["metadata"]["namespace"],
            "labels": {**mapping_at(template, "metadata", "labels"), **(labels or {})},
            **({"annotations": annotations} if annotations else {}),
            "ownerReferences": [owner_reference(owner)],
        },
        "spec": copy_manifest(mapping_at(template, "spec")),
    }
