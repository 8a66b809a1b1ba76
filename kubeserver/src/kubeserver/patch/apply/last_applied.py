"""Annotation that `kubectl apply` keeps when it does not apply on the server: what it said last time.

Who goes over to server-side apply with kubectl takes the fields of that annotation along, without a conflict with
itself; and the annotation goes on saying what kubectl said last, so that the way back is open. Other managers opt out.

Kubernetes: managedfields/internal/lastappliedmanager.go, lastappliedupdater.go; same.
"""

from collections.abc import Mapping
from typing import Any, cast

from kubeapi import codec
from kubeapi.meta import Manifest, ReadOnlyManifest
from kubeserver.patch.apply.checking import schema_errors
from kubeserver.patch.apply.fieldset import EMPTY, FieldSet
from kubeserver.patch.apply.typed import compare, fields_of
from kubeserver.structures.structure import Structure
from kubeserver.values import section

MANAGER = "kubectl"
ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"
_ESCAPED = str.maketrans({letter: f"\\u{ord(letter):04x}" for letter in "<>&"})


def said_last(structure: Structure, live: ReadOnlyManifest) -> FieldSet:
    """The fields of the annotation whose values are still those of `live`."""
    try:
        said: Any = codec.decode(_annotation(live).encode(), dict[str, Any])
    except codec.DecodeError:
        return EMPTY
    if said.get("apiVersion") != live.get("apiVersion") or schema_errors(structure, said):
        return EMPTY
    difference = compare(structure, said, live)
    return fields_of(structure, said) - difference.taken - difference.removed


def say(merged: Manifest, config: ReadOnlyManifest, limit: int) -> Manifest:
    """`merged` with `config` in its annotation, if it has one; without it where that is too much to keep."""
    if not _annotation(merged):
        return merged
    annotations = {**_annotations(merged), ANNOTATION: _rendered(config)}
    if sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items()) > limit:
        del annotations[ANNOTATION]
    return {**merged, "metadata": {**merged["metadata"], "annotations": annotations}}


def _rendered(config: ReadOnlyManifest) -> str:
    metadata = dict(section(config, "metadata"))
    if "annotations" in metadata:
        metadata["annotations"] = {key: value for key, value in _annotations(config).items() if key != ANNOTATION}
    return codec.canonical({**config, "metadata": metadata}).decode().translate(_ESCAPED) + "\n"


def _annotation(manifest: ReadOnlyManifest) -> str:
    return _annotations(manifest).get(ANNOTATION) or ""


def _annotations(manifest: ReadOnlyManifest) -> Mapping[str, str]:
    return cast(Mapping[str, str], section(section(manifest, "metadata"), "annotations"))
