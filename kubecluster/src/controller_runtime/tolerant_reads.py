"""Lists and watches of custom kinds that one object cannot spoil.

What a CustomResourceDefinition lets pass is not always what our types can hold: an instant in the year 0, a whole
number that is written 1.0. One such object, which anybody can write who may write one in one namespace, shall not hide
all others of its kind. It is passed over, and told of once: it is not absent, so that what was known of it stays.

Reads as types as long as that goes, and as plain mappings, one by one, where it does not.
"""

import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import replace
from typing import Any, Generic, TypeVar, cast

from controller_runtime.identity import Key, key_of, version_of
from kubeapi import codec
from kubeapi.errors import TooLarge
from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeapi.status import Status
from kubeclient import Client, Expired, Undecodable
from kubeclient.client import WATCH_TIMEOUT_SECONDS
from kubeclient.decoding import Page, WatchEvent

T = TypeVar("T")
log = logging.getLogger(__name__)

QUIET_WATCH_SECONDS = 3_600
"""A watch without bookmarks lasts so long: it is of a kind that hardly changes."""


class TolerantReads(Generic[T]):
    """The `list` and `watch` of a `Client`, for one kind. `unreadable` are the objects that were passed over, as they
    are stored."""

    def __init__(
        self, client: Client, resource: Resource[T], unread: Callable[[Manifest], None] = lambda manifest: None
    ) -> None:
        """`unread` is called with each state of an object that cannot be read, once."""
        self._unread = unread
        self.unreadable: dict[Key, Manifest] = {}
        self._listed: dict[Key, Manifest] = {}
        """Objects that cannot be read in the list that is under way, or broke off: they count when it is complete."""
        self._told: dict[Key, Manifest] = {}
        """Objects that could not be read in the list before it."""
        self._client = client
        self._is_tolerant = _is_custom(resource.group)
        self._raw = cast(Resource[Manifest], replace(cast(Resource[Any], resource), object_type=dict))

    async def list(
        self, resource: Resource[T], namespace: str = "", *, limit: int = 0, continue_token: str = ""
    ) -> Page[T]:
        """Lists as `Client.list`."""
        if not continue_token:
            self._told, self._listed = self._listed, {}
        page = await self._list(resource, namespace, limit, continue_token)
        if not page.continue_token:
            self.unreadable = self._listed
        return page

    async def _list(self, resource: Resource[T], namespace: str, limit: int, continue_token: str) -> Page[T]:
        try:
            return await self._client.list(resource, namespace, limit=limit, continue_token=continue_token)
        except Undecodable as error:
            if not self._is_tolerant or isinstance(error, TooLarge):
                raise
        page = await self._client.list(self._raw, namespace, limit=limit, continue_token=continue_token)
        items = (self._read(resource, item, self._listed) for item in page.items)
        return Page(tuple(item for item in items if item is not None), page.resource_version, page.continue_token)

    async def watch(
        self,
        resource: Resource[T],
        namespace: str = "",
        *,
        resource_version: str,
        bookmarks: bool = True,
        opened: Callable[[], None] = lambda: None,
    ) -> AsyncGenerator[WatchEvent[T], None]:
        """Watches as `Client.watch`; in place of what cannot be read comes a bookmark. Raises: Expired when such a one
        is deleted, which a new list tells."""
        if not self.unreadable:
            try:
                async with aclosing(
                    self._client.watch(
                        resource,
                        namespace,
                        resource_version=resource_version,
                        timeout_seconds=WATCH_TIMEOUT_SECONDS if bookmarks else QUIET_WATCH_SECONDS,
                        bookmarks=bookmarks,
                        opened=opened,
                    )
                ) as events:
                    async for event in events:
                        resource_version = event.resource_version or resource_version
                        yield event
                return
            except Undecodable as error:
                if not self._is_tolerant or isinstance(error, TooLarge):
                    raise
        raw_watch = self._client.watch(self._raw, namespace, resource_version=resource_version, opened=opened)
        async with aclosing(raw_watch) as raw_events:
            async for raw in raw_events:
                yield self._event(resource, raw)

    def _event(self, resource: Resource[T], raw: WatchEvent[Manifest]) -> WatchEvent[T]:
        obj = None if raw.object is None else self._read(resource, raw.object, self.unreadable)
        if raw.object is not None and obj is None and raw.type == "DELETED":
            raise Expired(Status(message=f"{resource.kind} {key_of(raw.object)} cannot be read, and is deleted"))
        return WatchEvent(raw.type if obj is not None else "BOOKMARK", obj, raw.resource_version)

    def _read(self, resource: Resource[T], manifest: Manifest, unreadable: dict[Key, Manifest]) -> T | None:
        key = key_of(manifest)
        try:
            obj = codec.decode(codec.encode(manifest), resource.object_type)
        except codec.DecodeError as error:
            known = [version_of(each) for each in (self.unreadable.get(key), self._told.get(key)) if each is not None]
            if version_of(manifest) not in known:
                log.warning("%s %s cannot be read, and is left as it was: %s", resource.kind, key, error)
                self._unread(manifest)
            unreadable[key] = manifest
            return None
        unreadable.pop(key, None)
        return obj


def _is_custom(group: str) -> bool:
    """Tells whether a group is none of Kubernetes' own, so that a CustomResourceDefinition says what may be in it."""
    return "." in group and not group.endswith(".k8s.io")
