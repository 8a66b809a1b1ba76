"""PlaintextOverriders: operations of a JSON patch by json-patch v5: a missing place is not replaced or removed.

Karmada: pkg/util/overridemanager; same.
"""

from typing import Any, Final

from kubeapi.json_document import Document, depth_of, parse_path
from leeward.api.override import OverrideOperator

MOST_LEVELS: Final = 190
"""Most levels of an object. The embedded API server takes 200, with those of the Work around it."""


def patch_document(document: Document, pointer: str, operator: OverrideOperator, value: Any) -> None:
    """One operation. Raises: ValueError."""
    path = parse_path(pointer)
    if len(path) + depth_of(value) > MOST_LEVELS:
        raise ValueError(f"the object would be nested more than {MOST_LEVELS} levels deep")
    match operator:
        case "add":
            document.insert(path, value)
        case "replace":
            document.find(path)
            document.replace(path, value)
        case "remove":
            document.remove(path)
