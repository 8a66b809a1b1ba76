"""Contents of a simulated container: its environment, the files that are mounted, its name, its log.

Volumes are read as they are now, variables as they would be now; a container in a cluster has those of its start.
"""

import base64
import binascii
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kubeapi.meta import Manifest, ReadOnlyManifest
from kubeapi.unstructured import list_at, mapping_at, text_at, value_at
from kubecluster.rules.references import Lookup, Source, all_containers, data_of

_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_FIELDS = {
    "metadata.name": ("metadata", "name"),
    "metadata.namespace": ("metadata", "namespace"),
    "metadata.uid": ("metadata", "uid"),
    "spec.nodeName": ("spec", "nodeName"),
    "spec.serviceAccountName": ("spec", "serviceAccountName"),
    "status.hostIP": ("status", "hostIP"),
    "status.podIP": ("status", "podIP"),
}

_UNSAID: Mapping[str, Any] = {}


@dataclass(frozen=True, slots=True)
class Inside:
    """One container as its processes see it. `files` are those of its volumes, by absolute path."""

    hostname: str
    environment: Mapping[str, str]
    files: Mapping[str, bytes]


def container_of(pod: ReadOnlyManifest, name: str) -> Mapping[str, Any] | None:
    return next((container for container in all_containers(pod) if container["name"] == name), None)


def container_names(pod: ReadOnlyManifest) -> list[str]:
    return [container["name"] for container in list_at(pod, "spec", "containers")]


def container_state(pod: ReadOnlyManifest, name: str) -> Mapping[str, Any]:
    """`waiting`, `running` or `terminated`, with its fields; empty where the status has none."""
    statuses = [*list_at(pod, "status", "initContainerStatuses"), *list_at(pod, "status", "containerStatuses")]
    return next((mapping_at(status, "state") for status in statuses if status.get("name") == name), _UNSAID)


def log_of(pod: ReadOnlyManifest, container: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The lines that a container has written, each with its time."""
    name, image, state = container["name"], text_at(container, "image"), container_state(pod, container["name"])
    ended = mapping_at(state, "terminated")
    begun = text_at(state, "running", "startedAt") or text_at(pod, "status", "startTime")
    lines = [(begun, f"{pod['metadata']['name']}: container {name} started, image {image} (simulated)")]
    if ended:
        lines.append((text_at(ended, "finishedAt"), f"{pod['metadata']['name']}: container {name} completed"))
    return lines


def look_inside(pod: ReadOnlyManifest, container: Mapping[str, Any], find: Lookup) -> Inside:
    hostname = text_at(pod, "spec", "hostname") or pod["metadata"]["name"]
    environment = {"PATH": _PATH, "HOSTNAME": hostname, "HOME": "/root"}
    for name, value in _variables(pod, container, find):
        environment[name] = value
    return Inside(hostname, environment, dict(_files(pod, container, find)))


def content_of(source: Source, manifest: ReadOnlyManifest | None) -> dict[str, bytes]:
    """The data of a ConfigMap or a Secret, by key; none of one that is not there."""
    if manifest is None:
        return {}
    encoded = mapping_at(manifest, "data") if source is Source.SECRET else mapping_at(manifest, "binaryData")
    return {key: _decoded(text) if key in encoded else str(text).encode() for key, text in data_of(manifest).items()}


def _variables(pod: ReadOnlyManifest, container: Mapping[str, Any], find: Lookup) -> Iterator[tuple[str, str]]:
    for entry in list_at(container, "envFrom"):
        for source, field in ((Source.CONFIG_MAP, "configMapRef"), (Source.SECRET, "secretRef")):
            if name := text_at(entry, field, "name"):
                for key, value in content_of(source, find(source, name)).items():
                    yield text_at(entry, "prefix") + key, value.decode(errors="replace")
    for entry in list_at(container, "env"):
        given = mapping_at(entry, "valueFrom")
        yield entry["name"], _value_from(pod, given, find) if given else text_at(entry, "value")


def _value_from(pod: ReadOnlyManifest, given: Mapping[str, Any], find: Lookup) -> str:
    for source, field in ((Source.CONFIG_MAP, "configMapKeyRef"), (Source.SECRET, "secretKeyRef")):
        if name := text_at(given, field, "name"):
            content = content_of(source, find(source, name))
            return content.get(text_at(given, field, "key"), b"").decode(errors="replace")
    return str(value_at(pod, *_FIELDS.get(text_at(given, "fieldRef", "fieldPath"), ("",))) or "")


def _files(pod: ReadOnlyManifest, container: Mapping[str, Any], find: Lookup) -> Iterator[tuple[str, bytes]]:
    hostname = text_at(pod, "spec", "hostname") or pod["metadata"]["name"]
    yield "/etc/hostname", f"{hostname}\n".encode()
    volumes = {volume["name"]: volume for volume in list_at(pod, "spec", "volumes")}
    for mount in list_at(container, "volumeMounts"):
        content = _content_of_volume(volumes.get(mount["name"], {}), find)
        path, only = text_at(mount, "mountPath").rstrip("/"), text_at(mount, "subPath")
        for name, data in content.items():
            if not only:
                yield f"{path}/{name}", data
            elif name == only:
                yield path, data


def _content_of_volume(volume: ReadOnlyManifest, find: Lookup) -> dict[str, bytes]:
    content: dict[str, bytes] = {}
    for part in (volume, *list_at(volume, "projected", "sources")):
        for source, field in ((Source.CONFIG_MAP, "configMap"), (Source.SECRET, "secret")):
            said = mapping_at(part, field)
            if name := text_at(said, "name") or text_at(said, "secretName"):
                content |= _picked(content_of(source, find(source, name)), said)
    return content


def _picked(content: dict[str, bytes], said: Manifest | Mapping[str, Any]) -> dict[str, bytes]:
    items = list_at(said, "items")
    return {i["path"]: content[i["key"]] for i in items if i["key"] in content} if items else content


def _decoded(text: Any) -> bytes:
    try:
        return base64.b64decode(str(text))
    except binascii.Error:
        return str(text).encode()
