"""Gaps in Karmada's definitions, which lack fields that Leeward writes: an API server drops such fields in silence, and
refuses such values."""

from collections.abc import Iterator, Mapping
from typing import Any

from kubeapi.diff import is_one_of
from kubeapi.meta import Manifest, ReadOnlyManifest

_OPEN = "x-kubernetes-preserve-unknown-fields"


def definition_gaps(ours: ReadOnlyManifest, theirs: ReadOnlyManifest) -> list[str]:
    """Fields as `spec.a[].b`, values as `spec.a=B`, of one definition; a version that is not served as `v1alpha2`."""
    [version] = ours["spec"]["versions"]
    found = [each for each in theirs["spec"]["versions"] if each["name"] == version["name"] and each.get("served")]
    if not found:
        return [version["name"]]
    wanted, there = _schema(version), _schema(found[0])
    return [path.removeprefix(".") for path in _gaps(wanted, there, "")]


def _schema(version: Manifest) -> Mapping[str, Any]:
    properties = version.get("schema", {}).get("openAPIV3Schema", {}).get("properties", {})
    return {"properties": {name: properties[name] for name in ("spec", "status") if name in properties}}


def _gaps(ours: Mapping[str, Any], theirs: Mapping[str, Any], path: str) -> Iterator[str]:
    if theirs.get(_OPEN):
        return
    if ours.get("enum") and theirs.get("enum"):
        yield from (f"{path}={value}" for value in ours["enum"] if not is_one_of(value, theirs["enum"]))
    known: Mapping[str, Any] = theirs.get("properties") or {}
    if not theirs.get("additionalProperties"):
        wanted: Mapping[str, Any] = ours.get("properties") or {}
        for name, schema in wanted.items():
            if name in known:
                yield from _gaps(schema, known[name], f"{path}.{name}")
            else:
                yield f"{path}.{name}"
    for part in ("items", "additionalProperties"):
        if isinstance(ours.get(part), Mapping) and isinstance(theirs.get(part), Mapping):
            yield from _gaps(ours[part], theirs[part], f"{path}[]")
