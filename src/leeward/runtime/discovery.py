"""Discovery of the kinds that an API server offers: from `apiVersion` and `kind` to the path where they live.

All kinds are asked for in two requests where the server knows aggregated discovery, else in one for each group
version. "Could not ask" is an error, never an empty answer.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kubeapi.loop import read_beside
from kubeapi.meta import Manifest
from kubeapi.resource import Resource, is_api_version
from kubeapi.retry_after import error_of_answer
from kubeclient import Client, WorldError
from kubeclient.api_resource_lists import ACCEPT, OfferedResource, Root, read_resources, read_root
from leeward.api.cluster import APIEnablement, APIResource


class Offer(NamedTuple):
    """Kinds that a server offers, by group version, sorted, without subresources; and groups that did not answer."""

    enablements: tuple[APIEnablement, ...]
    failed: tuple[str, ...]

    def has(self, api_version: str, kind: str) -> bool:
        return api_version in self.versions_of(api_version.rpartition("/")[0], kind)

    def versions_of(self, group: str, kind: str) -> list[str]:
        """API versions of a group that have the kind."""
        versions = [e for e in self.enablements if e.group_version.rpartition("/")[0] == group]
        return [e.group_version for e in versions if kind in {r.kind for r in e.resources}]


_Found = Mapping[str, Sequence[OfferedResource] | None]
"""Resources by group version; None for one that does not answer."""


class Discovery:
    """A cache of one server's kinds; asks again for a kind that it does not know."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._kinds: dict[tuple[str, str], Resource[Manifest]] = {}
        self._subresources: set[tuple[str, str]] = set()
        """API version and name of each, as `databases/status`."""
        self._offered: dict[str, tuple[Sequence[OfferedResource], APIEnablement]] = {}
        self._documents: dict[str, tuple[bytes, Root]] = {}
        self._last: tuple[_Found, _Found, Offer] | None = None
        """Documents below `/api` and `/apis`, and what they came to."""

    async def resource(self, api_version: str, kind: str) -> Resource[Manifest]:
        """Resource of a kind. Raises: UnknownKind when the server answered and does not have it."""
        if (api_version, kind) not in self._kinds and is_api_version(api_version):
            for found in await self._group_version(api_version):
                if "/" in found.name:
                    self._subresources.add((api_version, found.name))
                else:
                    self._kinds[api_version, found.kind] = Resource.of_manifests(
                        api_version, found.name, found.kind, found.namespaced
                    )
        if (api_version, kind) not in self._kinds:
            raise UnknownKind(f"the cluster does not offer {api_version} {kind}")
        return self._kinds[api_version, kind]

    def has_status(self, resource: Resource[Manifest]) -> bool:
        """Tells whether a resource that was found here has a status subresource, as it was found."""
        return (resource.api_version, f"{resource.plural}/status") in self._subresources

    async def offer(self, *, core_anew: bool = True) -> Offer:
        """All kinds. Of a group that does not answer, what it offered before. Raises: WorldError.

        Without `core_anew` the core group is as it was told last, where it was: it is another one only after a server
        was begun anew. Karmada: client-go's ServerGroupsAndResources; same, down to a group version that is stale.
        """
        core = await self._below("/api") if core_anew or self._last is None else self._last[0]
        others = await self._below("/apis")
        if self._last is None or self._last[0] is not core or self._last[1] is not others:
            self._last = core, others, self._offer_of({**core, **others})
        return self._last[2]

    def _offer_of(self, found: _Found) -> Offer:
        for version, resources in found.items():
            if resources is not None and not self._is_known(version, resources):
                self._offered[version] = resources, _enablement(version, resources)
        enablements = tuple(self._offered[version][1] for version in sorted(found) if version in self._offered)
        return Offer(enablements, tuple(version for version, resources in found.items() if resources is None))

    def _is_known(self, version: str, resources: Sequence[OfferedResource]) -> bool:
        known = self._offered.get(version)
        return known is not None and known[0] is resources

    async def _below(self, path: str) -> _Found:
        root = await self._root(path, await self._get(path, ACCEPT))
        if isinstance(root, Mapping):
            return root
        return dict(zip(root, await asyncio.gather(*map(self._group_version_or_none, root)), strict=True))

    async def _root(self, path: str, body: bytes) -> Root:
        """Content of the document, which seldom says anything new. A long one is read beside the loop."""
        known = self._documents.get(path)
        if known is None or known[0] != body:
            known = self._documents[path] = body, await read_beside(read_root, body)
        return known[1]

    async def _group_version_or_none(self, api_version: str) -> Sequence[OfferedResource] | None:
        try:
            return await self._group_version(api_version)
        except WorldError:
            return None

    async def _group_version(self, api_version: str) -> Sequence[OfferedResource]:
        path = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
        response = await self._client.raw("GET", path)
        if response.code == 404:
            return []
        if response.code >= 400:
            raise error_of_answer(response.code, response.body, response.headers)
        return await read_beside(read_resources, response.body)

    async def _get(self, path: str, accept: str) -> bytes:
        response = await self._client.raw("GET", path, accept=accept)
        if response.code >= 400:
            raise error_of_answer(response.code, response.body, response.headers)
        return response.body


class UnknownKind(WorldError):
    """The server answered, and does not offer the kind."""


def _enablement(version: str, resources: Sequence[OfferedResource]) -> APIEnablement:
    found = (APIResource(name=r.name, kind=r.kind) for r in resources if "/" not in r.name)
    return APIEnablement(group_version=version, resources=tuple(sorted(found, key=lambda resource: resource.name)))
