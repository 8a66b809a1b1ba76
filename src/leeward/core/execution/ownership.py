"""Whose object it is: the marks by which an object in a member says which Work it was made from.

`resourcetemplate.karmada.io/managed-{labels,annotations}` list the keys that the control plane has set, so that those
of others can be told from those that were ours and are gone from the template.

Karmada: pkg/util/{label,annotation}.go; same. Holds: S6.
"""

from collections.abc import Mapping

from leeward.api.meta import Manifest, ReadOnlyManifest
from leeward.api.names import (
    MANAGED_ANNOTATIONS_ANNOTATION,
    MANAGED_LABEL,
    MANAGED_LABELS_ANNOTATION,
    TEMPLATE_UID_ANNOTATION,
    WORK_ID_LABEL,
    WORK_NAME_ANNOTATION,
    WORK_NAMESPACE_ANNOTATION,
)
from leeward.core.interpreter.fields import mapping_at, text_at


def is_ours(observed: ReadOnlyManifest, work_namespace: str, work_name: str, work_id: str = "") -> bool:
    """Whether the object was made from this Work: it names it, or, having lost the name, carries its permanent id."""
    annotations = mapping_at(observed, "metadata", "annotations")
    named = {key: annotations.get(key) for key in (WORK_NAMESPACE_ANNOTATION, WORK_NAME_ANNOTATION)}
    if all(named.values()):
        return named == identity(work_namespace, work_name)
    return bool(work_id) and mapping_at(observed, "metadata", "labels").get(WORK_ID_LABEL) == work_id


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
    all_labels = {**mapping_at(metadata, "labels"), MANAGED_LABEL: "true", **(labels or {})}
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


def managed_keys(observed: ReadOnlyManifest, list_annotation: str) -> frozenset[str]:
    """The keys of labels or annotations that the control plane had set."""
    return frozenset(text_at(observed, "metadata", "annotations", list_annotation).split(","))
