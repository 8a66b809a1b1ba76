"""Decoding of a request's body to an object that the rest may rely on: parsed, of the right kind, of the right types.

Unknown fields of custom kinds are pruned here, and reported as `fieldValidation` asks for.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import msgspec

from kubeapi import codec
from kubeapi.meta import Manifest, ReadOnlyManifest
from kubeapi.status import Problem
from kubeserver.builtin_kinds import is_served
from kubeserver.errors import Refused, bad_request, invalid, refused_with_warnings, unsupported_media_type
from kubeserver.kinds.kind import Kind, Schema
from kubeserver.limits import check_body
from kubeserver.registry.decoding_errors import DecodingError
from kubeserver.registry.strict_decoding import fit
from kubeserver.serialization.json_text import json_fault, json_name
from kubeserver.serialization.protobuf import MEDIA_TYPE, UnknownMessage, parse_protobuf
from kubeserver.serialization.yaml import load_yaml
from kubeserver.structures.builtin import structure_of, structure_of_kind
from kubeserver.structures.structure import complete
from kubeserver.values import section

_SHOWN_BYTES = 30
_TYPE_META = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
SCHEME = "k8s.io/kubernetes/pkg/api/legacyscheme/scheme.go:30"
_EMPTY: tuple[object, ...] = ({}, [], "", None)


_READ = ("application/json", "application/yaml")


class UndecodableObject(Exception):
    """The object cannot be read as its kind; the message names the field. `conversion` is that of the error."""

    def __init__(self, message: str, conversion: str = "") -> None:
        super().__init__(message)
        self.conversion = conversion or message


@dataclass(slots=True)
class Decoded:
    """An object, and the warnings that go with the answer."""

    manifest: Manifest
    warnings: list[str] = field(default_factory=list[str])


def parse_body(kind: Kind, body: bytes, content_type: str) -> Manifest:
    """The body as a mapping; JSON where the client says nothing. Raises: Refused (400, 415)."""
    check_media_type(content_type)
    try:
        parsed: Any = _load(kind, body, content_type)
    except UnknownMessage as error:
        raise unsupported_media_type(_READ) from error
    except (codec.DecodeError, ValueError) as error:
        raise _unrecognized(kind, _why_unreadable(error, body), body) from error
    if parsed is None:
        parsed = {}
    if not isinstance(parsed, dict):
        why = f"json: cannot unmarshal {json_name(parsed)} into Go value of type {_TYPE_META}"
        raise _unrecognized(kind, f"couldn't get version/kind; json parse error: {why}", body)
    manifest = cast(Manifest, parsed)
    for name, value in manifest.items():
        if name in ("kind", "apiVersion") and not isinstance(value, str | None):
            why = f"json: cannot unmarshal {json_name(value)} into Go struct field .{name} of type string"
            raise _unrecognized(kind, f"couldn't get version/kind; json parse error: {why}", body)
    if kind.custom and not manifest.get("kind"):
        raise _unrecognized(kind, f"Object 'Kind' is missing in '{body.decode(errors='replace')}'", body)
    return manifest


def check_media_type(content_type: str) -> None:
    """Raises: Refused (415) for a body that is said to be neither JSON nor YAML nor protobuf."""
    named = content_type.partition(";")[0].strip().lower()
    if named not in ("", *_READ, MEDIA_TYPE):
        raise unsupported_media_type((*_READ, MEDIA_TYPE))


def _unrecognized(kind: Kind, why: str, body: bytes) -> Refused:
    said = f"the object provided is unrecognized (must be of type {kind.kind})"
    return bad_request(f"{said}: {why} ({summary(body)})")


def _why_unreadable(error: Exception, body: bytes) -> str:
    said = str(error)
    return (
        said
        if said.startswith(("yaml: ", "provided data"))
        else f"couldn't get version/kind; json parse error: {json_fault(error, body)}"
    )


def summary(body: bytes) -> str:
    """The beginning of a body, as far as it can be shown."""
    if not body:
        return "<empty>"
    shown = body.decode(errors="replace") if body[:1] == b"{" else body.hex()
    return (
        shown if len(body) <= _SHOWN_BYTES else f"{shown[: _SHOWN_BYTES if body[:1] == b'{' else 2 * _SHOWN_BYTES]} ..."
    )


def check_type(kind: Kind, manifest: Manifest) -> None:
    """The apiVersion and kind of the object must be those of the path. Raises: Refused."""
    if kind.custom:
        _check_custom_type(kind, manifest)
        return
    said_version = str(manifest.get("apiVersion") or kind.api_version)
    said_kind = str(manifest.get("kind") or kind.kind)
    if said_kind != kind.kind or said_version not in (kind.api_version, *kind.accepts):
        group, _, version = said_version.rpartition("/")
        why = _why_not(group, version, said_version, said_kind, kind, manifest)
        raise bad_request(f'{said_kind} in version "{version}" cannot be handled as a {kind.kind}: {why}')


def unregistered(api_version: str, kind_name: str) -> str:
    """Words of Kubernetes about a kind that it does not know."""
    return f'no kind "{kind_name}" is registered for version "{api_version}" in scheme "{SCHEME}"'


def _why_not(group: str, version: str, said_version: str, said_kind: str, kind: Kind, manifest: Manifest) -> str:
    """Fault of an object of another kind: it is read as that one first."""
    structure = structure_of_kind(group, version, said_kind) if is_served(said_version, said_kind) else None
    if structure is None:
        return unregistered(said_version, said_kind)
    try:
        fit(structure, manifest)
    except DecodingError as error:
        return str(error)
    package = kind.stored_group.partition(".")[0] or "core"
    return f"converting ({version}.{said_kind}) to ({package}.{kind.kind}): unknown conversion"


def decode_object(
    kind: Kind,
    manifest: Manifest,
    field_validation: str,
    warnings: Sequence[str] = (),
    known: ReadOnlyManifest | None = None,
) -> Decoded:
    """Checks types, prunes what is unknown, and cleans the metadata. Changes `manifest`. Raises: UndecodableObject.

    `warnings` are what is to be said about the text of the object, such as fields that it had twice. `known` is the
    stored object that `manifest` was made of: parts of it that are in `manifest`, untouched, are not looked at again.
    """
    manifest["apiVersion"], manifest["kind"] = kind.api_version, kind.kind
    stored = known or {}
    try:
        if kind.schema is not None:
            unknown = _fit_custom(kind.schema, manifest, stored)
        else:
            unknown = _fit_builtin(kind, manifest, stored)
    except DecodingError as error:
        raise UndecodableObject(str(error), error.conversion) from error
    said = [*warnings, *(f'unknown field "{path}"' for path in unknown)]
    if said and field_validation == "Strict":
        raise UndecodableObject(f"strict decoding error: {', '.join(said)}")
    return Decoded(manifest, said if field_validation == "Warn" else [])


def _fit_builtin(kind: Kind, manifest: Manifest, known: ReadOnlyManifest) -> list[str]:
    unknown = fit(kind.structure, manifest, known)
    _clean_metadata(manifest)
    complete(kind.structure, manifest)
    return unknown


def _fit_custom(schema: Schema, manifest: Manifest, known: ReadOnlyManifest) -> list[str]:
    metadata = structure_of("ObjectMeta")
    assert metadata is not None
    unknown = [f"metadata.{path}" for path in fit(metadata, section(manifest, "metadata"), section(known, "metadata"))]
    _clean_metadata(manifest)
    for where, resource in schema.embedded_resources(manifest):
        if resource.get("metadata") is not None:
            unknown += [f"{where}.metadata.{path}" for path in fit(metadata, resource["metadata"])]
    foreign = schema.unknown_fields(manifest)
    if foreign:
        schema.prune(manifest)
    return unknown + foreign


def _load(kind: Kind, body: bytes, content_type: str) -> Any:
    """Raises: ValueError, and Refused for protobuf of too many values, which nobody could count before."""
    if content_type.startswith(MEDIA_TYPE):
        parsed = parse_protobuf(body)
        check_body(codec.encode(parsed), large=kind.plural == "customresourcedefinitions")
        return parsed
    if "yaml" in content_type:
        return load_yaml(body)
    return msgspec.json.decode(body)


def _check_custom_type(kind: Kind, manifest: Manifest) -> None:
    if manifest.get("apiVersion", "") != kind.api_version:
        refused = bad_request(
            f"the API version in the data ({manifest.get('apiVersion', '')}) does not match "
            f"the expected API version ({kind.api_version})"
        )
        raise (
            refused_with_warnings(refused, _unknown_in_no_version(manifest)) if manifest.get("apiVersion") else refused
        )
    if manifest["kind"] != kind.kind:
        problem = Problem.invalid("kind", manifest["kind"], f"must be {kind.kind}")
        raise invalid(kind.group, str(manifest["kind"]), _name_of(manifest), [problem])


def _name_of(manifest: Manifest) -> str:
    metadata: Any = manifest.get("metadata")
    return str(metadata.get("name") or "") if isinstance(metadata, dict) else ""  # pyright: ignore


def _clean_metadata(manifest: Manifest) -> None:
    """Leaves only fields that say something. An empty list of owners does: they are to be forgotten."""
    kept = {k: v for k, v in section(manifest, "metadata").items() if v not in _EMPTY or k == "managedFields"}
    kept.pop("selfLink", None)
    manifest["metadata"] = kept


def cannot_handle(kind: Kind, unfit: UndecodableObject) -> Refused:
    """The answer to a create or update with an object that does not fit."""
    return bad_request(f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: {unfit}')


def _unknown_in_no_version(manifest: Manifest) -> list[str]:
    """A version without a schema has only what all objects have."""
    return [f'unknown field "{name}"' for name in sorted(manifest) if name not in ("apiVersion", "kind", "metadata")]
