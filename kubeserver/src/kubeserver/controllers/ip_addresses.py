"""The IPAddresses of Services: which Service has which address, as objects.

Written behind the Services, whose addresses are reserved in memory (`admission/services.py`): that one comes late gives
no address away twice.

Kubernetes: pkg/registry/core/service/ipallocator; the same objects. Differs: there they are the reservation itself.
"""

import asyncio
import ipaddress
import logging
from collections.abc import Coroutine, Sequence
from contextlib import aclosing
from typing import Any

from kubeapi import codec
from kubeapi.meta import Manifest
from kubeserver.admission.services import addresses_of
from kubeserver.controllers.bootstrap import SERVER
from kubeserver.controllers.changes import changes
from kubeserver.controllers.definitions import delete_quietly
from kubeserver.errors import Refused
from kubeserver.kinds.kind import Kind
from kubeserver.registry.deleting import Deleter
from kubeserver.registry.writing import Writer
from kubeserver.store import StoreFailed
from kubeserver.values import section

log = logging.getLogger(__name__)

SERVICES = "//services/"
MANAGED, ALLOCATOR = "ipaddress.kubernetes.io/managed-by", "ipallocator.k8s.io"
FAMILY = "ipaddress.kubernetes.io/ip-family"
RETRY_SECONDS = 1.0

Parent = dict[str, str]


class IpAddressKeeper:
    """Follows the Services."""

    def __init__(self, writer: Writer, deleter: Deleter, kind: Kind) -> None:
        self._writer = writer
        self._deleter = deleter
        self._kind = kind
        self._held: dict[str, Sequence[str]] = {}

    async def run(self) -> None:
        """Works until it is cancelled."""
        await self._try(self._remove_orphans())
        async with aclosing(changes(self._writer.store, SERVICES)) as records:
            async for record in records:
                service = codec.decode_manifest(record.value)
                addresses = () if record.deleted else addresses_of(service)
                if addresses != self._held.get(record.key, ()):
                    await self._try(self._settle(record.key, service, addresses))

    async def _settle(self, key: str, service: Manifest, addresses: Sequence[str]) -> None:
        """Raises: Refused, StoreFailed."""
        parent = _parent_of(service)
        for address in self._held.get(key, ()):
            if address not in addresses:
                await self._remove(address, parent)
        for address in addresses:
            await self._keep(address, parent)
        if addresses:
            self._held[key] = addresses
        else:
            self._held.pop(key, None)

    async def _keep(self, address: str, parent: Parent) -> None:
        there = self._find(address)
        if there is not None and section(there["spec"], "parentRef") == parent:
            return
        if there is not None:
            await delete_quietly(self._deleter, self._kind, there["metadata"])
        await self._writer.create(self._kind, "", self._rendered(address, parent), SERVER, dry_run=False)

    async def _remove(self, address: str, parent: Parent) -> None:
        there = self._find(address)
        if there is not None and section(there["spec"], "parentRef") == parent:
            await delete_quietly(self._deleter, self._kind, there["metadata"])

    async def _remove_orphans(self) -> None:
        """Removes the addresses of Services that went while nobody was there to follow them."""
        services = [codec.decode_manifest(record.value) for record in self._writer.store.list(SERVICES).records]
        held = {address for service in services for address in addresses_of(service)}
        for record in self._writer.store.list(self._kind.prefix).records:
            metadata = codec.decode_manifest(record.value)["metadata"]
            if section(metadata, "labels").get(MANAGED) == ALLOCATOR and metadata["name"] not in held:
                await delete_quietly(self._deleter, self._kind, metadata)

    def _find(self, address: str) -> Manifest | None:
        record = self._writer.store.head(self._kind.key("", address))
        return codec.decode_manifest(record.value) if record is not None else None

    def _rendered(self, address: str, parent: Parent) -> Manifest:
        family = f"IPv{ipaddress.ip_address(address).version}"
        return {
            "apiVersion": self._kind.api_version,
            "kind": self._kind.kind,
            "metadata": {"name": address, "labels": {FAMILY: family, MANAGED: ALLOCATOR}},
            "spec": {"parentRef": parent},
        }

    async def _try(self, work: Coroutine[Any, Any, None]) -> None:
        """Tries the work; what is refused is tried again when the Service changes."""
        try:
            await work
        except (Refused, StoreFailed) as error:
            log.warning("IP addresses: %s", error)
            await asyncio.sleep(RETRY_SECONDS)


def _parent_of(service: Manifest) -> Parent:
    metadata = service["metadata"]
    return {"resource": "services", "namespace": metadata["namespace"], "name": metadata["name"]}
