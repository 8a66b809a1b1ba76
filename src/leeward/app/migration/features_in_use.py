"""Features that a stored object uses and Leeward does not have, or has behind a gate that is off by default."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from kubeapi.meta import ReadOnlyManifest
from kubeapi.untrusted import mapping_in
from leeward.api.schema import schema_of
from leeward.core.propagation.held_features import HeldFeature

_OPEN: Final = "x-kubernetes-preserve-unknown-fields"
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
    if schema.get(_OPEN):
        return
    if isinstance(value, list):
        for item in cast(list[object], value):
            yield from _unknown(item, schema.get("items") or {_OPEN: True}, f"{path}[]")
    if not isinstance(value, dict) or "properties" not in schema:
        return
    known: Mapping[str, Any] = schema["properties"]
    for name, inner in cast(dict[str, object], value).items():
        if name in known:
            yield from _unknown(inner, known[name], f"{path}.{name}")
        else:
            yield f"{path}.{name}"
