"""Objects that an API server has before the first request: namespaces, roles, priorities, its range of addresses,
definitions.

Idempotent over restarts: what is there already stays, and a definition is only written when it differs. What does not
build on each other is written in one commit.
"""

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any

from kubeapi import codec
from kubeapi.meta import Manifest, format_time
from kubeserver.apiextensions.definitions import PREFIX
from kubeserver.auth.authorization.bootstrap import bootstrap_bindings, bootstrap_roles
from kubeserver.controllers.definitions import Definitions
from kubeserver.handler import ADMIN_GROUP, User
from kubeserver.kinds.kind import Kind
from kubeserver.kinds.scheme import Scheme
from kubeserver.registry.decoding import decode_object
from kubeserver.registry.writing import Change, Writer

NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")
_PRIORITIES = {
    "system-cluster-critical": (
        2_000_000_000,
        "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
    ),
    "system-node-critical": (
        2_000_001_000,
        "Used for system critical pods that must not be moved from their current node.",
    ),
}
_RANGE = "kubernetes"
SERVER = User("system:apiserver", (ADMIN_GROUP,))


async def create_objects(writer: Writer, scheme: Scheme, service_cidr: str, others: Sequence[Manifest]) -> None:
    """Everything that is missing but the definitions; `others` are of built-in kinds without a namespace."""
    await asyncio.gather(
        *(_create_missing(writer, scheme, manifest) for manifest in (*_objects(), *map(codec.copy_manifest, others)))
    )
    service_range = _object("networking.k8s.io/v1", "ServiceCIDR", _RANGE, spec={"cidrs": [service_cidr]})
    if await _create_missing(writer, scheme, service_range):
        await _make_ready(writer, _kind_of(scheme, service_range))


def _objects() -> Iterator[Manifest]:
    """Namespaces; roles and bindings without which only administrators could do anything; priorities of the system."""
    yield from (_object("v1", "Namespace", name) for name in NAMESPACES)
    yield from (*bootstrap_roles(), *bootstrap_bindings())
    for name, (value, said) in _PRIORITIES.items():
        yield _object("scheduling.k8s.io/v1", "PriorityClass", name, value=value, description=said)


def _object(api_version: str, kind: str, name: str, **fields: Any) -> Manifest:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, **fields}


async def _make_ready(writer: Writer, kind: Kind) -> None:
    said = {"type": "Ready", "status": "True", "reason": "", "message": "Kubernetes Service CIDR is ready"}
    ready = {**said, "lastTransitionTime": format_time(writer.clock.now())}
    change = _with_status({"conditions": [ready]})
    await writer.change(kind, "", _RANGE, change, SERVER, dry_run=False, subresource="status")


def _kind_of(scheme: Scheme, manifest: Manifest) -> Kind:
    kind = scheme.find_kind(manifest["apiVersion"], manifest["kind"])
    assert kind is not None
    return kind


async def _create_missing(writer: Writer, scheme: Scheme, manifest: Manifest) -> bool:
    """Tells whether it was missing."""
    kind = _kind_of(scheme, manifest)
    if writer.store.head(kind.key("", manifest["metadata"]["name"])) is not None:
        return False
    await writer.create(kind, "", manifest, SERVER, dry_run=False)
    return True


async def install_definitions(writer: Writer, kind: Kind, definitions: Definitions, wanted: Sequence[Manifest]) -> None:
    """Creates, updates and settles the given definitions. Raises: Refused; UndecodableObject for a broken one."""
    await asyncio.gather(*(_install(writer, kind, manifest) for manifest in wanted))
    for manifest in wanted:
        await definitions.settle(writer, manifest["metadata"]["name"])


async def _install(writer: Writer, kind: Kind, manifest: Manifest) -> None:
    name = manifest["metadata"]["name"]
    decoded = decode_object(kind, codec.copy_manifest(manifest), "Ignore").manifest
    if writer.store.head(f"{PREFIX}/{name}") is None:
        await writer.create(kind, "", decoded, SERVER, dry_run=False)
    else:
        await writer.change(kind, "", name, _replaced_by(decoded), SERVER, dry_run=False)


def _with_status(status: Manifest) -> Change:
    return lambda current: {**current, "status": status}


def _replaced_by(wanted: Manifest) -> Change:
    def change(current: Manifest) -> Manifest:
        metadata: dict[str, Any] = {**current["metadata"], **wanted["metadata"]}
        return {**current, "metadata": metadata, "spec": wanted["spec"]}

    return change
