"""Volumes of a Pod, each with one source, and how containers mount them."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from kubeapi.quantity import parse_quantity
from kubeapi.status import Problem
from kubeserver.kinds.pod_rules.environment import field_problems, resource_field_problems
from kubeserver.kinds.pod_rules.texts import descending_path, duplicate, mode, named, one_of, reserved_path, unknown
from kubeserver.names import dns_label
from kubeserver.values import entries, section

Source = Mapping[str, Any]
_HOST_PATHS = (
    "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket",
)  # fmt: skip
_FILE_FIELDS = ("metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid")
_CLAIMS = ("persistentVolumeClaim", "ephemeral")


def volume_problems(spec: Mapping[str, Any], path: str) -> Iterator[Problem]:
    names: set[str] = set()
    for index, volume in enumerate(entries(spec, "volumes")):
        where, name = f"{path}.volumes[{index}]", str(volume.get("name") or "")
        yield from _source_problems(volume, where)
        if not name:
            yield Problem.required(f"{where}.name")
        yield from named(dns_label, name, f"{where}.name") if name else ()
        if name in names:
            yield duplicate(f"{where}.name", name)
        names.add(name)


def mount_problems(container: Mapping[str, Any], volumes: Mapping[str, Source], path: str) -> Iterator[Problem]:
    """`volumes` are those of the Pod, by name."""
    mounts, devices = entries(container, "volumeMounts"), entries(container, "volumeDevices")
    at: set[str] = set()
    for index, mount in enumerate(mounts):
        where, name, place = f"{path}.volumeMounts[{index}]", mount.get("name", ""), mount.get("mountPath", "")
        if not name:
            yield Problem.required(f"{where}.name")
        if name not in volumes:
            yield unknown(f"{where}.name", name)
        if not place:
            yield Problem.required(f"{where}.mountPath")
        if place in at:
            yield Problem.invalid(f"{where}.mountPath", place, "must be unique")
        at.add(place)
        if any(device.get("name") == name for device in devices):
            yield Problem.invalid(f"{where}.name", name, "must not already exist in volumeDevices")
        yield from _below_problems(mount, where, f"{path}.volumeMounts")
    yield from _device_problems(devices, volumes, f"{path}.volumeDevices")


def _below_problems(mount: Mapping[str, Any], where: str, path: str) -> Iterator[Problem]:
    """Problems of a part of a volume, where only that is mounted."""
    below, expression = mount.get("subPath", ""), mount.get("subPathExpr", "")
    if below:
        yield from descending_path(below, f"{path}.subPath")
    if expression:
        if below:
            said = "subPathExpr and subPath are mutually exclusive"
            yield Problem.invalid(f"{where}.subPathExpr", expression, said)
        yield from descending_path(expression, f"{path}.subPathExpr")


def _device_problems(devices: list[dict[str, Any]], volumes: Mapping[str, Source], path: str) -> Iterator[Problem]:
    for index, device in enumerate(devices):
        where, name = f"{path}[{index}]", device.get("name", "")
        if not name:
            yield Problem.required(f"{where}.name")
        if name not in volumes:
            yield unknown(f"{where}.name", name)
        elif not any(claim in volumes[name] for claim in _CLAIMS):
            said = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
            yield Problem.invalid(f"{where}.name", name, said)
        if not device.get("devicePath"):
            yield Problem.required(f"{where}.devicePath")


def _source_problems(volume: Source, path: str) -> Iterator[Problem]:
    given = [name for name in (*_RULES, *volume) if name in volume and name != "name"]
    given = list(dict.fromkeys(given))
    if not given:
        yield Problem.required(path, "must specify a volume type")
        return
    if given[0] in _RULES:
        yield from _RULES[given[0]](section(volume, given[0]), f"{path}.{given[0]}")
    yield from (Problem.forbidden(f"{path}.{name}", "may not specify more than 1 volume type") for name in given[1:])


def _host_path(source: Source, path: str) -> Iterator[Problem]:
    text = source.get("path", "")
    if not text:
        yield Problem.required(f"{path}.path")
        return
    if ".." in text.split("/"):
        yield Problem.invalid(f"{path}.path", text, "must not contain '..'")
    yield from one_of(source.get("type", ""), _HOST_PATHS, f"{path}.type")


def _secret(source: Source, path: str) -> Iterator[Problem]:
    if not source.get("secretName"):
        yield Problem.required(f"{path}.secretName")
    yield from _files(source, path)


def _config_map(source: Source, path: str) -> Iterator[Problem]:
    if not source.get("name"):
        yield Problem.required(f"{path}.name")
    yield from _files(source, path)


def _files(source: Source, path: str) -> Iterator[Problem]:
    """The modes and names of files that are made of keys."""
    yield from mode(source.get("defaultMode"), f"{path}.defaultMode")
    for index, item in enumerate(entries(source, "items")):
        where = f"{path}.items[{index}]"
        if not item.get("key"):
            yield Problem.required(f"{where}.key")
        if not item.get("path"):
            yield Problem.required(f"{where}.path")
        yield from reserved_path(item.get("path", ""), f"{where}.path")
        yield from mode(item.get("mode"), f"{where}.mode")


def _downward(source: Source, path: str) -> Iterator[Problem]:
    yield from mode(source.get("defaultMode"), f"{path}.defaultMode")
    for item in entries(source, "items"):
        if not item.get("path"):
            yield Problem.required(f"{path}.path")
        yield from reserved_path(item.get("path", ""), f"{path}.path")
        if "fieldRef" in item:
            yield from field_problems(section(item, "fieldRef"), f"{path}.fieldRef", _FILE_FIELDS)
        elif "resourceFieldRef" in item:
            reference = section(item, "resourceFieldRef")
            yield from resource_field_problems(reference, f"{path}.resourceFieldRef", in_volume=True)
        else:
            yield Problem.required(f"{path}.fieldRef", "one of fieldRef and resourceFieldRef is required")


def _claim(source: Source, path: str) -> Iterator[Problem]:
    if not source.get("claimName"):
        yield Problem.required(f"{path}.claimName")


def _nfs(source: Source, path: str) -> Iterator[Problem]:
    if not source.get("server"):
        yield Problem.required(f"{path}.server")
    if not source.get("path"):
        yield Problem.required(f"{path}.path")
    elif not source["path"].startswith("/"):
        yield Problem.invalid(f"{path}.path", source["path"], "must be an absolute path")


def _projected(source: Source, path: str) -> Iterator[Problem]:
    yield from mode(source.get("defaultMode"), f"{path}.defaultMode")
    for index, part in enumerate(entries(source, "sources")):
        where = f"{path}.sources[{index}]"
        given = [name for name in ("secret", "configMap", "downwardAPI", "serviceAccountToken") if name in part]
        if "secret" in given or "configMap" in given:
            kind = given[0]
            if not section(part, kind).get("name"):
                yield Problem.required(f"{where}.{kind}.name")
            yield from _files(section(part, kind), f"{where}.{kind}")
        elif "serviceAccountToken" in given and not section(part, "serviceAccountToken").get("path"):
            yield Problem.required(f"{where}.serviceAccountToken.path")
        yield from (
            Problem.forbidden(f"{where}.{name}", "may not specify more than 1 volume type per source")
            for name in given[1:]
        )


def _empty_dir(source: Source, path: str) -> Iterator[Problem]:
    if parse_quantity(source.get("sizeLimit", "0")) < 0:
        yield Problem.forbidden(f"{path}.sizeLimit", "SizeLimit field must be a valid resource quantity")


_RULES: Mapping[str, Callable[[Source, str], Iterator[Problem]]] = {
    "emptyDir": _empty_dir,
    "hostPath": _host_path,
    "secret": _secret,
    "nfs": _nfs,
    "persistentVolumeClaim": _claim,
    "downwardAPI": _downward,
    "configMap": _config_map,
    "projected": _projected,
}
"""Rules in the order in which Kubernetes looks at the sources of a volume: the first is the one that counts."""
