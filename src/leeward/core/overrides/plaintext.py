"""PlaintextOverriders: operations of a JSON patch by json-patch v5: a missing place is not replaced or removed.

Karmada: pkg/util/overridemanager; same.
"""

from typing import Any

from kubeapi.json_document import Document, parse_path
from leeward.api.override import OverrideOperator


def patch_document(document: Document, pointer: str, operator: OverrideOperator, value: Any) -> None:
    """One operation. Raises: ValueError."""
    path = parse_path(pointer)
    match operator:
        case "add":
            document.insert(path, value)
        case "replace":
            document.find(path)
            document.replace(path, value)
        case "remove":
            document.remove(path)
