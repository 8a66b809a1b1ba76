"""ConfigMaps and Secrets: defaults, and which keys and contents they may have."""

import base64
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kubeapi.codec import DecodeError, decode_any
from kubeapi.diff import is_equal
from kubeapi.meta import Manifest
from kubeapi.status import Problem
from kubeserver.kinds.metadata import too_long
from kubeserver.kinds.pod_rules.texts import config_key, named
from kubeserver.serialization.json_text import json_fault, json_name
from kubeserver.values import section

MAX_DATA_BYTES = 1024 * 1024
TOKEN_TYPE = "kubernetes.io/service-account-token"
ACCOUNT_ANNOTATION = "kubernetes.io/service-account.name"
_HIDDEN = "<secret contents redacted>"
_REQUIRED_KEYS: Mapping[str, Sequence[str]] = {
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
}
_DOCKER_KEYS = {
    "kubernetes.io/dockerconfigjson": ".dockerconfigjson",
    "kubernetes.io/dockercfg": ".dockercfg",
}


def default_config_map(manifest: Manifest) -> None:
    _drop_empty(manifest, ("data", "binaryData"))


def _drop_empty(manifest: Manifest, fields: Sequence[str]) -> None:
    for field in fields:
        if field in manifest and not manifest[field]:
            del manifest[field]


def default_secret(manifest: Manifest) -> None:
    """`stringData` is for writing only: it becomes `data`."""
    texts: Mapping[str, str] = manifest.pop("stringData", None) or {}
    if texts:
        encoded = {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()}
        manifest["data"] = {**section(manifest, "data"), **encoded}
    _drop_empty(manifest, ("data",))
    if not manifest.get("type"):
        manifest["type"] = "Opaque"


def validate_config_map(manifest: Manifest, old: Manifest | None) -> list[Problem]:
    data: Mapping[str, str] = manifest.get("data") or {}
    binary: Mapping[str, str] = manifest.get("binaryData") or {}
    problems: list[Problem] = []
    for key in data:
        problems += named(config_key, key, f"data[{key}]")
        if key in binary:
            problems.append(Problem.invalid(f"data[{key}]", key, "duplicate of key present in binaryData"))
    problems += [problem for key in binary for problem in named(config_key, key, f"binaryData[{key}]")]
    if _size(data) + _size(binary) > MAX_DATA_BYTES:
        problems.append(too_long("[]", MAX_DATA_BYTES))
    return [*problems, *_immutable_problems(manifest, old, ("data", "binaryData"))]


def validate_secret(manifest: Manifest, old: Manifest | None) -> list[Problem]:
    data: Mapping[str, str] = manifest.get("data") or {}
    problems = [problem for key in data for problem in named(config_key, key, f"data[{key}]")]
    if _size(data) * 3 // 4 > MAX_DATA_BYTES:
        problems.append(too_long("data", MAX_DATA_BYTES))
    problems += _type_problems(manifest, data)
    if old is not None and manifest["type"] != old.get("type"):
        problems.append(Problem.invalid("type", manifest["type"], "field is immutable"))
    return [*problems, *_immutable_problems(manifest, old, ("data",))]


def _type_problems(manifest: Manifest, data: Mapping[str, str]) -> Iterator[Problem]:
    """Problems of a Secret without what one of its type must have."""
    of_type = manifest["type"]
    if of_type == TOKEN_TYPE:
        if not section(manifest["metadata"], "annotations").get(ACCOUNT_ANNOTATION):
            yield Problem.required(f"metadata.annotations[{ACCOUNT_ANNOTATION}]")
    elif of_type in _DOCKER_KEYS:
        yield from _docker_problems(data, _DOCKER_KEYS[of_type])
    elif of_type == "kubernetes.io/basic-auth":
        if not {"username", "password"} & data.keys():
            yield from (Problem.required(f"data[{key}]") for key in ("username", "password"))
    else:
        yield from (Problem.required(f"data[{key}]") for key in _REQUIRED_KEYS.get(of_type, ()) if key not in data)


def _docker_problems(data: Mapping[str, str], key: str) -> Iterator[Problem]:
    """Credentials of registries are JSON; what is wrong with them is told without showing them."""
    if key not in data:
        yield Problem.required(f"data[{key}]")
        return
    text = base64.b64decode(data[key])
    try:
        read: Any = decode_any(text)
    except DecodeError as error:
        yield Problem.invalid(f"data[{key}]", _HIDDEN, json_fault(error, text))
        return
    if not isinstance(read, dict):
        said = f"json: cannot unmarshal {json_name(read)} into Go value of type map[string]interface {{}}"
        yield Problem.invalid(f"data[{key}]", _HIDDEN, said)


def _immutable_problems(manifest: Manifest, old: Manifest | None, fields: Sequence[str]) -> Iterator[Problem]:
    if old is None or not old.get("immutable"):
        return
    said = "field is immutable when `immutable` is set"
    if not manifest.get("immutable"):
        yield Problem.forbidden("immutable", said)
    yield from (Problem.forbidden(f, said) for f in fields if not is_equal(section(manifest, f), section(old, f)))


def _size(data: Mapping[str, str]) -> int:
    return sum(len(value.encode()) for value in data.values())
