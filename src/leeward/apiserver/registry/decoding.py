"""From a request's body to an object that the rest may rely on: parsed, of the right kind, of the right types.

Unknown fields of custom kinds are pruned here, and reported as `fieldValidation` asks for.
"""

from dataclasses import dataclass, field
from typing import Any, cast

import msgspec

from leeward.api import codec
from leeward.api.meta import Manifest
from leeward.api.status import Problem
from leeward.apiserver.kinds.kind import Kind
from leeward.apiserver.protobuf import MEDIA_TYPE, UnknownMessage, parse_protobuf
from leeward.apiserver.refusals import Refused, bad_request, invalid, unsupported_media_type
from leeward.apiserver.values import section

_METADATA_FIELDS = frozenset(
    (
        "name",
        "generateName",
        "namespace",
        "uid",
        "resourceVersion",
        "generation",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "labels",
        "annotations",
        "finalizers",
        "ownerReferences",
    )
)
_METADATA_DROPPED = frozenset(("managedFields", "selfLink"))
_EMPTY: tuple[object, ...] = ({}, [], "", None)


class _OwnerShape(msgspec.Struct, rename="camel", gc=False):
    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class _MetadataShape(msgspec.Struct, rename="camel", gc=False):
    name: str | None = None
    generate_name: str | None = None
    namespace: str | None = None
    uid: str | None = None
    resource_version: str | None = None
    generation: int | None = None
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: int | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    finalizers: list[str] | None = None
    owner_references: list[_OwnerShape] | None = None


_READ = ("application/json", "application/yaml")


class Unfit(Exception):
    """The object cannot be read as its kind; the message names the field."""


@dataclass(slots=True)
class Decoded:
    """An object, and the warnings that go with the answer."""

    manifest: Manifest
    warnings: list[str] = field(default_factory=list[str])


def parse_body(kind: Kind, body: bytes, content_type: str) -> Manifest:
    """The body as a mapping; JSON unless the client says YAML. Raises: Refused (400, 415)."""
    try:
        parsed: Any = _load(body, content_type)
    except UnknownMessage as error:
        raise unsupported_media_type(_READ) from error
    except (codec.DecodeError, ValueError) as error:
        shown = body[:100].decode(errors="replace") or "<empty>"
        reason = "json parse error: unexpected end of JSON input" if _is_cut(error) else str(error)
        said = f"the object provided is unrecognized (must be of type {kind.kind}): couldn't get version/kind; {reason}"
        raise bad_request(f"{said} ({shown})") from error
    if not isinstance(parsed, dict):
        said = f"the object provided is unrecognized (must be of type {kind.kind}): it is a {type(parsed).__name__}"
        raise bad_request(f"{said}, not an object")
    return cast(Manifest, parsed)


def check_type(kind: Kind, manifest: Manifest) -> None:
    """The apiVersion and kind of the object must be those of the path. Raises: Refused."""
    if kind.custom:
        _check_custom_type(kind, manifest)
        return
    said_version = manifest.get("apiVersion") or kind.api_version
    said_kind = manifest.get("kind") or kind.kind
    if (said_version, said_kind) != (kind.api_version, kind.kind):
        raise bad_request(
            f'{said_kind} in version "{kind.version}" cannot be handled as a {kind.kind}: '
            f'no kind "{said_kind}" is registered for version "{said_version}"'
        )


def decode_object(kind: Kind, manifest: Manifest, field_validation: str) -> Decoded:
    """Checks types, prunes what is unknown, and cleans the metadata. Changes `manifest`. Raises: Unfit."""
    decoded = Decoded(manifest)
    manifest["apiVersion"], manifest["kind"] = kind.api_version, kind.kind
    unknown = _clean_metadata(manifest)
    if kind.schema is not None:
        unknown += kind.schema.unknown_fields(manifest)
        kind.schema.prune(manifest)
    else:
        _drop_nulls(manifest)
        _check_shape(manifest, kind.shape)
    if unknown and field_validation == "Strict":
        said = ", ".join(f'unknown field "{path}"' for path in unknown)
        raise Unfit(f"strict decoding error: {said}")
    if field_validation == "Warn":
        decoded.warnings += [f'unknown field "{path}"' for path in unknown]
    return decoded


def _load(body: bytes, content_type: str) -> Any:
    if content_type.startswith(MEDIA_TYPE):
        return parse_protobuf(body)
    if "yaml" in content_type:
        documents = list(codec.parse_yaml(body))
        if len(documents) != 1:
            raise ValueError("the body must be exactly one YAML document")
        return documents[0]
    return msgspec.json.decode(body)


def _is_cut(error: Exception) -> bool:
    return "truncated" in str(error)


def _check_custom_type(kind: Kind, manifest: Manifest) -> None:
    if not manifest.get("kind"):
        raise bad_request(
            f"the object provided is unrecognized (must be of type {kind.kind}): Object 'Kind' is missing"
        )
    if manifest.get("apiVersion", "") != kind.api_version:
        raise bad_request(
            f"the API version in the data ({manifest.get('apiVersion', '')}) does not match "
            f"the expected API version ({kind.api_version})"
        )
    if manifest["kind"] != kind.kind:
        problem = Problem.invalid("kind", manifest["kind"], f"must be {kind.kind}")
        raise invalid(kind.group, str(manifest["kind"]), _name_of(manifest), [problem])


def _name_of(manifest: Manifest) -> str:
    metadata: Any = manifest.get("metadata")
    return str(metadata.get("name") or "") if isinstance(metadata, dict) else ""  # pyright: ignore


def _clean_metadata(manifest: Manifest) -> list[str]:
    """Leaves only fields of `metav1.ObjectMeta` that say something; returns the unknown ones."""
    metadata = section(manifest, "metadata")
    try:
        msgspec.convert(metadata, _MetadataShape)
    except msgspec.ValidationError as error:
        raise Unfit(_where(str(error), "metadata")) from error
    manifest["metadata"] = {k: v for k, v in metadata.items() if k in _METADATA_FIELDS and v not in _EMPTY}
    return [f"metadata.{k}" for k in metadata if k not in _METADATA_FIELDS and k not in _METADATA_DROPPED]


def _check_shape(manifest: Manifest, shape: Any) -> None:
    try:
        msgspec.convert(manifest, shape)
    except msgspec.ValidationError as error:
        raise Unfit(_where(str(error), "")) from error


def _where(message: str, root: str) -> str:
    """msgspec's `Expected X, got Y - at `$.a.b`` as `json: cannot unmarshal Y into field a.b of type X`."""
    said, _, path = message.partition(" - at ")
    path = ".".join(part for part in (root, path.strip("`").removeprefix("$").removeprefix(".")) if part)
    wanted, got = said.removeprefix("Expected ").split(", got ") if ", got " in said else (said, "")
    if not got:
        return f"{path}: {said}"
    return f"json: cannot unmarshal {got.strip('`')} into field {path} of type {wanted.replace('`', '')}"


def cannot_handle(kind: Kind, unfit: Unfit) -> Refused:
    """The answer to a create or update with an object that does not fit."""
    return bad_request(f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: {unfit}')


def _drop_nulls(value: Any) -> None:
    """For built-in kinds null is the same as absent."""
    if isinstance(value, dict):
        mapping = cast(dict[str, Any], value)
        for key in [key for key, item in mapping.items() if item is None]:
            del mapping[key]
        for item in mapping.values():
            _drop_nulls(item)
    elif isinstance(value, list):
        for item in cast(list[Any], value):
            _drop_nulls(item)
