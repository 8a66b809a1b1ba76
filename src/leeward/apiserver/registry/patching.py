"""PATCH: JSON, merge and strategic merge patches, and what they make of a stored object."""

from collections.abc import Callable
from typing import Any, cast

import msgspec

from leeward.api import codec
from leeward.api.meta import Manifest
from leeward.api.status import Problem
from leeward.apiserver.kinds.kind import Kind
from leeward.apiserver.patch import jsonpatch, merge, strategic
from leeward.apiserver.refusals import Refused, bad_request, invalid, rejected_patch, unsupported_media_type

JSON_PATCH = "application/json-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"

Apply = Callable[[Manifest], Manifest]


def parse_patch(kind: Kind, body: bytes, content_type: str) -> Apply:
    """What the patch does to an object. The result raises: Refused, as this does."""
    media_type = content_type.partition(";")[0].strip().lower()
    accepted = (JSON_PATCH, MERGE_PATCH) if kind.custom else (JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH)
    if media_type not in accepted:
        named = kind.custom or media_type == APPLY_PATCH
        raise unsupported_media_type(accepted) if named else unsupported_media_type()
    patch = _decode(body)
    if media_type == JSON_PATCH:
        return lambda target: _json_patched(target, _operations(patch))
    fields = _fields(patch)
    if media_type == MERGE_PATCH:
        return lambda target: cast(Manifest, merge.apply(target, fields))
    return lambda target: _strategically_patched(kind, target, fields)


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
        raise bad_request(f"error decoding patch: json: cannot unmarshal {_json_name(patch)} into an object")
    return cast(dict[str, Any], patch)


def _operations(patch: Any) -> list[Any]:
    if not isinstance(patch, list):
        raise bad_request(f"error decoding patch: json: cannot unmarshal {_json_name(patch)} into a list of operations")
    return cast(list[Any], patch)


def _json_patched(target: Manifest, operations: list[Any]) -> Manifest:
    try:
        return jsonpatch.apply(target, operations)
    except ValueError as error:
        raise rejected_patch() from error


def _strategically_patched(kind: Kind, target: Manifest, fields: dict[str, Any]) -> Manifest:
    try:
        return strategic.apply(target, fields, kind.api_version, kind.kind)
    except ValueError as error:
        raise bad_request(str(error)) from error


def _json_name(value: Any) -> str:
    match value:
        case list():
            return "array"
        case str():
            return "string"
        case None:
            return "null"
        case bool():
            return "bool"
        case _:
            return "number"
