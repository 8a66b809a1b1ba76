"""Tables: how `kubectl get` sees objects, one row each, with the columns of their kind."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from kubeapi.meta import Manifest
from kubeserver.errors import bad_request
from kubeserver.kinds.columns import AGE, DATE_AGE, NAME
from kubeserver.kinds.kind import Column, Kind

INCLUDES = ("", "Metadata", "Object", "None")


def check_include(include: str) -> None:
    """Raises: Refused for a value of `includeObject` that does not exist."""
    if include not in INCLUDES:
        said = f"includeObject: Invalid value: \"{include}\": must be 'Metadata', 'Object', 'None', or empty"
        raise bad_request(f"Unable to convert to Table as requested: {said}")


def columns_of(kind: Kind) -> tuple[Column, ...]:
    columns = kind.columns or ((DATE_AGE,) if kind.custom else (AGE,))
    return columns if any(column.name == NAME.name for column in columns) else (NAME, *columns)


def render_columns(kind: Kind) -> list[dict[str, Any]]:
    return [
        {
            "name": column.name,
            "type": column.type,
            "format": column.format,
            "description": column.description,
            "priority": column.priority,
        }
        for column in columns_of(kind)
    ]


def render_row(kind: Kind, manifest: Manifest, now: datetime, include: str, version: str) -> dict[str, Any]:
    cells = [column.cell(manifest, now) for column in columns_of(kind)]
    row: dict[str, Any] = {"cells": cells, **_conclusion(kind, manifest)}
    if include == "None":
        return {**row, "object": None}
    return {**row, "object": manifest if include == "Object" else render_partial(manifest, version)}


def _conclusion(kind: Kind, manifest: Manifest) -> dict[str, Any]:
    concluded = kind.conclusion(manifest) if kind.conclusion is not None else None
    if concluded is None:
        return {}
    reason, message = concluded
    return {"conditions": [{"type": "Completed", "status": "True", "reason": reason, "message": message}]}


def render_partial(manifest: Manifest, version: str) -> dict[str, Any]:
    """The object's metadata alone."""
    metadata = manifest["metadata"]
    return {"kind": "PartialObjectMetadata", "apiVersion": f"meta.k8s.io/{version}", "metadata": metadata}


def render_table(
    rows: list[dict[str, Any]], metadata: Mapping[str, Any], version: str, columns: list[dict[str, Any]] | None
) -> dict[str, Any]:
    """`columns` is None where the client knows them from an earlier frame."""
    return {
        "kind": "Table",
        "apiVersion": f"meta.k8s.io/{version}",
        "metadata": metadata,
        "columnDefinitions": columns,
        "rows": rows,
    }
