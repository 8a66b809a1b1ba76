"""Reads the protobuf bodies that kubectl's imperative commands send (`kubectl create configmap`, `kubectl auth can-i`).

A body is an envelope that names the kind, around a message without field names; the tables below give the names back,
for the kinds that kubectl creates by itself. What the tables do not know is refused, never dropped. Answers are always
JSON: every client that sends protobuf reads JSON, too.
"""

import base64
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from leeward.api.meta import Manifest

MEDIA_TYPE = "application/vnd.kubernetes.protobuf"
_MAGIC = b"k8s\x00"
_VARINT, _FIXED_64, _BYTES, _FIXED_32 = 0, 1, 2, 5


class UnknownMessage(ValueError):
    """The body is of a kind, or has a field, that the tables do not know."""


@dataclass(frozen=True, slots=True)
class Field:
    """How one field is read. `kind` is text, bytes, int, bool, message, map, or either (an int or a string)."""

    name: str
    kind: str = "text"
    repeated: bool = False
    optional: bool = False
    """A zero was written on purpose, and stays."""
    message: "Message" = field(default_factory=dict[int, "Field"])


Message = Mapping[int, Field]


def _texts(**numbers: int) -> dict[int, Field]:
    return {number: Field(name) for name, number in numbers.items()}


def _sub(name: str, message: Message, *, repeated: bool = False) -> Field:
    return Field(name, "message", repeated, message=message)


def _map(name: str, of: str = "text") -> Field:
    return Field(name, "map", message={1: Field("key"), 2: Field("value", of)})


_META: Message = _texts(name=1, generateName=2, namespace=3, uid=5, resourceVersion=6) | {
    7: Field("generation", "int"),
    8: Field("creationTimestamp", "time"),
    11: _map("labels"),
    12: _map("annotations"),
    13: _sub("ownerReferences", _texts(kind=1, name=3, uid=4, apiVersion=5), repeated=True),
    14: Field("finalizers", repeated=True),
}
_METADATA = _sub("metadata", _META)
_REQUIREMENT: Message = _texts(key=1, operator=2) | {3: Field("values", repeated=True)}
_SELECTOR: Message = {1: _map("matchLabels"), 2: _sub("matchExpressions", _REQUIREMENT, repeated=True)}
_PORT: Message = _texts(name=1, protocol=4, hostIP=5) | {2: Field("hostPort", "int"), 3: Field("containerPort", "int")}
_CONTAINER: Message = _texts(
    name=1, image=2, workingDir=5, terminationMessagePath=13, imagePullPolicy=14, terminationMessagePolicy=20
) | {
    3: Field("command", repeated=True),
    4: Field("args", repeated=True),
    6: _sub("ports", _PORT, repeated=True),
    7: _sub("env", _texts(name=1, value=2), repeated=True),
    8: _sub("resources", {}),
    16: Field("stdin", "bool"),
    17: Field("stdinOnce", "bool"),
    18: Field("tty", "bool"),
}
_POD_SPEC: Message = _texts(
    restartPolicy=3, dnsPolicy=6, serviceAccountName=8, serviceAccount=9, nodeName=10, schedulerName=19
) | {
    2: _sub("containers", _CONTAINER, repeated=True),
    4: Field("terminationGracePeriodSeconds", "int", optional=True),
    7: _map("nodeSelector"),
    11: Field("hostNetwork", "bool"),
    12: Field("hostPID", "bool"),
    13: Field("hostIPC", "bool"),
}
_TEMPLATE: Message = {1: _METADATA, 2: _sub("spec", _POD_SPEC)}
_DEPLOYMENT_SPEC: Message = {
    1: Field("replicas", "int", optional=True),
    2: _sub("selector", _SELECTOR),
    3: _sub("template", _TEMPLATE),
    4: _sub("strategy", _texts(type=1)),
    5: Field("minReadySeconds", "int"),
    7: Field("paused", "bool"),
}
_JOB_SPEC: Message = {
    1: Field("parallelism", "int", optional=True),
    2: Field("completions", "int", optional=True),
    6: _sub("template", _TEMPLATE),
    7: Field("backoffLimit", "int", optional=True),
    8: Field("ttlSecondsAfterFinished", "int", optional=True),
}
_CRON_JOB_SPEC: Message = _texts(schedule=1, concurrencyPolicy=3) | {
    5: _sub("jobTemplate", {1: _METADATA, 2: _sub("spec", _JOB_SPEC)})
}
_SERVICE_PORT: Message = _texts(name=1, protocol=2) | {
    3: Field("port", "int"),
    4: Field("targetPort", "either"),
    5: Field("nodePort", "int"),
}
_SERVICE_SPEC: Message = _texts(clusterIP=3, type=4, sessionAffinity=7, externalName=10) | {
    1: _sub("ports", _SERVICE_PORT, repeated=True),
    2: _map("selector"),
    13: Field("publishNotReadyAddresses", "bool"),
}
_RULE: Message = {
    1: Field("verbs", repeated=True),
    2: Field("apiGroups", repeated=True),
    3: Field("resources", repeated=True),
    4: Field("resourceNames", repeated=True),
    5: Field("nonResourceURLs", repeated=True),
}
_ROLE: Message = {1: _METADATA, 2: _sub("rules", _RULE, repeated=True)}
_BINDING: Message = {
    1: _METADATA,
    2: _sub("subjects", _texts(kind=1, apiGroup=2, name=3, namespace=4), repeated=True),
    3: _sub("roleRef", _texts(apiGroup=1, kind=2, name=3)),
}
_RESOURCE_ATTRIBUTES = _texts(namespace=1, verb=2, group=3, version=4, resource=5, subresource=6, name=7)
_ACCESS_SPEC: Message = {
    1: _sub("resourceAttributes", _RESOURCE_ATTRIBUTES),
    2: _sub("nonResourceAttributes", _texts(path=1, verb=2)),
}
_TOKEN_SPEC: Message = {
    1: Field("audiences", repeated=True),
    3: _sub("boundObjectRef", _texts(kind=1, apiVersion=2, name=3, uid=4)),
    4: Field("expirationSeconds", "int", optional=True),
}
_TOKEN_STATUS: Message = _texts(token=1) | {2: Field("expirationTimestamp", "time")}

_KINDS: Mapping[tuple[str, str], Message] = {
    ("v1", "Namespace"): {1: _METADATA, 2: _sub("spec", {1: Field("finalizers", repeated=True)})},
    ("v1", "ConfigMap"): {
        1: _METADATA,
        2: _map("data"),
        3: _map("binaryData", "bytes"),
        4: Field("immutable", "bool", optional=True),
    },
    ("v1", "Secret"): {
        1: _METADATA,
        2: _map("data", "bytes"),
        3: Field("type"),
        4: _map("stringData"),
        5: Field("immutable", "bool", optional=True),
    },
    ("v1", "ServiceAccount"): {1: _METADATA},
    ("v1", "Service"): {1: _METADATA, 2: _sub("spec", _SERVICE_SPEC)},
    ("apps/v1", "Deployment"): {1: _METADATA, 2: _sub("spec", _DEPLOYMENT_SPEC)},
    ("batch/v1", "Job"): {1: _METADATA, 2: _sub("spec", _JOB_SPEC)},
    ("batch/v1", "CronJob"): {1: _METADATA, 2: _sub("spec", _CRON_JOB_SPEC)},
    ("rbac.authorization.k8s.io/v1", "Role"): _ROLE,
    ("rbac.authorization.k8s.io/v1", "ClusterRole"): _ROLE,
    ("rbac.authorization.k8s.io/v1", "RoleBinding"): _BINDING,
    ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"): _BINDING,
    ("authentication.k8s.io/v1", "SelfSubjectReview"): {1: _METADATA},
    ("authentication.k8s.io/v1", "TokenRequest"): {
        1: _METADATA,
        2: _sub("spec", _TOKEN_SPEC),
        3: _sub("status", _TOKEN_STATUS),
    },
    ("authorization.k8s.io/v1", "SelfSubjectRulesReview"): {1: _METADATA, 2: _sub("spec", _texts(namespace=1))},
    ("authorization.k8s.io/v1", "SelfSubjectAccessReview"): {1: _METADATA, 2: _sub("spec", _ACCESS_SPEC)},
}


def parse_protobuf(body: bytes) -> Manifest:
    """Raises: ValueError for bytes that are no envelope; UnknownMessage for what only JSON can say here."""
    if not body.startswith(_MAGIC):
        raise ValueError("the body does not begin as a Kubernetes protobuf message does")
    envelope = dict(_fields(body[len(_MAGIC) :]))
    type_meta = {number: _text(value) for number, value in _fields(_bytes(envelope.get(1, b"")))}
    api_version, kind = type_meta.get(1, ""), type_meta.get(2, "")
    message = _KINDS.get((api_version, kind))
    if message is None:
        raise UnknownMessage(f"{kind} in {api_version} is read as JSON or YAML only")
    return {"apiVersion": api_version, "kind": kind, **_read(message, _bytes(envelope.get(2, b"")), kind)}


def _read(message: Message, data: bytes, path: str) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for number, raw in _fields(data):
        known = message.get(number)
        if known is None:
            _check_empty(raw, f"{path}, field {number}")
            continue
        value = _value(known, raw, f"{path}.{known.name}")
        if known.kind == "map":
            result.setdefault(known.name, {}).update(value)
        elif known.repeated:
            result.setdefault(known.name, []).append(value)
        elif known.optional or value not in ("", 0, False, {}, None):
            result[known.name] = value
    return result


def _value(known: Field, raw: int | bytes, path: str) -> Any:
    match known.kind:
        case "text":
            return _text(raw)
        case "bytes":
            return base64.b64encode(_bytes(raw)).decode()
        case "int":
            return _signed(raw)
        case "bool":
            return bool(raw)
        case "message":
            return _read(known.message, _bytes(raw), path)
        case "map":
            entry = dict(_fields(_bytes(raw)))
            return {_text(entry.get(1, b"")): _value(known.message[2], entry.get(2, b""), path)}
        case "either":
            parts = dict(_fields(_bytes(raw)))
            return _text(parts.get(3, b"")) if parts.get(1) else _signed(parts.get(2, 0))
        case _:
            _check_empty(raw, path)
            return None


def _check_empty(raw: int | bytes, where: str) -> None:
    """Go writes the empty values of unset structs; anything else would be lost."""
    if not _is_empty(raw):
        raise UnknownMessage(f"{where} is read as JSON or YAML only")


def _is_empty(value: int | bytes) -> bool:
    if isinstance(value, int):
        return not value
    try:
        return all(_is_empty(inner) for _, inner in _fields(value))
    except ValueError:
        return False


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """The numbered values of a message. Raises: ValueError when it is cut or garbled."""
    position = 0
    while position < len(data):
        tag, position = _varint(data, position)
        number, wire_type = tag >> 3, tag & 7
        if wire_type == _VARINT:
            value, position = _varint(data, position)
            yield number, value
            continue
        if wire_type == _BYTES:
            size, position = _varint(data, position)
        elif wire_type in (_FIXED_64, _FIXED_32):
            size = 8 if wire_type == _FIXED_64 else 4
        else:
            raise ValueError(f"field {number} has the unknown wire type {wire_type}")
        if position + size > len(data):
            raise ValueError(f"field {number} is cut off")
        yield number, data[position : position + size]
        position += size


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if position >= len(data) or shift > 63:
            raise ValueError("a number is cut off")
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7


def _signed(raw: int | bytes) -> int:
    number = raw if isinstance(raw, int) else int.from_bytes(raw, "little")
    return number - (1 << 64) if number >= 1 << 63 else number


def _bytes(raw: int | bytes) -> bytes:
    if isinstance(raw, int):
        raise ValueError("a number stands where a message is expected")
    return raw


def _text(raw: int | bytes) -> str:
    return _bytes(raw).decode()
