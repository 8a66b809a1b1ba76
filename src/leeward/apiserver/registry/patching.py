"""PATCH: JSON, merge and strategic merge patches, and what they make of a stored object."""

from collections.abc import Callable
from typing import Any, cast

import msgspec

from leeward.api import codec
from leeward.api.meta import Manifest
from leeward.api.status import Problem
from leeward.apiserver.kinds.kind import Kind
from leeward.apiserver.patch import jsonpatch, merge, strategic
from leeward.apiserver.refusals import (
    Refused,
    bad_request,
    invalid,
    plain_error,
    rejected_patch,
    unsupported_media_type,
)
from leeward.apiserver.registry.fitting import json_name
from leeward.apiserver.values import section
from leeward.apiserver.yaml import load_yaml

JSON_PATCH = "application/json-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
_GO_MAP = "map[string]interface {}"

Apply = Callable[[Manifest], Manifest]


def parse_patch(kind: Kind, body: bytes, content_type: str) -> Apply:
    """What the patch does to an object. The result raises: Refused, as this does."""
    media_type = content_type.partition(";")[0].strip().lower()
    strategic_patch = () if kind.custom else (STRATEGIC_PATCH,)
    if media_type not in (JSON_PATCH, MERGE_PATCH, *strategic_patch):
        raise unsupported_media_type((JSON_PATCH, MERGE_PATCH, APPLY_PATCH) if kind.custom else ())
    patch = _decode(body)
    if media_type == JSON_PATCH:
        return lambda target: _json_patched(target, _operations(patch))
    fields = _fields(patch)
    if media_type == MERGE_PATCH:
        return lambda target: cast(Manifest, merge.apply(target, fields))
    return lambda target: _strategically_patched(kind, target, fields)


def is_apply(content_type: str) -> bool:
    return content_type.partition(";")[0].strip().lower() == APPLY_PATCH


def parse_applied(expected: tuple[str, str, str], body: bytes, name: str) -> Manifest:
    """The configuration that is applied, of the `expected` group, version and kind. Raises: Refused."""
    try:
        config = load_yaml(body)
    except ValueError as error:
        raise bad_request(f"error decoding YAML: error converting YAML to JSON: {error}") from error
    if not isinstance(config, dict):
        raise bad_request(
            f"error decoding YAML: json: cannot unmarshal {json_name(config)} into Go value of type {_GO_MAP}"
        )
    manifest = cast(Manifest, config)
    if not isinstance(manifest.get("metadata", {}), dict):
        said = f"json: cannot unmarshal {json_name(manifest['metadata'])} into metadata, which is an object"
        raise bad_request(f"error decoding YAML: {said}")
    metadata = section(manifest, "metadata")
    said_group, _, said_version = str(manifest.get("apiVersion") or "").rpartition("/")
    if (said_group, said_version, manifest.get("kind")) != expected:
        raise bad_request(f"invalid object type: {said_group}/{said_version}, Kind={manifest.get('kind') or ''}")
    if metadata.get("managedFields"):
        raise bad_request("metadata.managedFields must be nil")
    if metadata.get("name", name) != name:
        raise bad_request(f"the name of the object ({metadata['name']}) does not match the name on the URL ({name})")
    return {**manifest, "metadata": {**metadata, "name": name}}


def unfit_patch(why: str) -> Refused:
    """The answer to a patch whose result cannot be read as its kind."""
    return invalid("", "", "", [Problem("patch", "FieldValueInvalid", f'Invalid value: "the patched object": {why}')])


def _decode(body: bytes) -> Any:
    try:
        return msgspec.json.decode(body)
    except codec.DecodeError as error:
        cut = "truncated" in str(error)
        raise bad_request(f"error decoding patch: {'unexpected end of JSON input' if cut else error}") from error


def _fields(patch: Any) -> dict[str, Any]:
    if not isinstance(patch, dict):
        raise bad_request(
            f"error decoding patch: json: cannot unmarshal {json_name(patch)} into Go value of type {_GO_MAP}"
        )
    return cast(dict[str, Any], patch)


def _operations(patch: Any) -> list[Any]:
    if not isinstance(patch, list):
        raise bad_request(
            f"error decoding patch: json: cannot unmarshal {json_name(patch)} into Go value of type jsonpatch.Patch"
        )
    return cast(list[Any], patch)


def _json_patched(target: Manifest, operations: list[Any]) -> Manifest:
    try:
        return jsonpatch.apply(target, operations)
    except ValueError as error:
        raise rejected_patch(str(error)) from error


def _strategically_patched(kind: Kind, target: Manifest, fields: dict[str, Any]) -> Manifest:
    try:
        return strategic.apply(target, fields, kind.api_version, kind.kind)
    except strategic.Unmergeable as error:
        raise plain_error(str(error)) from error
    except ValueError as error:
        raise bad_request(str(error)) from error
