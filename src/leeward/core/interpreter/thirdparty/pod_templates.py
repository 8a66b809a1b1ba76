"""Pod templates inside of other kinds: checked before they are read, since no API server has seen them yet."""

from collections.abc import Mapping
from typing import Any, NamedTuple, cast

from kubeapi.codec import DecodeError, from_wire
from kubeapi.meta import Manifest, ReadOnlyManifest
from kubeapi.quantity import parse_quantity
from kubeapi.unstructured import mapping_at, value_at
from leeward.api.work import ComponentReplicaRequirements, NodeClaim, ReplicaRequirements
from leeward.core.interpreter.pod_template import replica_requirements
from leeward.core.interpreter.rules import InterpretationError

Path = tuple[str, ...]


class _Each(NamedTuple):
    """The shape of a mapping with any keys: that of its values."""

    shape: Any


_QUANTITY = "a quantity"
_NAMED = {"name": str, "key": str, "secretName": str, "claimName": str}
_CONTAINER = {
    "name": str,
    "image": str,
    "command": [str],
    "args": [str],
    "env": [{"name": str, "value": str, "valueFrom": {"configMapKeyRef": _NAMED, "secretKeyRef": _NAMED}}],
    "envFrom": [{"configMapRef": _NAMED, "secretRef": _NAMED}],
    "resources": {"requests": _Each(_QUANTITY), "limits": _Each(_QUANTITY)},
}
_POD_TEMPLATE = {
    "metadata": {"labels": _Each(str), "annotations": _Each(str)},
    "spec": {
        "containers": [_CONTAINER],
        "initContainers": [_CONTAINER],
        "volumes": [{"name": str, "configMap": _NAMED, "secret": _NAMED, "persistentVolumeClaim": _NAMED}],
        "imagePullSecrets": [_NAMED],
        "serviceAccountName": str,
        "priorityClassName": str,
        "restartPolicy": str,
        "nodeSelector": _Each(str),
        "overhead": _Each(_QUANTITY),
    },
}
"""The fields of a pod template that are read, and of what type each must be."""


def without_nulls(value: Any) -> Any:
    """Plain JSON values without what is null, which Kubernetes takes for absent."""
    if isinstance(value, Mapping):
        members = cast(Mapping[str, Any], value)
        return {key: without_nulls(item) for key, item in members.items() if item is not None}
    if isinstance(value, list | tuple):
        return [without_nulls(item) for item in cast("list[Any]", value) if item is not None]
    return value


def pod_template(manifest: ReadOnlyManifest, *path: str) -> Manifest:
    """The pod template at the path. Raises: InterpretationError when there is none, or it is not of the type."""
    found = value_at(manifest, *path)
    if not isinstance(found, dict):
        raise InterpretationError(f"{'.'.join(path)} is missing: it must be a pod template")
    template: Manifest = without_nulls(found)
    _check(template, _POD_TEMPLATE, ".".join(path))
    return template


def _check(value: Any, shape: Any, field: str) -> None:
    """Raises: InterpretationError that names the first field which is not of its type."""
    if shape is str:
        if not isinstance(value, str):
            raise InterpretationError(f"{field} must be a text, not {value!r}")
    elif shape == _QUANTITY:
        try:
            parse_quantity(value)
        except ValueError as error:
            raise InterpretationError(f"{field}: {error}") from error
    elif isinstance(shape, list):
        if value and not isinstance(value, list):
            raise InterpretationError(f"{field} must be a list")
        (of_each,) = cast("list[Any]", shape)
        for place, each in enumerate(cast("list[Any]", value or ())):
            _check(each, of_each, f"{field}[{place}]")
    else:
        _check_fields(value, shape, field)


def _check_fields(value: Any, shape: Any, field: str) -> None:
    if value and not isinstance(value, dict):
        raise InterpretationError(f"{field} must be a mapping")
    for name, each in cast("dict[str, Any]", value or {}).items():
        of_each = shape.shape if isinstance(shape, _Each) else shape.get(name)
        if of_each is not None:
            _check(each, of_each, f"{field}.{name}")


def requirements(template: ReadOnlyManifest) -> ReplicaRequirements | None:
    """Requirements of one pod of the template, None when that is nothing. Raises: InterpretationError."""
    try:
        return replica_requirements(mapping_at(template, "spec"))
    except (DecodeError, ValueError) as error:
        raise InterpretationError(str(error)) from error


def component_requirements(template: ReadOnlyManifest) -> ComponentReplicaRequirements | None:
    """Requirements as `requirements`, for one of several components. Raises: InterpretationError."""
    found = requirements(template)
    if found is None:
        return None
    return ComponentReplicaRequirements(node_claim=found.node_claim, resource_request=found.resource_request)


def node_claim(spec: ReadOnlyManifest) -> NodeClaim | None:
    """Nodes that pods may run on, of what has `nodeSelector` and `tolerations`; None for any.
    Raises: InterpretationError."""
    parts = {name: spec[name] for name in ("nodeSelector", "tolerations") if spec.get(name)}
    try:
        return from_wire(without_nulls(parts), NodeClaim) if parts else None
    except DecodeError as error:
        raise InterpretationError(str(error)) from error
