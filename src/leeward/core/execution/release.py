"""Release of an object that stays in its member when its application is deleted, or when the member leaves the fleet
(`preserveResourcesOnDeletion`).

All marks of ownership leave it. One label stays, by which `leeward orphans` lists it; it gives nobody a claim. A Work
that only makes way for the next one of its name is not released: its objects keep their marks.

Earlier versions left all marks on an object that stayed. It is nobody's, too: it says that it was to stay, and neither
its template nor its Work is there any more.

Karmada: `cleanupPolicyClaimMetadata` of pkg/controllers/execution; same, but that a Work waits for a member
that is away, and goes when its object is released. Holds: S6.
"""

from typing import Any

from kubeapi.meta import Manifest, ReadOnlyManifest, annotations_of, labels_of
from leeward.api.names import (
    MANAGED_ANNOTATIONS_ANNOTATION,
    MANAGED_LABEL,
    MANAGED_LABELS_ANNOTATION,
    PRESERVED_ANNOTATION,
    RELEASED_ANNOTATION,
    TEMPLATE_GENERATION_ANNOTATION,
    TEMPLATE_UID_ANNOTATION,
    WORK_ID_LABEL,
)
from leeward.api.work import Work
from leeward.core.execution.ownership import template_uids

_MARKS = frozenset(
    {
        MANAGED_ANNOTATIONS_ANNOTATION,
        MANAGED_LABEL,
        MANAGED_LABELS_ANNOTATION,
        TEMPLATE_GENERATION_ANNOTATION,
        TEMPLATE_UID_ANNOTATION,
    }
)
_GROUPS = frozenset(
    {
        "clusterpropagationpolicy.karmada.io",
        "clusterresourcebinding.karmada.io",
        "leeward.dev",
        "policy.karmada.io",
        "propagationpolicy.karmada.io",
        "resourcebinding.karmada.io",
        "work.karmada.io",
    }
)
"""Prefixes of which every label and annotation is a control plane's."""


def is_released(work: Work) -> bool:
    """Tells whether the objects of a Work that is being deleted stay, and belong to nobody here any more."""
    return bool(work.spec.preserve_resources_on_deletion) and RELEASED_ANNOTATION in work.metadata.annotations


def was_left(work: Work, observed: ReadOnlyManifest) -> bool:
    """Tells whether an object that names this Work was left to its owner by an earlier version, with all its marks."""
    if annotations_of(observed).get(PRESERVED_ANNOTATION) != "true":
        return False
    made, wanted = template_uids([observed]), template_uids(work.spec.workload.manifests)
    is_of_another = bool(made and wanted) and made.isdisjoint(wanted)
    return is_of_another and labels_of(observed).get(WORK_ID_LABEL) != work.metadata.labels.get(WORK_ID_LABEL)


def release_patch(observed: ReadOnlyManifest) -> Manifest:
    """The merge patch that takes all marks of ownership off an object, and changes nothing else."""
    labels: dict[str, Any] = {key: None for key in labels_of(observed) if _is_mark(key)}
    annotations = {key: None for key in annotations_of(observed) if _is_mark(key)}
    return {"metadata": {"labels": {**labels, PRESERVED_ANNOTATION: "true"}, "annotations": annotations}}


def _is_mark(key: str) -> bool:
    return key in _MARKS or key.partition("/")[0] in _GROUPS
