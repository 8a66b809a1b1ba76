"""The record of a switch: ConfigMaps in `karmada-system` with all that is taken away, written before anything is.

`leeward-adoption` has the APIService and the webhook configurations of Karmada, and which definitions and roles were
there; `leeward-adoption.CLUSTER` has one Cluster as Karmada's server kept it, and what belongs to it. With these a
switch that was interrupted goes on, and is taken back. They are deleted when the control plane has been handed back.
"""

import base64
import gzip
import zlib
from collections.abc import Sequence
from datetime import datetime
from typing import Any, TypeVar

import msgspec

from controller_runtime import delete_seen
from kubeapi import codec
from kubeapi.meta import Manifest, OwnerReference
from kubeapi.resource import Resource
from kubeclient import Client, NotFound
from leeward.api.names import SYSTEM_NAMESPACE
from leeward.app.local import FleetError
from leeward.app.migration.kinds import CONFIG_MAP_MANIFESTS

T = TypeVar("T")

NAME = "leeward-adoption"
_LABEL = "leeward.dev/adoption"
_KEY = "record.json.gz"
_OWN_METADATA = ("name", "namespace", "labels", "annotations")
MAX_BYTES = 900_000
"""Most bytes of one record, packed: an API server takes ConfigMaps of 1 MiB."""
MAX_UNPACKED_BYTES = 64 * 1024 * 1024
_GZIP = zlib.MAX_WBITS | 16


class Dependent(msgspec.Struct, frozen=True, rename="camel"):
    """An object that belongs to a Cluster: where it lives, which it is, and the reference by which it does."""

    api_version: str
    plural: str
    kind: str
    namespaced: bool
    namespace: str
    name: str
    uid: str
    reference: OwnerReference


class ClusterRecord(msgspec.Struct, frozen=True, rename="camel"):
    """A Cluster as Karmada's server keeps it (`before`, None for one that has joined since), as Leeward kept it when it
    was handed back (`after`, None for one that has left), and what belongs to it."""

    name: str
    before: Manifest | None = None
    after: Manifest | None = None
    dependents: tuple[Dependent, ...] = ()


def with_lost(found: Sequence[Dependent], known: ClusterRecord | None) -> tuple[Dependent, ...]:
    """Dependents that were found, and those that were known before: its reference may have been taken away already."""
    seen = {dependent.uid for dependent in found}
    return (*found, *(d for d in (known.dependents if known is not None else ()) if d.uid not in seen))


class KeptObject(msgspec.Struct, frozen=True, rename="camel"):
    """An object as it was before the switch: a webhook configuration, or a role that has the name of one of ours."""

    api_version: str
    plural: str
    manifest: Manifest

    @property
    def resource(self) -> Resource[Manifest]:
        return Resource.of_manifests(self.api_version, self.plural, self.manifest["kind"], self._namespaced)

    @property
    def content(self) -> Manifest:
        """Content as it is created again."""
        metadata = {key: value for key, value in self.manifest["metadata"].items() if key in _OWN_METADATA}
        return {**{key: value for key, value in self.manifest.items() if key != "status"}, "metadata": metadata}

    @property
    def _namespaced(self) -> bool:
        return "namespace" in self.manifest["metadata"]


class SwitchRecord(msgspec.Struct, frozen=True, rename="camel"):
    """`adopted_at` is None until the last step of the switch is done. `handing_back`: the records of Clusters say
    how Leeward kept them; `handed_back`: nothing is left of it but the records."""

    started_at: datetime
    clusters_service: Manifest | None = None
    webhooks: tuple[KeptObject, ...] = ()
    rights: tuple[KeptObject, ...] = ()
    definitions: tuple[str, ...] = ()
    clusters: tuple[str, ...] = ()
    adopted_at: datetime | None = None
    handing_back: bool = False
    handed_back: bool = False


async def read_record(client: Client) -> SwitchRecord | None:
    """Raises: WorldError; FleetError for one that cannot be read."""
    return await _read(client, NAME, SwitchRecord)


async def read_clusters(client: Client, record: SwitchRecord) -> list[ClusterRecord]:
    """Raises: WorldError; FleetError for one that is missing or cannot be read."""
    found = list[ClusterRecord]()
    for name in record.clusters:
        cluster = await _read(client, _name_of(name), ClusterRecord)
        if cluster is None:
            raise FleetError(f"the ConfigMap {SYSTEM_NAMESPACE}/{_name_of(name)} is missing: the Cluster is kept there")
        found.append(cluster)
    return found


async def write_record(client: Client, record: SwitchRecord) -> None:
    """Raises: WorldError; FleetError for one that is too large."""
    await _write(client, NAME, record)


async def write_cluster(client: Client, cluster: ClusterRecord) -> None:
    """Raises: WorldError; FleetError for one that is too large."""
    await _write(client, _name_of(cluster.name), cluster)


async def delete_records(client: Client) -> None:
    """Deletes all records, that of the whole last. Raises: WorldError."""
    found = await client.list(CONFIG_MAP_MANIFESTS, SYSTEM_NAMESPACE, label_selector=f"{_LABEL}=true")
    names = [each["metadata"]["name"] for each in found.items]
    for name in sorted(names, reverse=True):
        await delete_seen(client, CONFIG_MAP_MANIFESTS, name, SYSTEM_NAMESPACE)


def _name_of(cluster: str) -> str:
    return f"{NAME}.{cluster}"


async def _read(client: Client, name: str, type: type[T]) -> T | None:
    try:
        found = await client.get(CONFIG_MAP_MANIFESTS, name, SYSTEM_NAMESPACE)
    except NotFound:
        return None
    try:
        return codec.decode(_unpacked(base64.b64decode(found["binaryData"][_KEY])), type)
    except (KeyError, TypeError, ValueError, zlib.error) as error:
        raise FleetError(
            f"the ConfigMap {SYSTEM_NAMESPACE}/{name}, field binaryData, cannot be read: {error}; put it back from a "
            "backup of the control plane: it holds what the switch has taken away"
        ) from error


def _unpacked(packed: bytes) -> bytes:
    """Raises: ValueError, zlib.error."""
    opening = zlib.decompressobj(_GZIP)
    data = opening.decompress(packed, MAX_UNPACKED_BYTES)
    if not opening.eof:
        longer = f"more than {MAX_UNPACKED_BYTES} bytes when it is unpacked"
        raise ValueError("it breaks off" if len(data) < MAX_UNPACKED_BYTES else longer)
    return data


async def _write(client: Client, name: str, content: Any) -> None:
    data = codec.encode(content)
    packed = gzip.compress(data, mtime=0)
    if len(packed) > MAX_BYTES or len(data) > MAX_UNPACKED_BYTES:
        raise FleetError(f"{name} would have {len(packed)} bytes, and a ConfigMap takes {MAX_BYTES}")
    manifest = {
        "metadata": {"name": name, "labels": {_LABEL: "true"}},
        "binaryData": {_KEY: base64.b64encode(packed).decode()},
    }
    await client.apply(CONFIG_MAP_MANIFESTS, manifest, SYSTEM_NAMESPACE, field_manager=NAME)
