"""Gaps of Karmada, and of its definitions: features that a stored object uses and Leeward lacks, or has behind a gate;
fields and values that an API server with Karmada's definitions drops, or refuses."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from kubeapi.diff import is_one_of
from kubeapi.meta import Manifest, ReadOnlyManifest
from kubeapi.untrusted import mapping_in
from leeward.api.schema import schema_of
from leeward.core.propagation.held_features import HeldFeature

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


_UNCHECKED: Final = "x-kubernetes-preserve-unknown-fields"
_BINDINGS: Final = ("ResourceBinding", "ClusterResourceBinding")
_GATED_FIELDS: Final[Mapping[str, HeldFeature]] = {
    "components": HeldFeature.COMPONENTS,
    "workloadAffinityGroups": HeldFeature.GROUPS,
}
"""Fields of a binding's spec."""


def features_missing_for(manifest: ReadOnlyManifest) -> Iterator[str]:
    """A sentence for each; `manifest` is of one of Karmada's kinds."""
    schema = schema_of(str(manifest.get("apiVersion")), str(manifest.get("kind")))
    wanted = mapping_in(mapping_in(schema or {}, "properties"), "spec")
    if wanted:
        for path in dict.fromkeys(_unknown(manifest.get("spec"), wanted, "spec")):
            yield f"{path} is a field that this Leeward does not know: it is kept, and not carried out"
    for field, feature in _GATED_FIELDS.items():
        if manifest.get("kind") in _BINDINGS and mapping_in(manifest, "spec").get(field):
            yield (
                f"spec.{field} stays as it is, and what is placed anew goes without it: run with "
                f"--feature-gates={feature.value}=true, which is off by default"
            )


def _unknown(value: object, schema: Mapping[str, Any], path: str) -> Iterator[str]:
    """The fields that no schema describes, as `spec.a[].b`."""
    if schema.get(_UNCHECKED):
        return
    if isinstance(value, list):
        for item in cast(list[object], value):
            yield from _unknown(item, schema.get("items") or {_UNCHECKED: True}, f"{path}[]")
    if not isinstance(value, dict) or "properties" not in schema:
        return
    known: Mapping[str, Any] = schema["properties"]
    for name, inner in cast(dict[str, object], value).items():
        if name in known:
            yield from _unknown(inner, known[name], f"{path}.{name}")
        else:
            yield f"{path}.{name}"
