"""Conflict resolution: what happens where a member has an object of that name already. One row for each way.

Karmada: `ConflictResolution` of the policy and binding APIs; the annotation of templates and Works says the same in
small letters.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

from kubeapi.meta import ReadOnlyManifest, annotations_of
from kubeapi.unstructured import text_at
from leeward.api.names import CONFLICT_RESOLUTION_ANNOTATION, WORK_NAME_ANNOTATION, WORK_NAMESPACE_ANNOTATION
from leeward.api.work import ResourceBindingSpec, Work


class ConflictResolution(StrEnum):
    ABORT = "Abort"
    OVERWRITE = "Overwrite"

    @property
    def annotation(self) -> str:
        """Text of it in the annotation."""
        return self.value.lower()


@dataclass(frozen=True, slots=True)
class ConflictRules:
    """Meaning of a way. `takes_over`: what belongs to nobody in the member becomes ours (S6)."""

    takes_over: bool


_ABORT = ConflictRules(takes_over=False)
_OVERWRITE = ConflictRules(takes_over=True)
_BY_ANNOTATION = {resolution.annotation: resolution for resolution in ConflictResolution}


def rules_of_resolution(resolution: ConflictResolution) -> ConflictRules:
    match resolution:
        case ConflictResolution.ABORT:
            return _ABORT
        case ConflictResolution.OVERWRITE:
            return _OVERWRITE
        case _:
            assert_never(resolution)


def resolution_of(spec: ResourceBindingSpec) -> ConflictResolution:
    """The policy's wish."""
    return ConflictResolution(spec.conflict_resolution or ConflictResolution.ABORT)


def conflict_resolution(spec: ResourceBindingSpec, template: ReadOnlyManifest) -> ConflictResolution:
    """The template's own wish comes before the policy's; one that cannot be understood is none."""
    wish = text_at(template, "metadata", "annotations", CONFLICT_RESOLUTION_ANNOTATION)
    return _BY_ANNOTATION.get(wish, resolution_of(spec))


def conflict_rules_of(work: Work) -> ConflictRules:
    """Rules that the annotation of a Work names; nothing is taken over without a word. Holds: S6."""
    wish = work.metadata.annotations.get(CONFLICT_RESOLUTION_ANNOTATION, "")
    return rules_of_resolution(_BY_ANNOTATION.get(wish, ConflictResolution.ABORT))


def may_overwrite(work: Work, observed: ReadOnlyManifest) -> bool:
    """Tells whether what is there may be taken over: what another Work has made never is."""
    return conflict_rules_of(work).takes_over and not other_work(work, observed)


def other_work(work: Work, observed: ReadOnlyManifest) -> str:
    """The Work of another name that has made what is there, as it is named there; else empty."""
    annotations = annotations_of(observed)
    if WORK_NAME_ANNOTATION not in annotations:
        return ""
    maker = annotations.get(WORK_NAMESPACE_ANNOTATION, ""), annotations[WORK_NAME_ANNOTATION]
    return "" if maker == (work.namespace, work.name) else "/".join(maker)
