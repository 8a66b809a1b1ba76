"""The metadata of all objects of a control plane, of whatever kind, page by page.

Each kind is listed in one version, the one that the server prefers. A group that does not answer is an error, and never
taken for empty; only what is kept by another server, behind an APIService, may be away, and is named then.
"""

from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

import msgspec

from kubeapi import codec
from kubeapi.errors import error_of
from kubeapi.meta import Manifest, ObjectMeta
from kubeapi.resource import Resource
from kubeclient import Client, Undecodable, WorldError
from leeward.app.migration.kinds import API_SERVICES

T = TypeVar("T")

PAGE = 500
LIST_SECONDS = 30.0
_METADATA = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
_UNLISTED = (404, 405)
"""Codes of what is not there to be listed: a kind that has just gone, or one that only answers questions."""


class InventoryItem(NamedTuple):
    resource: Resource[Manifest]
    metadata: ObjectMeta


class _Item(msgspec.Struct, frozen=True):
    metadata: ObjectMeta


class _Continuation(msgspec.Struct, frozen=True):
    next: str = msgspec.field(default="", name="continue")


class _Page(msgspec.Struct, frozen=True):
    items: tuple[_Item, ...] | None = ()
    metadata: _Continuation = _Continuation()


class _Version(msgspec.Struct, frozen=True, rename="camel"):
    group_version: str


class _Group(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    preferred_version: _Version
    versions: tuple[_Version, ...] = ()


class _Groups(msgspec.Struct, frozen=True):
    groups: tuple[_Group, ...] = ()


class _Kind(msgspec.Struct, frozen=True):
    name: str
    kind: str
    namespaced: bool
    verbs: tuple[str, ...] = ()


class _Kinds(msgspec.Struct, frozen=True):
    resources: tuple[_Kind, ...] = ()


@dataclass(slots=True)
class Inventory:
    """Reads one control plane. `unseen`: the group versions of other servers that did not answer, once `kinds` has been
    asked."""

    client: Client
    unseen: list[str] = field(default_factory=list[str])

    async def kinds(self) -> list[Resource[Manifest]]:
        """Every kind that can be listed, once. Raises: WorldError."""
        found = await self._kinds_of("v1", "/api/v1")
        elsewhere = await self._served_elsewhere()
        for group in await self._groups():
            seen = set[str]()
            for version in _preferred_first(group):
                try:
                    offered = await self._kinds_of(version, f"/apis/{version}")
                except WorldError:
                    if version not in elsewhere:
                        raise
                    self.unseen.append(version)
                    continue
                found += [resource for resource in offered if resource.plural not in seen]
                seen.update(resource.plural for resource in offered)
        return found

    async def objects(self, kinds: Iterable[Resource[Manifest]]) -> AsyncIterator[InventoryItem]:
        """Raises: WorldError."""
        for resource in kinds:
            token = ""
            while True:
                page = await self._page(resource, token)
                for item in page.items or ():
                    yield InventoryItem(resource, item.metadata)
                token = page.metadata.next
                if not token:
                    break

    async def _served_elsewhere(self) -> set[str]:
        """The group versions whose APIService names a Service."""
        specs = [each["spec"] for each in (await self.client.list(API_SERVICES)).items]
        return {f"{spec.get('group', '')}/{spec['version']}" for spec in specs if spec.get("service")}

    async def _groups(self) -> tuple[_Group, ...]:
        return (await self._read("/apis", _Groups)).groups

    async def _kinds_of(self, version: str, path: str) -> list[Resource[Manifest]]:
        offered = (await self._read(path, _Kinds)).resources
        return [
            Resource.of_manifests(version, kind.name, kind.kind, kind.namespaced)
            for kind in offered
            if "/" not in kind.name and "list" in kind.verbs
        ]

    async def _read(self, path: str, type: type[T]) -> T:
        response = await self.client.raw("GET", path)
        if response.code >= 300:
            raise error_of(response.code, response.body)
        return _decoded(response.body, type, path)

    async def _page(self, resource: Resource[Manifest], token: str) -> _Page:
        query = {"limit": str(PAGE), **({"continue": token} if token else {})}
        path, limit = resource.path(), LIST_SECONDS
        response = await self.client.raw("GET", path, query=query, accept=_METADATA, timeout_seconds=limit)
        if response.code in _UNLISTED:
            return _Page()
        if response.code >= 300:
            raise error_of(response.code, response.body)
        return _decoded(response.body, _Page, path)


def _decoded(body: bytes, type: type[T], path: str) -> T:
    try:
        return codec.decode(body, type)
    except codec.DecodeError as error:
        raise Undecodable(f"{path}: {error}") from error


def _preferred_first(group: _Group) -> list[str]:
    preferred = group.preferred_version.group_version
    return [preferred, *(each.group_version for each in group.versions if each.group_version != preferred)]
