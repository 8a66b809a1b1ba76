"""The ConfigMaps, Secrets and claims that a Pod names, and what keeps its containers from starting when one is missing.

A volume waits for what it is filled from, and no container is created before (event FailedMount); a variable of the
environment is looked up when its container is created (CreateContainerConfigError). What is `optional` keeps nobody.
Secrets with which images are pulled are not looked at.

Kubernetes: pkg/kubelet/volume/{configmap,secret,projected}, pkg/kubelet/kubelet_pods.go; the same messages.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import chain
from typing import Any

from kubeapi.meta import Manifest, ReadOnlyManifest
from kubeapi.unstructured import list_at, mapping_at, text_at, value_at
from kubecluster.rules.volume_binding import is_bound


class Source(Enum):
    """A kind that data comes from; the value is its name in messages of a kubelet."""

    CONFIG_MAP = "configmap"
    SECRET = "secret"
    CLAIM = "persistentvolumeclaim"


@dataclass(frozen=True, slots=True)
class DataReference:
    """One object that is named; all of `keys` have to be in it. None of it has to be there when it is optional."""

    source: Source
    name: str
    keys: tuple[str, ...]
    is_optional: bool


@dataclass(frozen=True, slots=True)
class MountFault:
    """Fault for which a volume cannot be set up; `message` is that of the event."""

    volume: str
    message: str


Lookup = Callable[[Source, str], ReadOnlyManifest | None]
"""The object of this kind and name in the Pod's namespace."""

_MISSING_KEY = {
    Source.CONFIG_MAP: "couldn't find key {} in ConfigMap {}/{}",
    Source.SECRET: "couldn't find key {} in Secret {}/{}",
}
_MISSING_ITEM = {
    Source.CONFIG_MAP: "references non-existent config key: {}",
    Source.SECRET: "references non-existent secret key: {}",
}


def sources_of(pod: ReadOnlyManifest) -> frozenset[Source]:
    """The kinds that have to be looked into before the Pod starts."""
    volumes = (reference for _, references in _volumes(pod) for reference in references)
    variables = (reference for container in all_containers(pod) for reference in environment_of(container))
    return frozenset(reference.source for reference in chain(volumes, variables))


def mount_fault(pod: ReadOnlyManifest, find: Lookup) -> MountFault | None:
    """The first volume that cannot be set up."""
    for volume, references in _volumes(pod):
        for reference in references:
            why = _source_fault(reference, find(reference.source, reference.name))
            if not why or reference.is_optional:
                continue
            if reference.source is Source.CLAIM:
                claim = f"{pod['metadata']['namespace']}/{reference.name}"
                return MountFault(volume, f"Unable to attach or mount volumes: error processing PVC {claim}: {why}")
            return MountFault(volume, f'MountVolume.SetUp failed for volume "{volume}" : {why}')
    return None


def _source_fault(reference: DataReference, found: ReadOnlyManifest | None) -> str:
    if reference.source is Source.CLAIM:
        if found is None:
            return f'failed to fetch PVC from API server: persistentvolumeclaims "{reference.name}" not found'
        return "" if is_bound(found) else "PVC is not bound"
    if found is None:
        return f'{reference.source.value} "{reference.name}" not found'
    lacking = [key for key in reference.keys if key not in data_of(found)]
    return _MISSING_ITEM[reference.source].format(lacking[0]) if lacking else ""


def environment_faults(pod: ReadOnlyManifest, find: Lookup) -> Mapping[str, str]:
    """Faults for which containers cannot be created, by their names."""
    namespace = pod["metadata"]["namespace"]
    found = ((c["name"], _environment_fault(c, namespace, find)) for c in all_containers(pod))
    return {name: fault for name, fault in found if fault}


def all_containers(pod: ReadOnlyManifest) -> Iterator[Mapping[str, Any]]:
    """Init containers first."""
    return chain(list_at(pod, "spec", "initContainers"), list_at(pod, "spec", "containers"))


def environment_of(container: Mapping[str, Any]) -> Iterator[DataReference]:
    for entry in list_at(container, "envFrom"):
        yield from _named(entry, "configMapRef", "secretRef", lambda _: ())
    for entry in list_at(container, "env"):
        yield from _named(mapping_at(entry, "valueFrom"), "configMapKeyRef", "secretKeyRef", lambda r: (r["key"],))


def data_of(manifest: ReadOnlyManifest) -> Manifest:
    """Contents of a ConfigMap or a Secret, by key, as it is written there."""
    return {**mapping_at(manifest, "data"), **mapping_at(manifest, "binaryData")}


def _environment_fault(container: Mapping[str, Any], namespace: str, find: Lookup) -> str:
    for reference in environment_of(container):
        found = find(reference.source, reference.name)
        if reference.is_optional:
            continue
        if found is None:
            return f'{reference.source.value} "{reference.name}" not found'
        if lacking := [key for key in reference.keys if key not in data_of(found)]:
            return _MISSING_KEY[reference.source].format(lacking[0], namespace, reference.name)
    return ""


def _volumes(pod: ReadOnlyManifest) -> Iterator[tuple[str, list[DataReference]]]:
    for volume in list_at(pod, "spec", "volumes"):
        parts = [volume, *list_at(volume, "projected", "sources")]
        yield text_at(volume, "name"), [ref for part in parts for ref in _named(part, "configMap", "secret", _items)]


def _items(entry: Mapping[str, Any]) -> Sequence[str]:
    return [text_at(item, "key") for item in list_at(entry, "items")]


def _named(
    entry: object, config_map: str, secret: str, keys: Callable[[Mapping[str, Any]], Sequence[str]]
) -> Iterator[DataReference]:
    fields = ((Source.CONFIG_MAP, config_map), (Source.SECRET, secret), (Source.CLAIM, "persistentVolumeClaim"))
    for source, field in fields:
        said = mapping_at(entry, field)
        name = text_at(said, "name") or text_at(said, "secretName") or text_at(said, "claimName")
        if name:
            yield DataReference(source, name, tuple(keys(said)), value_at(said, "optional") is True)
