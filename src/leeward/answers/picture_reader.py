"""Reads of all objects of a kind for a picture: in pages, each with its deadline; what cannot be read is named."""

import re
from collections.abc import Callable, Coroutine, Iterable
from functools import partial
from typing import Any, TypeVar

from kubeapi.codec import DecodeError, from_wire
from kubeapi.resource import Resource
from kubeclient import Client, Expired, Undecodable, Unreachable, WorldError
from leeward.answers.redaction import LEFT_OUT, redacted_binding, redacted_cluster_binding
from leeward.api.resource import CLUSTER_RESOURCE_BINDINGS, RESOURCE_BINDINGS
from leeward.api.work import ClusterResourceBinding, ResourceBinding

T = TypeVar("T")
PAGE = 500
_VALUE = re.compile(r"(?<=value )'.*'", re.DOTALL)
LIST_ATTEMPTS = 3
"""Number of times that a list is begun anew whose revision is gone before its last page."""


class PictureReader:
    """Reads a picture, with GETs only.

    Who has not answered once is not asked again, so that it takes no longer than one deadline. `messages` of bindings
    stay whole where they are told to who asks, and go into no file.
    """

    def __init__(self, client: Client, *, messages: bool = False) -> None:
        self.client = client
        self._messages = messages
        self.unseen: list[str] = []

    async def see(self, what: str, asking: Coroutine[Any, Any, T], otherwise: T) -> T:
        """Raises: Unreachable where nobody answers."""
        try:
            return await asking
        except Unreachable:
            raise
        except WorldError as error:
            self.unseen.append(f"{what}: {error}")
            return otherwise

    async def all(
        self, resource: Resource[T], keep: Callable[[T], T], namespace: str = "", label_selector: str = ""
    ) -> tuple[T, ...]:
        """All objects, as far as they are kept. One that cannot be read is named. Raises: WorldError."""
        for attempt in range(LIST_ATTEMPTS):
            try:
                return await self._pages(resource, keep, namespace, label_selector)
            except Expired:
                if attempt == LIST_ATTEMPTS - 1:
                    raise
        raise AssertionError("the last attempt returns or raises")

    async def bindings(self) -> tuple[tuple[ResourceBinding, ...], tuple[ClusterResourceBinding, ...]]:
        local = partial(redacted_binding, messages=self._messages)
        wide = partial(redacted_cluster_binding, messages=self._messages)
        found = await self.see("bindings", self.all(RESOURCE_BINDINGS, local), ())
        return found, await self.see("cluster bindings", self.all(CLUSTER_RESOURCE_BINDINGS, wide), ())

    async def _pages(
        self, resource: Resource[T], keep: Callable[[T], T], namespace: str, label_selector: str
    ) -> tuple[T, ...]:
        found, token = list[T](), ""
        while True:
            listing = partial(
                self.client.list, namespace=namespace, label_selector=label_selector, limit=PAGE, continue_token=token
            )
            try:
                page = await listing(resource)
                found += map(keep, page.items)
                token = page.continue_token
            except Undecodable:
                kind = Resource.of_manifests(resource.api_version, resource.plural, resource.kind, resource.namespaced)
                manifests = await listing(kind)
                found += map(keep, self._readable(resource, manifests.items))
                token = manifests.continue_token
            if not token:
                return tuple(found)

    def _readable(self, resource: Resource[T], manifests: Iterable[dict[str, Any]]) -> list[T]:
        readable: list[T] = []
        for manifest in manifests:
            try:
                readable.append(from_wire(manifest, resource.object_type))
            except DecodeError as error:
                metadata = manifest.get("metadata", {})
                name = "/".join(filter(None, (metadata.get("namespace"), metadata.get("name"))))
                self.unseen.append(f"{resource.kind} {name} cannot be read: {_VALUE.sub(LEFT_OUT, str(error))}")
        return readable


def as_it_is(value: T) -> T:
    return value
