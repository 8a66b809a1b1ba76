"""PATCH: JSON, merge and strategic merge patches, and what they make of a stored object."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import msgspec

from kubeapi import codec, jsonpatch
from kubeapi.meta import Manifest
from kubeapi.status import Problem, quoted
from kubeserver.errors import (
    Refused,
    bad_request,
    invalid,
    plain_error,
    rejected_patch,
    too_large,
    unsupported_media_type,
)
from kubeserver.kinds.kind import Kind
from kubeserver.patch import merge, strategic
from kubeserver.registry.decoding import UndecodableObject
from kubeserver.registry.duplicates import duplicate_fields
from kubeserver.serialization.json_text import json_fault, json_name
from kubeserver.serialization.yaml import load_yaml
from kubeserver.values import section

JSON_PATCH = "application/json-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
_GO_MAP = "map[string]interface {}"

_OPERATION = "jsonPatchOp"
_TEXTS = ("op", "path", "from")
_TYPE = ("apiVersion", "kind")

Apply = Callable[[Manifest], Manifest]


@dataclass(frozen=True, slots=True)
class Patch:
    """Change that a patch makes to an object; `apply` raises: Refused.

    `warnings` are what fieldValidation says about its own text. `strategic`: it is merged into the object, not into the
    text of it, which shows where the result does not fit. `shares`: what it leaves alone is in the result as the same
    objects, which are unchanged.
    """

    apply: Apply
    warnings: tuple[str, ...] = ()
    strategic: str = ""
    shares: bool = False

    def unfit(self, unfit: UndecodableObject) -> Refused:
        """The answer when its result cannot be read as its kind."""
        if self.strategic:
            return unfit_patch(unfit.conversion, self.strategic)
        return unfit_patch(str(unfit))


def parse_patch(kind: Kind, body: bytes, content_type: str, field_validation: str = "Warn") -> Patch:
    """Raises: Refused (400, 413, 415)."""
    media_type = content_type.partition(";")[0].strip().lower()
    strategic_patch = () if kind.custom else (STRATEGIC_PATCH,)
    if media_type not in (JSON_PATCH, MERGE_PATCH, *strategic_patch):
        raise unsupported_media_type((JSON_PATCH, MERGE_PATCH, APPLY_PATCH) if kind.custom else ())
    if media_type == JSON_PATCH:
        return _json_patch(kind, body, field_validation)
    repeated = () if field_validation == "Ignore" else duplicate_fields(body)
    warnings = tuple(f'duplicate field "{path}"' for path in repeated)
    if media_type == MERGE_PATCH:
        fields = _fields(_decode(body, "error decoding patch: "), "error decoding patch: ")
        if fields is None:
            raise bad_request("Invalid JSON Patch")
        return Patch(partial(_merged, kind, fields), warnings, shares=True)
    changes = _fields(_decode(body, ""), "") or {}
    return Patch(lambda target: _strategically_patched(kind, target, changes), warnings, strategic.go_text(changes))


def _merged(kind: Kind, fields: Manifest, target: Manifest) -> Manifest:
    return _typed(kind, target, cast(Manifest, merge.apply(target, fields)))


def is_apply(content_type: str) -> bool:
    return content_type.partition(";")[0].strip().lower() == APPLY_PATCH


def parse_applied(expected: tuple[str, str, str], body: bytes, name: str) -> Manifest:
    """The configuration that is applied, of the `expected` group, version and kind. Raises: Refused."""
    try:
        config = load_yaml(body)
    except ValueError as error:
        raise bad_request(f"error decoding YAML: error converting YAML to JSON: {error}") from error
    if config is not None and not isinstance(config, dict):
        said = f"json: cannot unmarshal {json_name(config)} into Go value of type {_GO_MAP}"
        raise bad_request(f"error decoding YAML: error unmarshaling JSON: while decoding JSON: {said}")
    manifest = cast(Manifest, config or {})
    if not isinstance(manifest.get("metadata", {}), dict):
        said = f"json: cannot unmarshal {json_name(manifest['metadata'])} into metadata, which is an object"
        raise bad_request(f"error decoding YAML: {said}")
    metadata = section(manifest, "metadata")
    said_group, _, said_version = str(manifest.get("apiVersion") or "").rpartition("/")
    if (said_group, said_version, manifest.get("kind")) != expected:
        raise bad_request(f"invalid object type: {said_group}/{said_version}, Kind={manifest.get('kind') or ''}")
    if metadata.get("managedFields") is not None:
        raise bad_request("metadata.managedFields must be nil")
    if metadata.get("name", name) != name:
        raise bad_request(f"the name of the object ({metadata['name']}) does not match the name on the URL ({name})")
    return {**manifest, "metadata": metadata}


def unfit_patch(why: str, shown: str = "the patched object") -> Refused:
    """The answer to a patch whose result cannot be read as its kind."""
    return invalid("", "", "", [Problem("patch", "FieldValueInvalid", f"Invalid value: {quoted(shown)}: {why}")])


def _json_patch(kind: Kind, body: bytes, field_validation: str) -> Patch:
    where = "" if field_validation == "Ignore" else "error decoding patch: "
    operations = _operations(
        _decode(body, where), where, "jsonpatch.Patch" if not where else f"[]handlers.{_OPERATION}"
    )
    warnings = () if field_validation == "Ignore" else tuple(_warnings(body, operations))
    if len(operations) > jsonpatch.MAX_OPERATIONS:
        said = f"The allowed maximum operations in a JSON patch is {jsonpatch.MAX_OPERATIONS}, got {len(operations)}"
        raise too_large(f"Request entity too large: {said}")
    return Patch(lambda target: _json_patched(kind, target, operations), warnings)


def _warnings(body: bytes, operations: list[Any]) -> Iterator[str]:
    yield from (f'json patch duplicate field "{path}"' for path in duplicate_fields(body))
    for index, operation in enumerate(operations):
        unknown = [name for name in operation or () if name not in (*_TEXTS, "value")]
        yield from (f'json patch unknown field "[{index}].{name}"' for name in unknown)


def _decode(body: bytes, where: str) -> Any:
    try:
        return msgspec.json.decode(body)
    except codec.DecodeError as error:
        raise bad_request(where + json_fault(error, body)) from error


def _fields(patch: Any, where: str) -> dict[str, Any] | None:
    if patch is not None and not isinstance(patch, dict):
        raise bad_request(f"{where}json: cannot unmarshal {json_name(patch)} into Go value of type {_GO_MAP}")
    return cast(dict[str, Any] | None, patch)


def _operations(patch: Any, where: str, go_type: str) -> list[Any]:
    """The operations, each of which is a mapping or null. Raises: Refused."""
    if patch is None:
        return []
    if not isinstance(patch, list):
        raise bad_request(f"{where}json: cannot unmarshal {json_name(patch)} into Go value of type {go_type}")
    operations = cast(list[Any], patch)
    for operation in operations:
        _check_operation(operation, where)
    return operations


def _check_operation(operation: Any, where: str) -> None:
    if operation is not None and not isinstance(operation, dict):
        into = f"Go value of type handlers.{_OPERATION}"
        raise bad_request(f"{where}json: cannot unmarshal {json_name(operation)} into {into}")
    for name in _TEXTS:
        value = cast(dict[str, Any], operation or {}).get(name)
        if value is not None and not isinstance(value, str):
            into = f"Go struct field {_OPERATION}.{name} of type string"
            raise bad_request(f"{where}json: cannot unmarshal {json_name(value)} into {into}")


def _json_patched(kind: Kind, target: Manifest, operations: list[Any]) -> Manifest:
    try:
        patched: Any = jsonpatch.apply(target, operations)
    except ValueError:
        raise rejected_patch() from None
    if not isinstance(patched, dict):
        raise rejected_patch()
    return _typed(kind, target, cast(Manifest, patched))


def _strategically_patched(kind: Kind, target: Manifest, changes: dict[str, Any]) -> Manifest:
    try:
        patched = strategic.apply(target, changes, kind.api_version, kind.kind)
    except strategic.Unmergeable as error:
        raise plain_error(str(error)) from error
    except ValueError as error:
        raise bad_request(str(error)) from error
    said = {name: value for name, value in patched.items() if name in _TYPE and not isinstance(value, str | None)}
    return {**patched, **{name: target[name] for name in _TYPE}, **said}


def _typed(kind: Kind, target: Manifest, patched: Manifest) -> Manifest:
    """A text that does not say what it is, is read as what it was, but of a custom kind. Raises: Refused."""
    if not kind.custom:
        return {**patched, **{name: target[name] for name in _TYPE if patched.get(name) is None}}
    if not isinstance(patched.get("kind"), str):
        raise unfit_patch(f"Object 'Kind' is missing in '{codec.canonical(patched).decode()}'")
    return patched
