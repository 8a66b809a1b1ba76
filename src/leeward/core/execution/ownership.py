"""Ownership of objects in members: the marks by which an object says which Work of which control plane it was made
from.

The names of Works are the same in every control plane (hub), so an object carries the hub's identity as well. One that
names the Work and no hub was written by an earlier version, or by Karmada, and is taken over with the next write.

`resourcetemplate.karmada.io/managed-{labels,annotations}` list the keys that the control plane has set, so that those
of others can be told from those that were ours and are gone from the template.

Karmada: pkg/util/{label,annotation}.go; same, without the hub. Holds: S6.
"""

from collections.abc import Iterable, Mapping

from kubeapi.meta import Manifest, ReadOnlyManifest, annotations_of
from kubeapi.unstructured import mapping_at, text_at, with_annotations
from leeward.api.names import (
    HUB_ANNOTATION,
    MANAGED_ANNOTATIONS_ANNOTATION,
    MANAGED_LABEL,
    MANAGED_LABELS_ANNOTATION,
    TEMPLATE_UID_ANNOTATION,
    WORK_ID_LABEL,
    WORK_NAME_ANNOTATION,
    WORK_NAMESPACE_ANNOTATION,
)


def is_ours(observed: ReadOnlyManifest, work_namespace: str, work_name: str, work_id: str = "", hub: str = "") -> bool:
    """Tells whether the object was made from this Work: it names it, or, having lost the name, carries its permanent
    id.

    What carries the identity of another control plane than `hub` never was.
    """
    if other_hub(observed, hub):
        return False
    annotations = mapping_at(observed, "metadata", "annotations")
    named = {key: annotations.get(key) for key in (WORK_NAMESPACE_ANNOTATION, WORK_NAME_ANNOTATION)}
    if all(named.values()):
        return named == identity(work_namespace, work_name)
    return bool(work_id) and mapping_at(observed, "metadata", "labels").get(WORK_ID_LABEL) == work_id


def other_hub(observed: ReadOnlyManifest, hub: str) -> str:
    """The identity of the control plane that the object belongs to, if that is another one than `hub`; else empty.

    Without an identity of one's own nobody can be told apart.
    """
    carried = text_at(observed, "metadata", "annotations", HUB_ANNOTATION)
    return carried if hub and carried != hub else ""


def with_hub(manifest: ReadOnlyManifest, hub: str) -> Manifest:
    """The manifest as an object of this control plane."""
    return with_annotations(manifest, {HUB_ANNOTATION: hub}) if hub else dict(manifest)


def without_due_hub(manifest: ReadOnlyManifest, observed: ReadOnlyManifest) -> ReadOnlyManifest:
    """`manifest`, without the hub where `observed` has none: that alone is no reason to write an object."""
    if text_at(observed, "metadata", "annotations", HUB_ANNOTATION):
        return manifest
    return with_annotations(manifest, {HUB_ANNOTATION: None})


def identity(work_namespace: str, work_name: str) -> dict[str, str]:
    """The annotations that name the Work."""
    return {WORK_NAMESPACE_ANNOTATION: work_namespace, WORK_NAME_ANNOTATION: work_name}


def stamp(
    manifest: ReadOnlyManifest,
    work_namespace: str,
    work_name: str,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
) -> Manifest:
    """The manifest as it goes into the Work: marked as ours, with these labels and annotations, and the lists of both.

    The Work's permanent id is listed, too, although only admission gives it a value.
    """
    metadata = mapping_at(manifest, "metadata")
    all_labels = {**mapping_at(metadata, "labels"), **(labels or {}), MANAGED_LABEL: "true"}
    all_annotations = {
        **mapping_at(metadata, "annotations"),
        TEMPLATE_UID_ANNOTATION: text_at(metadata, "uid"),
        **(annotations or {}),
        **identity(work_namespace, work_name),
    }
    listed = {*all_annotations, MANAGED_ANNOTATIONS_ANNOTATION, MANAGED_LABELS_ANNOTATION}
    all_annotations[MANAGED_ANNOTATIONS_ANNOTATION] = ",".join(sorted(listed))
    all_annotations[MANAGED_LABELS_ANNOTATION] = ",".join(sorted({*all_labels, WORK_ID_LABEL}))
    return {**manifest, "metadata": {**metadata, "labels": all_labels, "annotations": all_annotations}}


def why_refused(error: Exception) -> str:
    """Message of a member that refuses an object. Of too many labels or annotations some are the control plane's."""
    if not any(f"metadata.{field}: Too " in str(error) for field in ("labels", "annotations")):
        return str(error)
    return f"{error}; the control plane adds some, and lists each key: have fewer or shorter ones in the template"


def managed_keys(observed: ReadOnlyManifest, list_annotation: str) -> frozenset[str]:
    """The keys of labels or annotations that the control plane had set."""
    return frozenset(text_at(observed, "metadata", "annotations", list_annotation).split(","))


def template_uids(manifests: Iterable[ReadOnlyManifest]) -> set[str]:
    """The uids of the templates that these were made of."""
    return {uid for uid in (annotations_of(each).get(TEMPLATE_UID_ANNOTATION, "") for each in manifests) if uid}
