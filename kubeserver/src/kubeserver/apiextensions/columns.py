"""The printer columns of a definition: a JSONPath each, of which the first value counts, if it is of the column's type.

Kubernetes: apiextensions-apiserver/pkg/registry/customresource/tableconvertor; same.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

from kubeapi.jsonpath import PathTooLarge, compile_path, printed
from kubeapi.meta import ReadOnlyManifest, exact_time
from kubeserver.kinds.columns import age
from kubeserver.kinds.kind import Cell, Column

Show = Callable[[Any, datetime], Any]


def columns_of(columns: Iterable[Mapping[str, Any]]) -> Iterable[Column]:
    """Columns by `additionalPrinterColumns`. Raises: JSONPathError."""
    for column in columns:
        path = column["jsonPath"]
        yield Column(
            name=column["name"],
            cell=_cell(path, _SHOWN.get(column["type"], _nothing)),
            type=column["type"],
            format=column.get("format", ""),
            description=column.get("description") or f"Custom resource definition column (in JSONPath format): {path}",
            priority=column.get("priority", 0),
        )


def _cell(path: str, show: Show) -> Cell:
    find = compile_path(path, allow_missing=True)

    def cell(manifest: ReadOnlyManifest, now: datetime) -> Any:
        try:
            found = find(manifest)
        except (LookupError, PathTooLarge):
            return None
        return show(found[0], now) if found else None

    return cell


def _text(value: Any, now: datetime) -> str:
    del now
    return printed(value)


def _integer(value: Any, now: datetime) -> int | None:
    return None if (number := _number(value, now)) is None else int(number)


def _number(value: Any, now: datetime) -> int | float | None:
    del now
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _boolean(value: Any, now: datetime) -> bool | None:
    del now
    return value if isinstance(value, bool) else None


def _date(value: Any, now: datetime) -> str | None:
    if not isinstance(value, str):
        return None
    try:
        exact_time(value)
    except ValueError:
        return "<invalid>"
    return age(value, now)


def _nothing(value: Any, now: datetime) -> None:
    del value, now


_SHOWN: Mapping[str, Show] = {
    "string": _text,
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "date": _date,
}
