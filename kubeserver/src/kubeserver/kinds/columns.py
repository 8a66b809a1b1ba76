"""Helpers for the columns of tables: reading nested fields, ages, and the columns that every kind has."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cache
from importlib import resources
from typing import Any, cast

from kubeapi.meta import ReadOnlyManifest, exact_time
from kubeserver.kinds.kind import Cell, Column
from kubeserver.values import section

NONE = "<none>"
UNKNOWN = "<unknown>"
_NAME_DESCRIPTION = (
    "Name must be unique within a namespace. Is required when creating resources, although some resources may allow "
    "a client to request the generation of an appropriate name automatically. Name is primarily intended for creation "
    "idempotence and configuration definition. Cannot be updated. More info: "
    "https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names"
)
_AGE_DESCRIPTION = (
    "CreationTimestamp is a timestamp representing the server time when this object was created. It is not guaranteed "
    "to be set in happens-before order across separate operations. Clients may not set this value. It is represented "
    "in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More info: "
    "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
)


def described(table: str, *columns: Column) -> tuple[Column, ...]:
    """The columns of a table, with Kubernetes' own descriptions."""
    texts = _descriptions()
    return tuple(replace(c, description=texts.get(f"{table} {c.name}", c.description)) for c in columns)


@cache
def _descriptions() -> Mapping[str, str]:
    lines = resources.files("kubeserver.kinds").joinpath("columns.txt").read_text().splitlines()
    pairs = (line.partition(": ") for line in lines)
    return {column: text.replace("\\n", "\n") for column, _, text in pairs}


def at(manifest: ReadOnlyManifest, path: str, default: Any = None) -> Any:
    """The value under a dotted path; `default` where it is null, or something on the way is missing."""
    value: Any = manifest
    for part in path.split("."):
        if not isinstance(value, Mapping) or part not in value:
            return default
        value = cast(Mapping[str, Any], value)[part]
    return default if value is None else value


def field(path: str, default: Any = NONE) -> Cell:
    """A cell that shows one field."""
    return lambda manifest, now: at(manifest, path, default)


def count(path: str) -> Cell:
    """A cell that shows the size of a list or map."""
    return lambda manifest, now: len(at(manifest, path, ()))


def text(read: Callable[[ReadOnlyManifest], Any]) -> Cell:
    """A cell that needs no clock."""
    return lambda manifest, now: read(manifest)


def since(path: str, missing: str = UNKNOWN) -> Cell:
    """A cell that shows how long ago a timestamp was."""

    def cell(manifest: ReadOnlyManifest, now: datetime) -> str:
        instant = at(manifest, path)
        return age(instant, now) if instant else missing

    return cell


def age(instant: str, now: datetime) -> str:
    """The time since `instant`, in at most two units."""
    try:
        return duration(int((now - exact_time(instant)).total_seconds()))
    except ValueError:
        return UNKNOWN


def duration(seconds: int) -> str:
    """Text as kubectl prints durations: the older, the coarser."""
    if seconds < -1:
        return "<invalid>"
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    if seconds < 120:
        return f"{max(seconds, 0)}s"
    if minutes < 10:
        return _two(minutes, "m", seconds % 60, "s")
    if hours < 3:
        return f"{minutes}m"
    if hours < 8:
        return _two(hours, "h", minutes % 60, "m")
    if hours < 48:
        return f"{hours}h"
    if days < 8:
        return _two(days, "d", hours % 24, "h")
    if days < 365 * 2:
        return f"{days}d"
    years = days // 365
    return _two(years, "y", days % 365, "d") if years < 8 else f"{years}y"


def _two(large: int, large_unit: str, small: int, small_unit: str) -> str:
    return f"{large}{large_unit}{small}{small_unit}" if small else f"{large}{large_unit}"


def labels(selector: Mapping[str, str] | None) -> str:
    return ",".join(f"{key}={value}" for key, value in sorted((selector or {}).items())) or NONE


def label_selector(selector: Mapping[str, Any] | None) -> str:
    """A `metav1.LabelSelector` in its text form."""
    selector = selector or {}
    parts = [f"{key}={value}" for key, value in sorted(section(selector, "matchLabels").items())]
    for expression in selector.get("matchExpressions") or ():
        parts.append(_expression(expression))
    return ",".join(parts) or NONE


def _expression(expression: Mapping[str, Any]) -> str:
    key, values = expression.get("key", ""), ",".join(sorted(expression.get("values") or ()))
    match expression.get("operator"):
        case "Exists":
            return key
        case "DoesNotExist":
            return f"!{key}"
        case "In":
            return f"{key} in ({values})"
        case _:
            return f"{key} notin ({values})"


def containers(path: str, what: str) -> Cell:
    """A cell that shows a field of each container, joined by commas."""
    return lambda manifest, now: ",".join(str(c.get(what, "")) for c in at(manifest, path, ())) or NONE


def condition_status(manifest: ReadOnlyManifest, condition: str) -> str:
    """The status of a condition; empty where there is none."""
    conditions = cast(Sequence[Mapping[str, Any]], at(manifest, "status.conditions", ()))
    return next((c.get("status", "") for c in conditions if c.get("type") == condition), "")


NAME = Column("Name", field("metadata.name", ""), format="name", description=_NAME_DESCRIPTION)
AGE = Column("Age", since("metadata.creationTimestamp"), description=_AGE_DESCRIPTION)
CREATED_AT = Column("Created At", field("metadata.creationTimestamp", UNKNOWN), description=_AGE_DESCRIPTION)
DATE_AGE = Column("Age", since("metadata.creationTimestamp"), type="date", description=_AGE_DESCRIPTION)
