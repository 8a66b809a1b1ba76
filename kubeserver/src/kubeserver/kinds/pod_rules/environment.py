"""Environment variables of containers, and where their values come from."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from kubeapi.status import Problem
from kubeserver.kinds.pod_rules.texts import config_key, named, unknown
from kubeserver.names import dns_subdomain, qualified_name
from kubeserver.values import entries, section

Volumes = Mapping[str, Mapping[str, Any]]
_VARIABLE = re.compile(r"[ -<>-~]+")
_FIELDS = (
    "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName",
    "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs",
)  # fmt: skip
_RESOURCES = (
    "limits.cpu", "limits.ephemeral-storage", "limits.memory",
    "requests.cpu", "requests.ephemeral-storage", "requests.memory",
)  # fmt: skip
_HUGE_PAGES = ("limits.hugepages-", "requests.hugepages-")
_SUBSCRIPTED = re.compile(r"(metadata\.annotations|metadata\.labels)\['(.*)'\]")
_WHOLE = ("metadata.annotations", "metadata.labels")
_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
_TOO_MANY = "may not have more than one field specified at a time"


def variable_problems(container: Mapping[str, Any], volumes: Volumes, path: str) -> Iterator[Problem]:
    for index, variable in enumerate(entries(container, "env")):
        where, name = f"{path}.env[{index}]", variable.get("name", "")
        if not name:
            yield Problem.required(f"{where}.name")
        else:
            yield from named(_variable_name, name, f"{where}.name")
        if "valueFrom" in variable:
            yield from _value_problems(variable, volumes, f"{where}.valueFrom")
    for index, source in enumerate(entries(container, "envFrom")):
        yield from _import_problems(source, f"{path}.envFrom", index)


def _variable_name(name: str) -> list[str]:
    if _VARIABLE.fullmatch(name):
        return []
    return ["a valid environment variable name must consist only of printable ASCII characters other than '='"]


def _value_problems(variable: Mapping[str, Any], volumes: Volumes, path: str) -> Iterator[Problem]:
    source = section(variable, "valueFrom")
    given = [name for name in _SOURCES if name in source]
    for name in given:
        where, reference = f"{path}.{name}", section(source, name)
        if name == "fieldRef":
            yield from field_problems(reference, where, _FIELDS)
        elif name == "resourceFieldRef":
            yield from resource_field_problems(reference, where)
        elif name == "fileKeyRef":
            yield from _file_problems(reference, volumes, where)
        else:
            yield from _key_problems(reference, where)
    if not given:
        said = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
        yield Problem.invalid(path, "", said)
    elif variable.get("value"):
        yield Problem.invalid(path, "", "may not be specified when `value` is not empty")
    elif len(given) > 1:
        yield Problem.invalid(path, "", _TOO_MANY)


def field_problems(reference: Mapping[str, Any], path: str, fields: tuple[str, ...]) -> Iterator[Problem]:
    """A field of the Pod itself, one of `fields` or a single label or annotation."""
    name = reference.get("fieldPath", "")
    if not name:
        yield Problem.required(f"{path}.fieldPath")
        return
    subscripted = _SUBSCRIPTED.fullmatch(name)
    if subscripted is not None:
        key = subscripted[2].lower() if subscripted[1] == "metadata.annotations" else subscripted[2]
        yield from named(qualified_name, key, path)
    elif name not in (*_FIELDS, *_WHOLE):
        said = f"error converting fieldPath: field label not supported: {name}"
        yield Problem.invalid(f"{path}.fieldPath", name, said)
    elif name not in fields:
        yield Problem.not_supported(f"{path}.fieldPath", name, fields)


def resource_field_problems(reference: Mapping[str, Any], path: str, *, in_volume: bool = False) -> Iterator[Problem]:
    name = reference.get("resource", "")
    if in_volume and not reference.get("containerName"):
        yield Problem.required(f"{path}.containerName")
    elif not name:
        yield Problem.required(f"{path}.resource")
    elif name not in _RESOURCES and not name.startswith(_HUGE_PAGES):
        yield Problem.not_supported(f"{path}.resource", name, _RESOURCES)


def _file_problems(reference: Mapping[str, Any], volumes: Volumes, path: str) -> Iterator[Problem]:
    """A line of a file that another container writes: beta since Kubernetes 1.35, in an emptyDir alone."""
    key, file, volume = (str(reference.get(field, "")) for field in ("key", "path", "volumeName"))
    if not key:
        yield Problem.required(f"{path}.key")
    else:
        yield from named(_variable_name, key, f"{path}.key")
    if not file:
        yield Problem.required(f"{path}.path")
    elif ".." in file.split("/"):
        yield Problem.invalid(f"{path}.path", file, "must not contain '..'")
    if not volume:
        yield Problem.required(f"{path}.volumeName")
    if volume not in volumes:
        yield unknown(f"{path}.volumeName", volume)
    elif "emptyDir" not in volumes[volume]:
        yield Problem.invalid(f"{path}.volumeName", volume, "referenced volume must be of type emptyDir")


def _key_problems(reference: Mapping[str, Any], path: str) -> Iterator[Problem]:
    yield from named(dns_subdomain, reference.get("name", ""), f"{path}.name")
    if not reference.get("key"):
        yield Problem.required(f"{path}.key")
    else:
        yield from named(config_key, reference["key"], f"{path}.key")


def _import_problems(source: Mapping[str, Any], path: str, index: int) -> Iterator[Problem]:
    """All variables of a ConfigMap or Secret at once."""
    where = f"{path}[{index}]"
    if source.get("prefix"):
        yield from named(_variable_name, source["prefix"], f"{where}.prefix")
    given = [name for name in ("configMapRef", "secretRef") if name in source]
    for name in given:
        referred = section(source, name).get("name", "")
        if not referred:
            yield Problem.required(f"{where}.{name}.name")
        else:
            yield from named(dns_subdomain, referred, f"{where}.{name}.name")
    if not given:
        yield Problem.invalid(path, "", "must specify one of: `configMapRef` or `secretRef`")
    elif len(given) > 1:
        yield Problem.invalid(path, "", _TOO_MANY)
