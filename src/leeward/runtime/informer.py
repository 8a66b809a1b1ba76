"""A cache that follows one kind of one API server by list and watch.

The cache is what the server said last, never more: a failing request changes nothing in it, so an absence in a
synced cache is a fact and an outage is not (Holds: S5). Of an object that cannot be read it keeps what it knew of it
(`tolerant_reads`). `remember` lets a controller read its own writes at once.

A server that could not be reached for a while may come back with other contents (restored from a backup, or made
anew), whose versions may have passed the last known one by then. So it is listed again, where one that only broke a
stream is followed from where it was. client-go trusts the version in both cases.
"""

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import aclosing, suppress
from typing import Generic, TypeVar

from leeward.api.resource import Resource
from leeward.client import Client, Expired, NotFound, Unreachable, WatchEvent, WorldError
from leeward.loop.randomness import Randomness
from leeward.runtime.identity import Key, key_of, uid_of, version_of
from leeward.runtime.tolerant_reads import TolerantReads

T = TypeVar("T")
log = logging.getLogger(__name__)

PAGE_SIZE = 500
FIRST_RETRY_SECONDS = 0.1
LAST_RETRY_SECONDS = 5.0
SYNC_TIMEOUT_SECONDS = 10.0


class Informer(Generic[T]):
    """Start `run` as a task; handlers are called with (old, new), None for an absence, in the server's order."""

    def __init__(self, client: Client, resource: Resource[T], randomness: Randomness, namespace: str = "") -> None:
        self.resource = resource
        self._client = TolerantReads(client, resource)
        self._namespace = namespace
        self._randomness = randomness
        self._objects: dict[Key, T] = {}
        self._by_namespace: dict[str, dict[Key, T]] = {}
        self._listed = False
        self._version = 0
        self._misses = 0
        self._handlers: list[Callable[[T | None, T | None], None]] = []
        self._synced = asyncio.Event()
        self._hurry = asyncio.Event()
        self._retry_seconds = FIRST_RETRY_SECONDS

    @property
    def synced(self) -> bool:
        """Whether the server's whole list has been seen once."""
        return self._synced.is_set()

    async def wait_synced(self, timeout_seconds: float = SYNC_TIMEOUT_SECONDS) -> None:
        """Raises: Unreachable when the server's list has not been seen in time."""
        if self.synced:
            return
        try:
            async with asyncio.timeout(timeout_seconds):
                await self._synced.wait()
        except TimeoutError:
            raise Unreachable(f"no list of {self.resource.plural} yet") from None

    def get(self, name: str, namespace: str = "") -> T | None:
        return self._objects.get(Key(namespace, name))

    def list(self, namespace: str | None = None) -> Iterator[T]:
        """All objects, or those of one namespace."""
        return iter(list((self._objects if namespace is None else self._by_namespace.get(namespace, {})).values()))

    def on_change(self, handler: Callable[[T | None, T | None], None]) -> Callable[[], None]:
        """Calls `handler` for every later change, and now for every object that is there.

        Returns a function that ends this. What a handler raises is logged and goes no further.
        """
        self._handlers.append(handler)
        for obj in self.list():
            self._tell(handler, None, obj)
        return lambda: self._handlers.remove(handler)

    def remember(self, obj: T) -> None:
        """Takes in the answer to an own write, unless the watch has told as much already."""
        if version_of(obj) > self._version:
            self._put(obj)

    def hurry(self) -> None:
        """Ends a pause between two attempts: there is reason to believe that the server answers again."""
        self._retry_seconds = FIRST_RETRY_SECONDS
        self._hurry.set()

    async def run(self) -> None:
        """Follows the server until cancelled."""
        while True:
            try:
                if not self._listed:
                    await self._list()
                told = await self._watch()
                self._misses = 0
                if told:
                    continue
            except (Expired, NotFound) as error:
                self._listed = False
                log.debug("must list %s again: %s", self.resource.plural, error)
            except Unreachable as error:
                self._misses += 1
                self._listed = self._listed and self._misses == 1
                log.debug("cannot follow %s: %s", self.resource.plural, error)
            except WorldError as error:
                log.warning("cannot follow %s: %s", self.resource.plural, error)
            except Exception:
                self._listed = False
                log.exception("cannot follow %s", self.resource.plural)
            await self._pause()

    async def _list(self) -> None:
        found: dict[Key, T] = {}
        token = ""
        while True:
            page = await self._client.list(self.resource, self._namespace, limit=PAGE_SIZE, continue_token=token)
            found.update((key_of(obj), obj) for obj in page.items)
            token = page.continue_token
            if not token:
                break
        self._adopt(found, int(page.resource_version or 0))

    def _adopt(self, found: dict[Key, T], listed_at: int) -> None:
        """Makes the list the cache, but for own writes since. After versions that ran backwards (a server restored
        from a backup, or another one) nothing of what was known counts."""
        restored = listed_at < self._version
        for key, obj in list(self._objects.items()):
            if key in self._client.unreadable and not restored:
                continue
            if restored or (version_of(obj) <= listed_at and not _is_later(found.get(key), obj)):
                self._remove(key)
        for obj in found.values():
            self._put(obj)
        self._version = listed_at
        self._listed = True
        self._misses = 0
        self._synced.set()

    async def _watch(self) -> bool:
        """Takes in events until the server ends the stream. Returns whether any came."""
        told = False
        events = self._client.watch(self.resource, self._namespace, resource_version=str(self._version))
        async with aclosing(events):
            async for event in events:
                told = True
                self._misses = 0
                self._retry_seconds = FIRST_RETRY_SECONDS
                self._take(event)
        return told

    def _take(self, event: WatchEvent[T]) -> None:
        version = int(event.resource_version or 0)
        if event.object is not None and event.type == "DELETED":
            self._delete(key_of(event.object), version)
        elif event.object is not None:
            self._put(event.object)
        self._version = max(self._version, version)

    def _put(self, obj: T) -> None:
        key = key_of(obj)
        old = self._objects.get(key)
        if old is not None and version_of(old) >= version_of(obj):
            return
        self._objects[key] = obj
        self._by_namespace.setdefault(key.namespace, {})[key] = obj
        self._notify(old, obj)

    def _delete(self, key: Key, version: int) -> None:
        """Unless the object has been made anew since, and is remembered."""
        old = self._objects.get(key)
        if old is not None and version_of(old) <= version:
            self._remove(key)

    def _remove(self, key: Key) -> None:
        old = self._objects.pop(key)
        siblings = self._by_namespace[key.namespace]
        del siblings[key]
        if not siblings:
            del self._by_namespace[key.namespace]
        self._notify(old, None)

    def _notify(self, old: T | None, new: T | None) -> None:
        for handler in tuple(self._handlers):
            self._tell(handler, old, new)

    def _tell(self, handler: Callable[[T | None, T | None], None], old: T | None, new: T | None) -> None:
        try:
            handler(old, new)
        except Exception:
            log.exception("a handler of %s failed", self.resource.plural)

    async def _pause(self) -> None:
        self._hurry.clear()
        delay = self._randomness.jitter(self._retry_seconds)
        self._retry_seconds = min(self._retry_seconds * 2, LAST_RETRY_SECONDS)
        with suppress(TimeoutError):
            async with asyncio.timeout(delay):
                await self._hurry.wait()


def _is_later(found: object | None, known: object) -> bool:
    """Whether what is found is what was known, or a later state of it, and not an earlier one or another object."""
    return found is not None and uid_of(found) == uid_of(known) and version_of(found) >= version_of(known)
