"""Which kinds an API server offers: from `apiVersion` and `kind` to the path where they live.

Plain discovery (`/api`, `/apis`, one document per group version), because every server has it. "Could not ask" is an
error, never an empty answer.
"""

import asyncio
from typing import Any, NamedTuple

import msgspec

from leeward.api import codec
from leeward.api.cluster import APIEnablement, APIResource
from leeward.api.meta import Manifest
from leeward.api.resource import Resource
from leeward.client import Client, Undecodable, WorldError
from leeward.client.errors import error_of


class _ApiVersions(msgspec.Struct):
    versions: list[str] = []


class _GroupVersion(msgspec.Struct, rename="camel"):
    group_version: str


class _Group(msgspec.Struct):
    versions: list[_GroupVersion] = []


class _Groups(msgspec.Struct):
    groups: list[_Group] = []


class _ApiResource(msgspec.Struct):
    name: str
    kind: str
    namespaced: bool = False


class _Resources(msgspec.Struct):
    resources: list[_ApiResource] = []


class Offer(NamedTuple):
    """What a server offers, by group version, sorted, without subresources; and the groups that did not answer."""

    enablements: tuple[APIEnablement, ...]
    failed: tuple[str, ...]

    def has(self, api_version: str, kind: str) -> bool:
        return any(e.group_version == api_version and kind in {r.kind for r in e.resources} for e in self.enablements)


class Discovery:
    """A cache of one server's kinds; asks again for a kind that it does not know."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._kinds: dict[tuple[str, str], Resource[Manifest]] = {}
        self._offered: dict[str, APIEnablement] = {}

    async def resource(self, api_version: str, kind: str) -> Resource[Manifest]:
        """Where a kind lives. Raises: UnknownKind when the server answered and does not have it."""
        if (api_version, kind) not in self._kinds:
            for found in await self._group_version(api_version):
                if "/" not in found.name:
                    self._kinds[api_version, found.kind] = Resource.of_manifests(
                        api_version, found.name, found.kind, found.namespaced
                    )
        if (api_version, kind) not in self._kinds:
            raise UnknownKind(f"the cluster does not offer {api_version} {kind}")
        return self._kinds[api_version, kind]

    async def offer(self) -> Offer:
        """All kinds. Of a group that does not answer, what it offered before. Raises: WorldError."""
        core = await self._get("/api", _ApiVersions)
        groups = await self._get("/apis", _Groups)
        versions = [*core.versions, *(v.group_version for group in groups.groups for v in group.versions)]
        answers = await asyncio.gather(*(self._group_version(v) for v in versions), return_exceptions=True)
        failed: list[str] = []
        for version, answer in zip(versions, answers, strict=True):
            if isinstance(answer, WorldError):
                failed.append(version)
            elif isinstance(answer, BaseException):
                raise answer
            else:
                self._offered[version] = _enablement(version, answer)
        found = tuple(self._offered[version] for version in sorted(versions) if version in self._offered)
        return Offer(found, tuple(failed))

    async def _group_version(self, api_version: str) -> list[_ApiResource]:
        path = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
        response = await self._client.raw("GET", path)
        if response.code == 404:
            return []
        if response.code >= 400:
            raise error_of(response.code, response.body)
        return _read(response.body, _Resources).resources

    async def _get(self, path: str, as_type: type[Any]) -> Any:
        response = await self._client.raw("GET", path)
        if response.code >= 400:
            raise error_of(response.code, response.body)
        return _read(response.body, as_type)


class UnknownKind(WorldError):
    """The server answered, and does not offer the kind."""


def _enablement(version: str, resources: list[_ApiResource]) -> APIEnablement:
    found = (APIResource(name=r.name, kind=r.kind) for r in resources if "/" not in r.name)
    return APIEnablement(group_version=version, resources=tuple(sorted(found, key=lambda resource: resource.name)))


def _read(body: bytes, as_type: type[Any]) -> Any:
    try:
        return codec.decode(body, as_type)
    except codec.DecodeError as error:
        raise Undecodable(f"discovery: {error}") from error
