"""LabelsOverriders and AnnotationsOverriders.

Karmada: pkg/util/overridemanager/labelannotationoverrider.go; same: what is not there is neither replaced nor removed.
"""

from typing import Any, Literal

from kubeapi.json_document import Document
from leeward.api.override import LabelAnnotationOverrider
from leeward.core.overrides.effort import Effort, units_of


def override_marks(
    field: Literal["labels", "annotations"], document: Document, overrider: LabelAnnotationOverrider, effort: Effort
) -> None:
    """Raises: ValueError when there are no metadata."""
    effort.spend(units_of(overrider.value.values()))
    present: Any = document.field(["metadata", field])
    if present is not None and not isinstance(present, dict):
        raise ValueError(f"metadata.{field} is no mapping")
    if present is None:
        if overrider.operator != "add":
            return
        document.insert(["metadata", field], {})
    marks: Any = document.own(["metadata", field])
    for key, value in overrider.value.items():
        if overrider.operator == "add" or (overrider.operator == "replace" and key in marks):
            marks[key] = value
        elif overrider.operator == "remove":
            marks.pop(key, None)
