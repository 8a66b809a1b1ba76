"""The marks of a claim on templates and bindings, and the detector's part of a binding.

Never touches the writes of others: labels and annotations of users, the scheduler's result, `suspension.scheduling`.
"""

from collections.abc import Mapping
from typing import cast

from kubeapi.diff import merge_patch
from kubeapi.meta import Manifest, ReadOnlyManifest, annotations_of, labels_of
from leeward.api.moves_with import MOVES_WITH_ANNOTATION
from leeward.api.names import (
    ALL_ADDRESSES_ANNOTATION,
    CLAIMS_ANNOTATION,
    CLUSTER_POLICY_ID_LABEL,
    CLUSTER_POLICY_NAME_ANNOTATION,
    EVICT_SHARED_ANNOTATION,
    FAILBACK_AFTER_ANNOTATION,
    FAILBACK_ANNOTATION,
    FAILBACK_PACE_ANNOTATION,
    KEEP_UNTIL_ANNOTATION,
    LAZY_DIGEST_ANNOTATION,
    NAMED_CLAIMS_ANNOTATION,
    POLICY_ID_LABEL,
    POLICY_NAME_ANNOTATION,
    POLICY_NAMESPACE_ANNOTATION,
    SERVICE_OPTIONAL_ANNOTATION,
    TIME_TO_START_ANNOTATION,
    VOLUMES_FOLLOW_ANNOTATION,
    WAIT_FOR_ANNOTATION,
)
from leeward.api.ordinals import ORDINALS_ANNOTATION
from leeward.api.rollout import ROLLOUT_ANNOTATION
from leeward.api.work import Binding

CLAIM_LABELS = (POLICY_ID_LABEL, CLUSTER_POLICY_ID_LABEL)
CLAIM_ANNOTATIONS = (POLICY_NAMESPACE_ANNOTATION, POLICY_NAME_ANNOTATION, CLUSTER_POLICY_NAME_ANNOTATION)
OPTION_ANNOTATIONS = (
    FAILBACK_ANNOTATION,
    FAILBACK_AFTER_ANNOTATION,
    FAILBACK_PACE_ANNOTATION,
    TIME_TO_START_ANNOTATION,
    EVICT_SHARED_ANNOTATION,
    VOLUMES_FOLLOW_ANNOTATION,
    ALL_ADDRESSES_ANNOTATION,
    SERVICE_OPTIONAL_ANNOTATION,
    ROLLOUT_ANNOTATION,
    WAIT_FOR_ANNOTATION,
    KEEP_UNTIL_ANNOTATION,
    MOVES_WITH_ANNOTATION,
)
"""Options that a binding has from its policy."""
TEMPLATE_ANNOTATIONS = (CLAIMS_ANNOTATION, NAMED_CLAIMS_ANNOTATION, LAZY_DIGEST_ANNOTATION)
"""Annotations of a binding that speak of its template beyond its spec."""
OWNED_FIELDS = frozenset(
    {
        "resource",
        "replicas",
        "replicaRequirements",
        "components",
        "placement",
        "propagateDeps",
        "schedulerName",
        "failover",
        "conflictResolution",
        "preserveResourcesOnDeletion",
        "schedulePriority",
        "workloadAffinityGroups",
    }
)
"""Fields of a binding's spec that follow from its template and policy."""


def claimed_by(manifest: ReadOnlyManifest) -> str:
    """The permanent id of the policy that has claimed a template; empty when none has."""
    return _claim_in(labels_of(manifest))


def standing_claim(template: ReadOnlyManifest, binding: Binding | None) -> str:
    """The permanent id of the policy that has claimed a template. Where the template does not say it, `binding`, which
    was made for it, does: `kubectl replace` leaves out marks that the user's file lacks. Holds: S17.

    Karmada: differs. There such a template is another policy's from then on, if that one wins it.
    """
    return claimed_by(template) or (_claim_in(binding.metadata.labels) if binding is not None else "")


def claim_patch(template: ReadOnlyManifest, labels: dict[str, str], annotations: dict[str, str]) -> Manifest:
    """Patch that gives a template exactly these marks; empty when it has them."""
    present = {"labels": labels_of(template), "annotations": annotations_of(template)}
    marked = {
        "labels": _with_marks(present["labels"], CLAIM_LABELS, labels),
        "annotations": _with_marks(present["annotations"], (*CLAIM_ANNOTATIONS, LAZY_DIGEST_ANNOTATION), annotations),
    }
    patch = merge_patch(present, marked)
    return {"metadata": patch} if patch else {}


def binding_patch(present: ReadOnlyManifest, desired: ReadOnlyManifest) -> Manifest:
    """Patch that brings a binding to `desired` in all that the detector owns; empty when it is so. How its ordinals are
    numbered is said when it is made, and never changes."""
    metadata, spec = present["metadata"], present["spec"]
    marks = {name: value for name, value in annotations_of(desired).items() if name != ORDINALS_ANNOTATION}
    target = {
        "metadata": {
            **metadata,
            "labels": _with_marks(labels_of(present), CLAIM_LABELS, labels_of(desired)),
            "annotations": _with_marks(
                annotations_of(present), CLAIM_ANNOTATIONS + OPTION_ANNOTATIONS + TEMPLATE_ANNOTATIONS, marks
            ),
        },
        "spec": {key: value for key, value in spec.items() if key not in OWNED_FIELDS} | dict(desired["spec"]),
    }
    suspension = _suspension(spec, desired["spec"])
    target["spec"].pop("suspension", None)
    if suspension:
        target["spec"]["suspension"] = suspension
    return merge_patch({"metadata": metadata, "spec": spec}, target)


def belongs_to(binding: ReadOnlyManifest, template: ReadOnlyManifest) -> bool:
    """Tells whether a binding was made for this very template, and not for an earlier one of the same name."""
    owners = cast(list[Manifest], binding["metadata"].get("ownerReferences") or [])
    controllers = [owner["uid"] for owner in owners if owner.get("controller")]
    return not controllers or template["metadata"]["uid"] in controllers


def _claim_in(labels: Mapping[str, str]) -> str:
    return next((labels[label] for label in CLAIM_LABELS if labels.get(label)), "")


def _suspension(present: ReadOnlyManifest, desired: ReadOnlyManifest) -> Manifest:
    """Dispatching follows the policy; scheduling is suspended by others."""
    scheduling = cast(Manifest, present.get("suspension") or {}).get("scheduling")
    wanted: Manifest = dict(desired.get("suspension") or {})
    return wanted if scheduling is None else {**wanted, "scheduling": scheduling}


def _with_marks(present: dict[str, str], ours: tuple[str, ...], marks: dict[str, str]) -> dict[str, str]:
    return {**{key: value for key, value in present.items() if key not in ours}, **marks}
